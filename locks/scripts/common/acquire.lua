-- The common case of acquire: nobody has the name or waits for it, and the token is a new one. Does
-- the same as acquire.lua, before anything is set up for the other cases: Redis makes a script's
-- functions anew at every run. Answers with the fence alone, since it is the owner's only hold.
if ARGV[5] == '0' then
    local packed = call('get', key)
    local state = packed and {struct.unpack(STATE, packed)}
    if not packed or (state[COUNT] == 0 and state[WAITERS] == 0 and state[SERVERS] == 0) then
        local _, _, mode = struct.unpack(HOLD_TEXTS, ARGV[2])
        local ttl, exclusives, limit = tonumber(ARGV[4]), 1, 0
        if mode == 'shared' then
            exclusives, limit = 0, tonumber(ARGV[3])
        end
        local expires, fence = now + ttl * 1000, math.max(now - now % retention + 1, now)
        if packed then
            fence = math.max(state[VERSION] + 1, now)
            state[VERSION], state[COUNT], state[EXCLUSIVES] = fence, 1, exclusives
            state[LIMIT], state[NEXT] = limit, expires
            packed = struct.pack(STATE, unpack(state, 1, LAST_TOKEN))
        else
            packed = struct.pack(STATE, fence, 1, exclusives, limit, 0, 0, 0, 0, expires,
                                 0, 0, 0, 0, 0, 0, 0, 0, 0, '', '', '')
        end
        call('set', key, packed .. ARGV[2] .. struct.pack(HOLD_NUMBERS, fence, now, expires, ttl),
             'pxat', string.format('%d', (math.max(expires, fence) + retention) / 1000 + 1))
        return fence
    end
end
