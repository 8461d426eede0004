-- Acquire: a new hold, the hold that this token has already, or a refusal.
--
-- ARGV  2 token, 3 owner, 4 mode, 5 limit (0: none), 6 TTL in ms, 7 attempt, 8 meta,
--       9 '1' if the token may have been sent before, 10 lease in ms of a waiter ('0': do not wait),
--       11 its claim window in ms
-- Returns {'granted' | 'holding', fence, ttl_ms, holds, version, owner, mode, limit},
--         {'locked' | 'waiting', view}, {'limit_mismatch', limit, view} or {'released'}.

local token, owner, mode, limit = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local ttl, attempt, lease = tonumber(ARGV[6]), ARGV[7], tonumber(ARGV[10])

local state, changed = open()

local function refuse(...)
    if changed then
        save(state, call)
    end
    return {...}
end

-- Whoever comes back with its token is told of its hold, and from then on only a release or the end
-- of its TTL takes it away. A hold handed over to a waiter is claimed by that: its TTL begins.
if ARGV[9] == '1' then
    local hold = find(state, token)
    if hold then
        if hold[ATTEMPT] == '' then
            hold[ATTEMPT], hold[EXPIRES] = attempt, now + hold[TTL] * 1000
        else
            hold[ATTEMPT] = REPEATED
        end
        update(state, hold, call)
        save(state, call)
        return told(state, 'holding', hold)
    end
    if find_released(state, token) then
        return refuse('released')
    end
end

local hold = {token, owner, mode, attempt, ARGV[8], 0, now, 0, ttl}

if mode == 'shared' and state[COUNT] > state[EXCLUSIVES] and state[LIMIT] ~= limit then
    return refuse('limit_mismatch', state[LIMIT], view(state, ''))
end
if admits(state, owner, mode, limit) and (state[WAITERS] == 0 or owned(state, owner) > 0) then
    grant(state, hold, limit, ttl)
    if state[WAITERS] > 0 then
        leave(state, token)
    end
    save(state, call)
    return told(state, 'granted', hold)
end
if lease > 0 then
    hold[EXPIRES], hold[ATTEMPT] = now + lease * 1000, ''
    hold[WANTED], hold[CLAIM] = limit, tonumber(ARGV[11])
    wait(state, hold)
    save(state, call)
    return {'waiting', view(state, '')}
end
return refuse('locked', view(state, ''))
