-- Leave: what becomes of the place or the hold of a request that ends. Acts only on what belongs to
-- this request (by its attempt), not on what its token got by a later one.
--
-- ARGV  2 token, 3 attempt, 4 how long to keep the place in ms, and why it ends:
--       5 'timeout' its wait is over: it gets the hold if there is one, else its place is kept,
--         'gone' its client has gone: what was granted is given back without a trace, or with a
--         place to keep stays for one more claim window,
--         'drain' its server stops: its place is kept for the server's lease at least;
--       6 lease in ms (drain), 7 claim window in ms (gone)
-- Returns {'left'}; of a timeout {'claimed' | 'holding', ...} or {'released'} as acquire does, or
--         {'timeout', view}.
local token, attempt, keep, why = ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5]
if why == 'drain' then
    keep = math.max(keep, tonumber(ARGV[6]))
end

local state = open()
local hold, waiter = find(state, token), find_waiter(state, token)
local unclaimed = hold and hold[ATTEMPT] == ''
local own_waiter = waiter and waiter[ATTEMPT] == attempt

local function finish(...)
    hand_over(state)
    close(state, even_if_full)
    return {...}
end

local function tell_hold(status)
    local reply = told(state, status, hold)
    close(state, even_if_full)
    return reply
end

-- Makes a hold one that its client may claim within the claim window.
local function reserve()
    if not unclaimed then
        waiter = {token, hold[OWNER], hold[MODE], attempt, hold[META], 0, 0, 0, hold[TTL],
                  hold[MODE] == 'shared' and state[LIMIT] or 0, tonumber(ARGV[7]), keep,
                  hold[FENCE] - PAST, ''}
        hold[ATTEMPT] = ''
        queue(state).begin()
        state[UNCLAIMED] = state[UNCLAIMED] + 1
    end
    waiter[EXPIRES], waiter[SERVER] = now + keep * 1000, ''
    hold[EXPIRES] = now + waiter[CLAIM] * 1000
    queue(state).write(waiter)
    update(state, hold, even_if_full)
end

local function give_back()
    if unclaimed then
        queue(state).forget(token)
    end
    retire(state, {hold}, 'released', false)
    state[LAST_HOLDS] = owned(state, hold[OWNER])
end

if unclaimed and own_waiter and why == 'timeout' then
    claim(state, hold, attempt)
    return tell_hold('claimed')
elseif unclaimed and own_waiter and why == 'drain' then
    waiter[EXPIRES], waiter[SERVER] = now + keep * 1000, ''
    queue(state).write(waiter)
elseif hold and not unclaimed and why == 'timeout' then
    if hold[ATTEMPT] == attempt then
        return tell_hold('claimed')
    end
    hold[ATTEMPT] = REPEATED
    update(state, hold, even_if_full)
    return tell_hold('holding')
elseif hold and why == 'gone' and (unclaimed and own_waiter or hold[ATTEMPT] == attempt) then
    if keep > 0 then
        reserve()
    else
        give_back()
    end
elseif not hold and own_waiter then
    queue(state).leave(waiter, keep)
elseif not hold and not waiter and why == 'timeout' and find_released(state, token) then
    return finish('released')
end
if why == 'timeout' then
    hand_over(state)
    return finish('timeout', view(state, ''))
end
return finish('left')
