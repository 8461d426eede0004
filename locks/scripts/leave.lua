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
-- Returns {'left'}; of a timeout {'claimed' | 'holding', ...}, {'released'} or {'quarantined', ...} as
--         acquire does, or {'timeout', view}.

-- A place for whom has a hold, and gives it back until its client comes again: in order of the grants. It
-- re-enters if it has entered, or was entered.
local function place_of(state, hold, claim_ms, keep)
    local reenters = state[EXCLUSIVES] > 0 and state[COUNT] - state[RELEASED_HOLDS] > 1 and 1 or 0
    local waiter = waiter_of(hold, now, hold[FENCE] - PAST, claim_ms, keep, '')
    waiter[ATTEMPT], waiter[REENTERS] = '', reenters
    return waiter
end

-- Makes a hold one that its client may claim within the claim window, as long as its place is kept.
local function reserve(state, hold, waiter, claim_ms, keep)
    if hold[ATTEMPT] ~= '' then
        waiter = place_of(state, hold, claim_ms, keep)
        hold[ATTEMPT] = ''
        queue.begin(state)
        state[UNCLAIMED] = state[UNCLAIMED] + 1
    end
    queue.lines_of(state) -- a waiter in front moves with its server
    -- From now on no request has the place of the waiter; it is kept for a while.
    waiter[ATTEMPT], waiter[SERVER], waiter[EXPIRES] = '', '', now + keep * 1000
    queue.write(state, waiter)
    hold[EXPIRES] = now + min(waiter[CLAIM], keep) * 1000
    holds.update(state, hold)
end

local function give_back(state, hold)
    if hold[ATTEMPT] == '' then
        queue.forget(state, hold[TOKEN])
    end
    holds.release(state, hold, false)
end

-- The end of a wait without a hold. If Redis has lost the waiter, too, any free name would be its own.
local function timeout_reply(state, token, waiter, keep)
    local is_admitted = waiter and holds.admits_waiter(state, waiter) or not waiter and state[COUNT] == 0
    if is_admitted and not epoch.may_grant() then
        return epoch.refusal()
    end
    return {'timeout', view.name(state, keep > 0 and token or '')}
end

local function leave(argv)
    local token, attempt, keep, why = argv[2], argv[3], tonumber(argv[4]), argv[5]
    local state = open()
    if state.unfinished then
        return unfinished(state)
    end
    local hold, waiter = holds.find(state, token), find_waiter(state, token)
    if hold and hold[ATTEMPT] == '' and why == 'timeout' and now < opens then
        queue.ungrant(state, hold)
        hold, waiter = nil, find_waiter(state, token)
    end
    local is_own = waiter and waiter[ATTEMPT] == attempt
    local is_unreported = why == 'gone' or why == 'drain' -- its client was not told of a hold that it has
    local others = hold and is_unreported and others_reported(hold, attempt)
    if why == 'drain' then
        keep = max(keep, tonumber(argv[6]))
    elseif why == 'stale' then
        keep = is_own and waiter[KEEP]
    end

    if why == 'timeout' and hold and (is_own or hold[ATTEMPT] ~= '') then
        return report_hold(state, hold, attempt)
    elseif hold and (is_own or others == '') and keep > 0 then
        reserve(state, hold, waiter, tonumber(argv[7]), keep)
    elseif hold and (is_own or others == '') then
        give_back(state, hold)
    elseif others then
        hold[ATTEMPT] = others
        holds.update(state, hold)
    elseif is_own then
        queue.leave(state, waiter, keep)
    end
    hand_over(state)
    local reply = {'left'}
    if why == 'timeout' then
        local is_over = not hold and not waiter and holds.find_ended(state, token)
        reply = is_over and {'released'} or timeout_reply(state, token, waiter, keep)
    end
    return finish(state, reply)
end

register('leave', leave)
