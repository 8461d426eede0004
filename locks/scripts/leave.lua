-- Leave: what becomes of the place or the hold of a request that ends. Acts only on what belongs to
-- this request (by its attempt), not on what its token got by a later one.
--
-- ARGV  2 token, 3 attempt, 4 how long to keep the place in ms, and why it ends:
--       5 'timeout' its wait is over: it gets the hold if there is one, else its place is kept,
--         'gone' its client has gone: what was granted is given back without a trace, or with a
--         place to keep stays for one more claim window,
--         'drain' its server stops: its place is kept for the server's lease at least, and what was
--         granted stays for its claim window,
--         'stale' its server does not know it any more: as far as nothing was claimed yet, its place
--         is kept for as long as the request said;
--       6 lease in ms (drain), 7 claim window in ms (gone, drain)
-- Returns {'left'}; of a timeout {'claimed' | 'holding', ...} or {'released'} as acquire does, or
--         {'timeout', view}.
local token, attempt, keep, why = ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5]
if why == 'drain' then
    keep = math.max(keep, tonumber(ARGV[6]))
end

local state = open()
if state.unfinished then
    return answer(unfinished(state))
end
local hold, waiter = find(state, token), find_waiter(state, token)
if hold and hold[ATTEMPT] == '' and why == 'timeout' and now < opens then
    queue(state).ungrant(hold)
    hold, waiter = nil, find_waiter(state, token)
end
local unclaimed = hold and hold[ATTEMPT] == ''
local own_waiter = waiter and waiter[ATTEMPT] == attempt
local untold = why == 'gone' or why == 'drain' -- its client was not told of a hold that it has
local others = hold and untold and others_told(hold, attempt)
if why == 'stale' then
    keep = own_waiter and waiter[KEEP]
end

-- From now on no request has the place of the waiter; it is kept for a while.
local function let_go(ms)
    waiter[ATTEMPT], waiter[SERVER], waiter[EXPIRES] = '', '', now + ms * 1000
    queue(state).write(waiter)
end

-- Makes a hold one that its client may claim within the claim window.
local function reserve()
    if not unclaimed then
        waiter = {token, hold[OWNER], hold[MODE], '', hold[META], 0, 0, 0, hold[TTL],
                  hold[MODE] == 'shared' and state[LIMIT] or 0, tonumber(ARGV[7]), keep,
                  hold[FENCE] - PAST, ''}
        hold[ATTEMPT] = ''
        queue(state).begin()
        state[UNCLAIMED] = state[UNCLAIMED] + 1
    end
    let_go(keep)
    hold[EXPIRES] = now + waiter[CLAIM] * 1000
    update(state, hold, even_if_full)
end

local function give_back()
    if unclaimed then
        queue(state).forget(token)
    end
    retire(state, {hold}, 'released', false)
    state[LAST_HOLDS] = owned(state, hold[OWNER])
end

local function leave_hold()
    if keep > 0 then
        reserve()
    else
        give_back()
    end
end

if why == 'timeout' and hold and (own_waiter or not unclaimed) then
    return tell_hold(state, hold, attempt, even_if_full)
elseif hold and (own_waiter or others == '') then
    leave_hold()
elseif others then
    hold[ATTEMPT] = others
    update(state, hold, even_if_full)
elseif own_waiter then
    queue(state).leave(waiter, keep)
end
hand_over(state)
local reply = {'left'}
if why == 'timeout' then
    local is_over = not hold and not waiter and find_released(state, token)
    reply = is_over and {'released'} or {'timeout', view(state, '')}
end
close(state, even_if_full)
return answer(reply)
