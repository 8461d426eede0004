-- Renew: sets what remains of a live hold. Never adds to it, never revives one.
--
-- ARGV  2 token, 3 TTL in ms, or '' for the TTL it was last given, 4 'server' where a server keeps
--       the hold alive for a client that need not know of it yet: it may still be taken back
-- Returns {'renewed', fence, ttl_ms, holds, version, owner, mode, limit} or {'not_held'}.

local function renew(argv)
    local state = open()
    if state.unfinished then
        return unfinished(state)
    end
    local hold = holds.find(state, argv[2])
    if not hold or hold[ATTEMPT] == '' and now < opens then
        return finish(state, {'not_held'})
    end
    hold[TTL] = tonumber(argv[3]) or hold[TTL]
    if argv[4] ~= 'server' then
        if hold[ATTEMPT] == '' then
            claim(state, hold, KNOWN)
        end
        make_known(hold)
    end
    hold[EXPIRES] = now + hold[TTL] * 1000
    holds.update(state, hold)
    close(state)
    return answer(told_of(state, 'renewed', hold))
end

register('renew', renew)
