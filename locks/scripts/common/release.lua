-- The common case of release: the lone hold is this token's, no server waits or watches, and no
-- earlier release has to be kept in mind. Does the same as release.lua, before anything is set up
-- for the other cases.
do
    local packed = call('get', key)
    local state = packed and {struct.unpack(STATE, packed)}
    local alone = packed and state[ONLY] <= #packed and state[WAITERS] + state[SERVERS] == 0
    local hold = alone and {struct.unpack(HOLD, packed, state[ONLY])}
    if alone and hold[TOKEN] == ARGV[2] and hold[ATTEMPT] ~= '' and now < hold[EXPIRES] and
       state[LAST_TOKEN] == '' then
        local version = math.max(state[VERSION] + 1, now)
        local held = math.floor((now - hold[SINCE]) / 1000)
        state[VERSION], state[COUNT], state[EXCLUSIVES], state[LIMIT] = version, 0, 0, 0
        state[LAST_FENCE], state[LAST_AT], state[LAST_HELD] = hold[FENCE], now, held
        state[LAST_HOLDS], state[LAST_REASON], state[LAST_TOKEN] = 0, 'released', hold[TOKEN]
        local reply = redis.pcall('set', key, struct.pack(STATE, unpack(state, 1, LAST_TOKEN)),
                                  'pxat', string.format('%d', (version + retention) / 1000 + 1))
        if not reply.err then -- a full Redis refuses, and then release.lua finds another way
            return {'released', hold[FENCE], held, 0, version}
        end
    end
end
