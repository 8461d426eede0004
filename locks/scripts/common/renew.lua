-- Where the name's slot is on its way to another node: its only hold, which nobody waits behind, is
-- renewed all the same, for that is a matter of the main key alone, and it must not end because a move
-- was left half done. Does the same as renew.lua.
if moving then
    local packed = call('get', key)
    local state = packed and {struct.unpack(STATE, packed)}
    local hold = packed and state[ONLY] <= #packed and {struct.unpack(HOLD, packed, state[ONLY])}
    if hold and hold[TOKEN] == ARGV[2] and hold[ATTEMPT] ~= '' and now < hold[EXPIRES] and
       not string.find(hold[ATTEMPT], CONNECTION, 1, true) and
       state[WAITERS] + state[SERVERS] + state[UNCLAIMED] == 0 then
        hold[TTL] = tonumber(ARGV[3]) or hold[TTL]
        hold[EXPIRES] = now + hold[TTL] * 1000
        state[NEXT] = hold[EXPIRES]
        if ARGV[4] ~= 'server' then
            hold[ATTEMPT] = KNOWN
        end
        local kept = math.max(hold[EXPIRES], state[VERSION]) + retention
        local reply = redis.pcall('set', key,
                                  struct.pack(STATE, unpack(state, 1, LAST_TOKEN)) ..
                                  struct.pack(HOLD, unpack(hold, 1, TTL)),
                                  'pxat', string.format('%d', kept / 1000 + 1))
        if not reply.err then -- a full Redis refuses
            return {'renewed', hold[FENCE], hold[TTL], 1, state[VERSION], hold[OWNER], hold[MODE],
                    hold[MODE] == 'shared' and state[LIMIT] or 0}
        end
    end
end
