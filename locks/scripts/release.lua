-- Release: ends the hold of this token and hands over, or takes its waiter out of the queue. A hold
-- that was handed over and not claimed is a waiter's: its client knows of no hold.
--
-- ARGV  2 token, 3 the server that asks, 4 '1' at a member of a quorum: the token is remembered even if
--       it has nothing here, so that what was sent before and comes late is not granted; else '',
--       5 the attempt of a connection that has ended: nothing is done unless it has the hold, for its
--         client may have come again by another one
-- Returns {'released', fence, held_ms, holds, version, owner}, {'cancelled', version} or
--         {'not_held'}; for a repeated release, as long as it is remembered, {'repeated', fence,
--         held_ms, holds, version}, or 'cancelled' again. Three more may follow on 'released': the
--         attempt of a request parked at that server which has got an exclusive hold, with `version`
--         as its fence, the owner, and the TTL in ms.
local token = ARGV[2]

local state = open()
if state.unfinished then
    return answer(unfinished(state))
end
local hold = find(state, token)
if ARGV[5] and not (hold and connection_of(hold) == ARGV[5]) then
    local others = hold and others_told(hold, ARGV[5])
    if others then
        hold[ATTEMPT] = others
        update(state, hold, even_if_full)
    end
    close(state, even_if_full)
    return answer({'not_held'})
end
local waiter = (not hold or hold[ATTEMPT] == '') and find_waiter(state, token)

if hold and hold[ATTEMPT] ~= '' then
    retire(state, {hold}, 'released', true)
    state[LAST_HOLDS] = owned(state, hold[OWNER])
    local reply = {'released', hold[FENCE], state[LAST_HELD], state[LAST_HOLDS]}
    hand_over(state)
    close(state, even_if_full)
    reply[5], reply[6] = state[VERSION], hold[OWNER]
    return answer(reply)
end

if hold or waiter then
    if waiter then
        local server = waiter[SERVER] ~= '' and servers(state).find(waiter[SERVER])
        if server then
            servers(state).tell(server, 'x', waiter[ATTEMPT])
        end
        queue(state).remove(waiter)
    end
    if hold then
        retire(state, {hold}, 'released', false)
        state[LAST_HOLDS] = owned(state, hold[OWNER])
    end
    remember(state, token, 0, now, 0, 0)
    hand_over(state)
    close(state, even_if_full)
    return answer({'cancelled', state[VERSION]})
end

local last = find_released(state, token)
if not last and ARGV[4] == '1' then
    remember(state, token, NOTHING, now, 0, 0)
end
close(state, even_if_full)
if not last or last[1] == NOTHING then
    return answer({'not_held'})
elseif last[1] == 0 then
    return answer({'cancelled', state[VERSION]})
end
return answer({'repeated', last[1], last[3], last[4], state[VERSION]})
