-- The common cases of acquire, with a token that is a new one: a name that is not in use, or one that
-- is free and remembered. Runs before anything else is set up, and does the same as acquire.lua, but
-- answers with the fence alone: the owner has just this hold.
if ARGV[5] ~= '0' then
    return general()
end
local packed = call('get', key)
local state = packed and load(packed)
if packed and (state[COUNT] > 0 or state[WAITERS] > 0) then
    return general()
end

local _, _, mode = struct.unpack(HOLD_TEXTS, ARGV[2])
local exclusives, limit = 1, 0
if mode == 'shared' then
    exclusives, limit = 0, tonumber(ARGV[3])
end
local ttl = tonumber(ARGV[4])
local expires = now + ttl * 1000
local fence
if packed then
    fence = math.max(state[VERSION] + 1, now)
    state[VERSION], state[COUNT], state[NEXT] = fence, 1, expires
    state[EXCLUSIVES], state[LIMIT] = exclusives, limit
    packed = struct.pack(STATE, unpack(state, 1, LAST_TOKEN))
else
    fence = math.max(now - now % retention + 1, now)
    packed = struct.pack(STATE, fence, 1, exclusives, limit, expires, 0, 0, 0, 0, 0, 0, 0, 0, '', '')
end
store(packed .. ARGV[2] .. struct.pack(HOLD_NUMBERS, fence, now, expires, ttl),
      math.max(expires, fence), call)
return fence
