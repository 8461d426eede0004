-- The common case of acquire: nobody holds the lock, nobody waits, and the token is a new one. Runs
-- before anything else is set up, and does the same as acquire.lua.
if ARGV[5] == '0' then
    local state = load()
    if state[COUNT] == 0 and state[WAITERS] == 0 then
        local _, _, mode = struct.unpack(HOLD_TEXTS, ARGV[2])
        local shared, ttl = mode == 'shared', tonumber(ARGV[4])
        local fence, expires = math.max(state[VERSION] + 1, now), now + ttl * 1000
        state[VERSION], state[COUNT], state[NEXT] = fence, 1, expires
        state[EXCLUSIVES], state[LIMIT] = shared and 0 or 1, shared and tonumber(ARGV[3]) or 0
        store(state, ARGV[2] .. struct.pack(HOLD_NUMBERS, fence, now, expires, ttl), expires, call)
        return {'granted', fence, 1}
    end
end
return general()
