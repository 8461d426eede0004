-- The holds of a name: find, admit, grant, end.

local holds = {}

-- The live hold of this token, or nil.
function holds.find(state, token)
    local only = state[SINGLE]
    if only then
        return only[TOKEN] == token and only or nil
    end
    return state[COUNT] > 0 and hold_set.find(token) or nil
end

-- The live hold with this fence, or nil. nil and true: call again to look further (see hold_set.find_fence).
function holds.find_fence(state, fence)
    local only = state[SINGLE]
    if only then
        return only[FENCE] == fence and only or nil
    elseif state[COUNT] > 0 then
        return hold_set.find_fence(fence)
    end
    return nil
end

-- How many holds this owner has, claimed or not. One that was RELEASED is of nobody.
function holds.owned(state, owner)
    if state[SINGLE] then
        return state[SINGLE][OWNER] == owner and 1 or 0
    end
    return state[COUNT] > 0 and hold_set.owned(owner) or 0
end

-- The first `limit` holds, the one that ends soonest first.
function holds.first(state, limit)
    if state[SINGLE] then
        return {state[SINGLE]}
    end
    return state[COUNT] > 0 and hold_set.first(limit) or {}
end

-- Whether holds of these modes, of two owners, exclude one another.
function holds.excludes(one, other)
    return one == 'exclusive' or other == 'exclusive'
end

-- Whether the holds admit another one. An exclusive hold excludes all others but the `own` ones, which are
-- those of its owner if the request re-enters, and a request for a shared one goes by its own limit.
function holds.admits(state, own, mode, limit, permits)
    if state[COUNT] > own and holds.excludes(mode, state[EXCLUSIVES] > 0 and 'exclusive' or 'shared') then
        return false -- where one hold is exclusive, all are of its owner, unless one was RELEASED: then
                     -- nobody re-enters
    elseif mode == 'exclusive' then
        return true
    end
    return limit == 0 or state[COUNT] - state[EXCLUSIVES] + state[EXTRA_PERMITS] + permits <= limit
end

-- How many holds let this waiter in.
function holds.own_of(state, waiter)
    return waiter[REENTERS] == 1 and holds.owned(state, waiter[OWNER]) or 0
end

function holds.admits_waiter(state, waiter)
    return holds.admits(state, holds.own_of(state, waiter), waiter[MODE], waiter[WANTED], waiter[PERMITS])
end

-- Whether its client has released it, and it keeps the name taken.
function holds.is_released(hold)
    return hold[AT_LEAST] > 0 and sub(hold[TOKEN], 1, 1) == RELEASED
end

-- Who has it, or has released it.
function holds.owner_of(hold)
    return holds.is_released(hold) and sub(hold[OWNER], #RELEASED + 1) or hold[OWNER]
end

function holds.add(state, hold)
    state[COUNT] = state[COUNT] + 1
    if holds.is_released(hold) then
        state[RELEASED_HOLDS] = state[RELEASED_HOLDS] + 1
    end
    if hold[MODE] == 'exclusive' then
        state[EXCLUSIVES] = state[EXCLUSIVES] + 1
    end
    state[EXTRA_PERMITS] = state[EXTRA_PERMITS] + hold[PERMITS] - 1
    if state[COUNT] == 1 then
        state[SINGLE], state[NEXT], state.hold_packed = hold, hold[EXPIRES], false
        return
    end
    if state[SINGLE] then
        hold_set.gather(state)
    end
    hold_set.put(state, hold, true)
end

-- When a hold ends that is given this TTL now: neither before its AT_LEAST nor after its MAX_HELD is over.
function holds.end_of(hold, ttl)
    local ends, since = now + ttl * 1000, hold[SINCE]
    if hold[AT_LEAST] > 0 then
        ends = max(ends, since + hold[AT_LEAST] * 1000)
    end
    return hold[MAX_HELD] > 0 and min(ends, since + hold[MAX_HELD] * 1000) or ends
end

-- Whether no renewal makes it longer.
function holds.is_final(hold)
    return hold[MAX_HELD] > 0 and hold[EXPIRES] >= hold[SINCE] + hold[MAX_HELD] * 1000
end

-- What is left of its AT_LEAST, 0 if that is over, and of its MAX_HELD; in ms; 0 of what it does not have.
function holds.terms_of(hold)
    local since, at_least, max_held = hold[SINCE], hold[AT_LEAST], hold[MAX_HELD]
    return at_least > 0 and max(ms_until(since + at_least * 1000), 0) or 0,
           max_held > 0 and max(round_down((since - now) / 1000 + max_held), 1) or 0
end

-- The hold, of which they count from now on, lasts no longer than another MAX_HELD, of which `left` ms are left;
-- 0: there is none.
function holds.bound(hold, left)
    local max_held = hold[MAX_HELD]
    hold[MAX_HELD] = left > 0 and max_held > 0 and min(left, max_held) or max(left, max_held)
    hold[AT_LEAST] = hold[MAX_HELD] > 0 and min(hold[AT_LEAST], hold[MAX_HELD]) or hold[AT_LEAST]
end

-- They count from now on, unless they have begun. A MAX_HELD that the hold has already stays, if it ends sooner.
function holds.begin_terms(hold, at_least, max_held)
    local _, left = holds.terms_of(hold)
    local bounds = max_held > 0 and (left == 0 or hold[MAX_HELD] > max_held)
    if hold[AT_LEAST] > 0 or at_least == 0 and not bounds then
        return
    end
    hold[SINCE], hold[AT_LEAST], hold[MAX_HELD] = now, at_least, max_held
    holds.bound(hold, left)
end

-- They count from its claim on, as the hold does. If the hold has not the MAX_HELD that its waiter asked for,
-- that is of the holds that it has entered, and goes on.
function holds.bound_claimed_terms(hold, waiter)
    local _, left = holds.terms_of(hold)
    local is_inherited = waiter and waiter[MAX_HELD] ~= hold[MAX_HELD]
    holds.bound(hold, is_inherited and left or 0)
end

-- The hold is to enter those of its owner, which are bounded. So re-entry is no way round MAX_HELD. Of very
-- many holds, the batch that ends first counts. They are read once, however many enter in this call.
function holds.bound_by_entered(state, hold)
    local bounds, owner = state.bounds or {}, hold[OWNER]
    for _, entered in ipairs(bounds[owner] and {} or holds.first(state, BATCH)) do
        if entered[OWNER] == owner then
            local _, left = holds.terms_of(entered)
            holds.bound(hold, left)
        end
    end
    holds.bound(hold, bounds[owner] or 0)
    bounds[owner], state.bounds = hold[MAX_HELD], bounds
end

-- Makes a hold, which ends after `ms` while nobody has claimed it. Its fence is the next number.
function holds.grant(state, hold, ms, enters)
    if enters then
        holds.bound_by_entered(state, hold)
    end
    state[VERSION] = next_number(state[VERSION])
    hold[1], hold[FENCE], hold[SINCE] = HOLD.mark, state[VERSION], now
    hold[EXPIRES] = hold[ATTEMPT] == '' and now + ms * 1000 or holds.end_of(hold, ms)
    if hold[MODE] == 'shared' then
        state[LIMIT] = hold[WANTED]
    end
    if hold[ATTEMPT] == '' then
        state[UNCLAIMED] = state[UNCLAIMED] + 1
    end
    holds.add(state, hold)
end

-- Stores a hold that `find` returned and the caller has changed. NEXT stays a lower bound.
function holds.update(state, hold)
    if state[SINGLE] then
        state[NEXT], state.hold_packed = hold[EXPIRES], false
    else
        hold_set.put(state, hold, false)
    end
end

-- Ended holds, kept for repeated releases. The state keeps the last one; the others go into a hash. Two
-- hashes take turns, so an end is known for 30 to 60 s, and memory stays bounded.
local GENERATION_SPAN = 30000000 -- a value

function holds.generation_key(generation)
    return beside(':released:' .. generation % 2)
end

-- Writes an end into the hash of now. Returns its generation, which may be another than the newest so far.
function holds.store_end(newest, token, fence, at, held_ms, left)
    local generation = round_down(now / GENERATION_SPAN)
    local released = holds.generation_key(generation)
    if generation ~= newest then
        call('unlink', released)
    end
    call('hset', released, token, pack(ENDED.types, ENDED.mark, fence, at, held_ms, left))
    if generation ~= newest then
        call('pexpire', released, 2 * GENERATION_SPAN / 1000)
    end
    return generation
end

function holds.remember(state, ...)
    state[GENERATION], state.past = holds.store_end(state[GENERATION], ...), false
end

-- Whether the last end may be asked for again, by its token and its time.
local function is_recent(token, at)
    return now - at < GENERATION_SPAN and token ~= '' and sub(token, 1, 1) ~= UNRELEASED
end

-- Moves the last end into a hash if it is recent, and so makes room for the next one.
function holds.remember_last(state)
    if is_recent(state[LAST_TOKEN], state[LAST_AT]) then
        holds.remember(state, state[LAST_TOKEN], unpack(state, LAST_FENCE, LAST_HOLDS))
        state[LAST_TOKEN], state.past = '', false
    end
end

-- The end of this token's hold, or nil if it is not known.
function holds.find_ended(state, token)
    if state[LAST_TOKEN] == token then
        return {ENDED.mark, unpack(state, LAST_FENCE, LAST_HOLDS)}
    end
    for generation = state[GENERATION], max(state[GENERATION] - 1, 1), -1 do
        local packed = call('hget', holds.generation_key(generation), token)
        if packed then
            return read(ENDED, packed, 1)
        end
    end
    return nil
end

function holds.is_broken(reason)
    return sub(reason, 1, #BROKEN) == BROKEN
end

-- Notes the end of a hold as the last one. If one break ends several, the others are kept, too: see view.not_held.
function holds.note_end(state, hold, at, reason, repeatable)
    if state[LAST_AT] == at and state[LAST_REASON] == reason and holds.is_broken(reason) then
        holds.remember(state, state[LAST_TOKEN], unpack(state, LAST_FENCE, LAST_HOLDS))
    end
    holds.remember_last(state)
    state[LAST_FENCE], state[LAST_AT] = hold[FENCE], at
    state[LAST_HELD], state[LAST_HOLDS] = ms_between(hold[SINCE], at), 0
    state[LAST_REASON], state[LAST_TOKEN] = reason, holds.last_token(hold, reason, repeatable)
    state[LAST_OWNER] = holds.owner_of(hold)
end

-- Nobody knows of a hold that was not claimed, nor of one that was taken back.
function holds.last_token(hold, reason, repeatable)
    if repeatable then
        return hold[TOKEN]
    end
    return reason ~= 'released' and hold[ATTEMPT] ~= '' and UNRELEASED .. hold[TOKEN] or ''
end

-- Ends these holds. Each end takes a number. The state keeps the last end, with its token if the release
-- is `repeatable`; of a hold that was released it has that already. Holds that their waiters have neither
-- claimed nor given back go into state.unclaimed: see 08-queue.lua. Holds of connections that are to hear of the
-- end go into state.streams: see servers.notify_streams. If the hold has expired, they know by the time.
function holds.retire(state, gone, reason, repeatable)
    local are_counted = true
    state.bounds, spent = false, spent + #gone
    if state[SINGLE] then
        state[SINGLE] = false
    else
        are_counted = hold_set.remove(gone)
    end
    local is_expired = reason == 'expired'
    for _, hold in ipairs(gone) do
        local is_released = holds.is_released(hold)
        state.past = false
        if hold[ATTEMPT] == '' then
            state[UNCLAIMED] = state[UNCLAIMED] - 1
            if reason ~= 'released' then
                state.unclaimed = state.unclaimed or {}
                insert(state.unclaimed, hold)
            end
        end
        if not is_expired and find_text(hold[ATTEMPT], CONNECTION, 1, true) then
            state.streams = state.streams or {}
            insert(state.streams, hold)
        end
        local at = is_expired and hold[EXPIRES] or now
        state[VERSION] = is_expired and number_of_end(state[VERSION], at) or
                         next_number(state[VERSION])
        if are_counted then
            state[COUNT] = max(state[COUNT] - 1, 0)
            state[EXTRA_PERMITS] = max(state[EXTRA_PERMITS] - hold[PERMITS] + 1, 0)
            state[EXCLUSIVES] = max(state[EXCLUSIVES] - (hold[MODE] == 'exclusive' and 1 or 0), 0)
        end
        if is_released then
            state[RELEASED_HOLDS] = max(state[RELEASED_HOLDS] - 1, 0)
        end
        if not (is_released and is_expired) then
            holds.note_end(state, hold, at, reason, repeatable)
        end
    end
    if state[COUNT] == state[EXCLUSIVES] then
        state[LIMIT] = 0
    end
end

-- Ends one hold as released, and notes how many its owner has left.
function holds.release(state, hold, repeatable)
    holds.retire(state, {hold}, 'released', repeatable)
    state[LAST_HOLDS] = holds.owned(state, hold[OWNER])
end

-- A hold was released. If its AT_LEAST is not over, the name stays taken until then.
function holds.stay_taken(state, hold, limit)
    local ends = hold[SINCE] + hold[AT_LEAST] * 1000
    if hold[AT_LEAST] == 0 or ends <= now then
        return
    end
    local kept = {unpack(hold, 1, HOLD.last)}
    kept[TOKEN], kept[OWNER] = RELEASED .. digits(hold[FENCE]), RELEASED .. hold[OWNER]
    kept[ATTEMPT], kept[EXPIRES] = KNOWN, ends
    state[LIMIT] = limit
    holds.add(state, kept)
end

-- For how many ms the name stays taken by the released hold with this fence.
function holds.free_in(state, fence)
    local kept = state[RELEASED_HOLDS] > 0 and holds.find(state, RELEASED .. digits(fence))
    return kept and ms_until(kept[EXPIRES]) or 0
end

-- The values of the past of a name whose single hold ends: what `retire` does, on the values of its record. Those
-- of the past so far follow the owner.
function holds.past_with(fence, since, at, reason, token, owner, generation, arrival, last_fence, last_at,
                         last_held, last_left, _, last_token)
    if is_recent(last_token, last_at) then
        generation = holds.store_end(generation, last_token, last_fence, last_at, last_held, last_left)
    end
    return generation, arrival, fence, at, ms_between(since, at), 0, reason, token, owner
end

-- Ends the hold of a plain name. Returns for how long it was held.
function holds.retire_plain(record, behind, version, fence, since, at, reason, token, owner)
    set(write_free(version, holds.past_with(fence, since, at, reason, token, owner,
                                            parse(PAST_TYPES, record, behind))),
        max(version, now))
    return ms_between(since, at)
end

-- Removes the first `gone` holds of a large hold set at once, and makes a new hold set of the others, which
-- are a batch at most. The caller leaves the last hold that ends, since the state keeps its end. Returns
-- how many were removed.
function holds.drop_first(state, gone)
    local version, limit = state[VERSION] + gone, state[LIMIT]
    local left = hold_set.range(gone, -1)
    hold_set.give_up(state)
    if #left == 0 then
        return 0
    end
    state[VERSION], state[LIMIT] = version, limit
    for _, hold in ipairs(left) do
        holds.add(state, hold)
    end
    return gone
end

-- `expired` has the holds that this call ends as expired, for metrics and the log: each packed, fence,
-- held_ms, owner, mode and the key, and {key, count} for more of one hold set. Holds that were never claimed
-- are left out, since no client knows of them, and so are those that were released.
local REPORTED_MOST = 100 -- a value

function holds.expiry(fence, expires, since, owner, mode)
    return pack('<ddss', fence, ms_between(since, expires), owner, mode) .. key
end

function holds.note_more(count)
    if count > 0 then
        expired = expired or {}
        expired[#expired + 1] = {key, count}
    end
end

function holds.note_expired(state, gone)
    local more = 0
    for _, hold in ipairs(gone) do
        local noted, is_known = state.noted or 0, hold[ATTEMPT] ~= '' and not holds.is_released(hold)
        if is_known and noted < REPORTED_MOST then
            expired, state.noted = expired or {}, noted + 1
            expired[#expired + 1] = holds.expiry(hold[FENCE], hold[EXPIRES], hold[SINCE], hold[OWNER],
                                                 hold[MODE])
        elseif is_known then
            more = more + 1
        end
    end
    holds.note_more(more)
end

-- Whether more than a batch of holds have ended, all of them claimed and none released, and less than a
-- batch are left.
function holds.few_of_many_are_left(state)
    local overdue = state[COUNT] > BATCH and state[UNCLAIMED] + state[RELEASED_HOLDS] == 0 and
                    hold_set.overdue(state[COUNT]) or 0
    return overdue > BATCH and state[COUNT] - overdue < BATCH
end

-- Ends expired holds of a hold set, a batch at most. Returns whether there are more.
function holds.expire_some(state)
    if holds.few_of_many_are_left(state) then
        spent = spent + BATCH
        holds.note_expired(state, hold_set.range(0, REPORTED_MOST - 1))
        holds.note_more(holds.drop_first(state, hold_set.overdue(state[COUNT]) - 1) - REPORTED_MOST)
        return false
    end
    local ended = hold_set.ended()
    if #ended > 0 then
        holds.note_expired(state, ended)
        holds.retire(state, ended, 'expired', false)
    end
    state[NEXT] = hold_set.next_end() or 0
    if #ended == 0 and state[NEXT] <= now and hold_set.forget_ends() == 0 then
        hold_set.give_up(state)
    end
    return #ended == BATCH and state[NEXT] <= now
end

-- Ends expired holds. An expiry counts from its own time, however late it is noticed. If more than a
-- batch have expired, the state is `unfinished`: it still counts ended holds, so nothing may be decided
-- by it (see 10-name.lua).
function holds.expire(state)
    if state[COUNT] > 0 and not state[SINGLE] and not hold_set.is_whole() then
        hold_set.give_up(state)
    end
    while state[COUNT] > 0 and state[NEXT] <= now and not state.unfinished do
        if state[SINGLE] then
            holds.note_expired(state, {state[SINGLE]})
            holds.retire(state, {state[SINGLE]}, 'expired', false)
        else
            state.unfinished = holds.expire_some(state)
        end
    end
end
