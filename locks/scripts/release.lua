-- Release: ends the hold of this token and hands over, or takes its waiter out of the queue.
--
-- ARGV  2 token, 3 attempt, or '' for a client's own release. With an attempt the release takes
--       back a grant whose reply was lost: only if the client did not come back meanwhile, and
--       without a trace, so that it may still come back with its token and begin anew.
-- Returns {'released', fence, held_ms, holds, version}, {'cancelled', version} or {'not_held'}.
local token, attempt = ARGV[2], ARGV[3]

local state, changed = open()
local hold = find(state, token)

if hold and (attempt == '' or attempt == hold[ATTEMPT]) then
    retire(state, {hold}, 'released', attempt == '')
    state[LAST_HOLDS] = owned(state, hold[OWNER])
    local reply = {'released', hold[FENCE], state[LAST_HELD], state[LAST_HOLDS]}
    hand_over(state)
    save_even_if_full(state)
    reply[5] = state[VERSION]
    return reply
end

local cancelled = not hold and state[WAITERS] > 0 and leave(state, token)
if cancelled then
    hand_over(state)
end
if cancelled or changed then
    save_even_if_full(state)
end
if cancelled then
    return {'cancelled', state[VERSION]}
end
local last = attempt == '' and find_released(state, token)
if last then
    return {'released', last[1], last[3], last[4], state[VERSION]}
end
return {'not_held'}
