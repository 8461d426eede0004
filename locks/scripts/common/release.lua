-- The common case of release: the lone hold is this token's, nobody waits, and no earlier release has
-- to be kept in mind. Runs before anything else is set up, and does the same as release.lua.
local state = load(call('get', key))
local hold = state[ONLY]
if ARGV[3] == '' and state[WAITERS] == 0 and state[LAST_TOKEN] == '' and
    hold and hold[TOKEN] == ARGV[2] and now < hold[EXPIRES] then
    state[VERSION] = math.max(state[VERSION] + 1, now)
    state[COUNT], state[EXCLUSIVES], state[LIMIT], state[ONLY] = 0, 0, 0, false
    state[LAST_FENCE], state[LAST_AT] = hold[FENCE], now
    state[LAST_HELD], state[LAST_HOLDS] = math.floor((now - hold[SINCE]) / 1000), 0
    state[LAST_REASON], state[LAST_TOKEN] = 'released', hold[TOKEN]
    local record, written = struct.pack(STATE, unpack(state, 1, LAST_TOKEN)), true
    store(record, math.max(now, state[VERSION]), function(...)
        written = not redis.pcall(...).err -- a full Redis refuses; release.lua finds another way
    end)
    if written then
        return {'released', hold[FENCE], state[LAST_HELD], 0, state[VERSION]}
    end
end
return general()
