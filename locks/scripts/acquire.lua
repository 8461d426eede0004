-- Acquire: a new hold, the hold that this token has already, or a refusal.
--
-- ARGV  2 the texts of the hold, each ended by a NUL: token, owner, mode, attempt, meta,
--       3 limit (0: none), 4 TTL in ms, 5 '1' if the token may have been sent before,
--       and of a request that waits: 6 lease in ms, 7 claim window in ms
-- Returns {'granted', fence, holds}, or for an owner's only hold also the fence alone;
--         {'holding', fence, ttl_ms, holds, version, owner, mode, limit};
--         {'locked' | 'waiting', view}, {'limit_mismatch', limit, view} or {'released'}.
local token, owner, mode, attempt, meta = struct.unpack(HOLD_TEXTS, ARGV[2])
local limit, ttl, lease = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[6] or 0)

local state, changed = open()

local function refuse(...)
    if changed then
        save(state)
    end
    return {...}
end

-- Whoever comes back with its token is told of its hold, and from then on only a release or the end
-- of its TTL takes it away. A hold handed over to a waiter is claimed by that: its TTL begins.
if ARGV[5] == '1' then
    local hold = find(state, token)
    if hold then
        if hold[ATTEMPT] == '' then
            hold[ATTEMPT], hold[EXPIRES] = attempt, now + hold[TTL] * 1000
        else
            hold[ATTEMPT] = REPEATED
        end
        update(state, hold, call)
        save(state)
        return told(state, 'holding', hold)
    end
    if find_released(state, token) then
        return refuse('released')
    end
end

local hold = {token, owner, mode, attempt, meta, 0, now, 0, ttl}

if mode == 'shared' and state[COUNT] > state[EXCLUSIVES] and state[LIMIT] ~= limit then
    return refuse('limit_mismatch', state[LIMIT], view(state, ''))
end
if admits(state, owner, mode, limit) and (state[WAITERS] == 0 or owned(state, owner) > 0) then
    grant(state, hold, limit, ttl)
    if state[WAITERS] > 0 then
        leave(state, token)
    end
    save(state)
    return {'granted', hold[FENCE], owned(state, owner)}
end
if lease > 0 then
    hold[EXPIRES], hold[ATTEMPT] = now + lease * 1000, ''
    hold[WANTED], hold[CLAIM] = limit, tonumber(ARGV[7])
    wait(state, hold)
    save(state)
    return {'waiting', view(state, '')}
end
return refuse('locked', view(state, ''))
