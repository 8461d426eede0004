-- The common case of acquire: nobody holds the lock, nobody waits, and the token is a new one. Runs
-- before anything else is set up, and gives the same result as acquire.lua.
if ARGV[9] == '0' then
    local state = load()
    if state[COUNT] == 0 and state[WAITERS] == 0 then
        local ttl, shared = tonumber(ARGV[6]), ARGV[4] == 'shared'
        local fence, expires = math.max(state[VERSION] + 1, now), now + ttl * 1000
        state[VERSION], state[COUNT], state[NEXT] = fence, 1, expires
        state[EXCLUSIVES], state[LIMIT] = shared and 0 or 1, shared and tonumber(ARGV[5]) or 0
        state[ONLY] = {ARGV[2], ARGV[3], ARGV[4], ARGV[7], ARGV[8], fence, now, expires, ttl}
        save(state, call)
        return {'granted', fence, ttl, 1, fence, ARGV[3], ARGV[4], state[LIMIT]}
    end
end
return general()
