-- The common case of leave: a request whose wait is over, or whose client has gone, and that keeps no
-- place, where all who wait are parked at one server, for one exclusive hold. Does the same as
-- leave.lua, where nobody else is let in or moves.
if ARGV[4] == '0' and (ARGV[5] == 'timeout' or ARGV[5] == 'gone') and now >= opens and not moving then
    local packed, token = call('get', key), ARGV[2]
    local state = packed and {struct.unpack(STATE, packed)}
    local hold = state and state[ONLY] <= #packed and {struct.unpack(HOLD, packed, state[ONLY])}
    local is_common = hold and hold[AFTER] <= #packed and state[WAITERS] > 0 and
                      state[EXCLUSIVES] == 1 and now < hold[EXPIRES] and
                      now < state[TICK] and state[TICK] <= hold[EXPIRES]
    local front = is_common and {struct.unpack(LONE, packed, hold[AFTER])}
    local waiters, line = key .. ':waiters', front and key .. ':queue:' .. front[SERVER]
    local is_front = front and front[TOKEN] == token
    local own = is_front and front[ATTEMPT]
    is_common = is_common and now < front[VOUCHED]
    if is_common and not (is_front and state[WAITERS] == 1) then
        local heads = call('zrange', line, 0, 1)
        local next = is_front and heads[1] or heads[1] == token and heads[2]
        local found = call('hmget', waiters, token, next or token)
        own = own or found[1] and select(ATTEMPT, struct.unpack(WAITER, found[1]))
        -- Who moves up must not be of the owner that is before it then: it would be let in.
        local before = (is_front or front[TOKEN] == '') and hold[OWNER] or front[OWNER]
        is_common = not next or
                    found[2] and select(OWNER, struct.unpack(WAITER, found[2])) ~= before
    end
    if is_common and own == ARGV[3] then
        local tail, gone, write = string.sub(packed, hold[AFTER]), 1, redis.pcall
        if is_front then
            tail = string.rep('\0', NOBODY_BYTES) .. front[SERVER] .. '\0' .. string.sub(packed, -8)
        else -- the first write frees memory, so a full Redis takes the others, too
            gone = call('zrem', line, token)
            call('hdel', waiters, token)
            write = call
        end
        state[WAITERS] = state[WAITERS] - gone
        if state[WAITERS] == 0 then -- no server has to do with the name any more
            tail, state[SERVERS] = '', 0
        end
        local reply = write('set', key, struct.pack(STATE, unpack(state, 1, LAST_TOKEN)) ..
                                        string.sub(packed, state[ONLY], hold[AFTER] - 1) .. tail,
                            'keepttl')
        if not reply.err then -- a full Redis refuses, and then leave.lua finds another way
            if ARGV[5] == 'gone' then
                return {'left'}
            end
            local last = state[LAST_FENCE] == 0 and {} or
                         {state[LAST_FENCE], state[LAST_REASON],
                          math.floor((now - state[LAST_AT]) / 1000)}
            local holder = {hold[OWNER], hold[MODE], hold[FENCE],
                            math.floor((hold[EXPIRES] - now) / 1000),
                            math.floor((now - hold[SINCE]) / 1000), hold[META]}
            return {'timeout', {state[VERSION], 1, state[LIMIT], state[WAITERS], 0, last, {holder}}}
        end
    end
end
