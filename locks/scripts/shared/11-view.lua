-- What clients may see of a name and of its waiters.

local view = {}

local HOLDS_SHOWN = 10 -- a value
local WAITERS_SHOWN = 10 -- a value, where nobody asks for more

-- The head of a view: version, holds, EXTRA_PERMITS, limit, waiters, the standing of the token, and of the
-- last end the fence (0: there was none), how many ms ago, the reason and the owner.
function view.head(version, count, extra, limit, waiters, standing, fence, at, reason, owner)
    if fence == 0 then
        at, reason = now, ''
    end
    return pack('<ddddddddss', version, count, extra, limit, waiters, standing, fence, ms_between(at, now), reason,
                owner)
end

-- The reply about a token that has no hold. How its hold has ended follows, as in the head of a view, if that is
-- the last end of the name, or if the same break has ended both.
function view.not_held(state, token)
    local last, fence, owner = state[LAST_TOKEN], state[LAST_FENCE], state[LAST_OWNER]
    if last ~= token and last ~= UNRELEASED .. token then
        local ended = holds.is_broken(state[LAST_REASON]) and holds.find_ended(state, UNRELEASED .. token)
        if not ended or ended[ENDED_AT] ~= state[LAST_AT] then
            return {'not_held'}
        end
        fence, owner = ended[ENDED_FENCE], ''
    end
    return {'not_held', pack('<ddss', fence, ms_between(state[LAST_AT], now), state[LAST_REASON], owner)}
end

function view.hold(fence, expires, since, owner, mode, meta)
    return pack('<ddddsss', fence, ms_between(now, expires), ms_between(since, now), since, owner, mode, meta)
end

-- A mode that ends with this says that more follows the meta.
local WITH_MORE = '+'

-- Any hold. What is more: its PERMITS, 1 if it was released, and what is left of its AT_LEAST and of its
-- MAX_HELD. tests/scripts/scripts.c reads it, as locks/calls/replies.c does.
function view.any_hold(hold)
    local mode, more = hold[MODE], ''
    if has_terms(hold) or hold[PERMITS] > 1 then
        mode = mode .. WITH_MORE
        more = pack('<dddd', hold[PERMITS], holds.is_released(hold) and 1 or 0, holds.terms_of(hold))
    end
    return view.hold(hold[FENCE], hold[EXPIRES], hold[SINCE], holds.owner_of(hold), mode, hold[META]) .. more
end

function view.holds(all)
    local seen = {}
    for i, hold in ipairs(all) do
        seen[i] = view.any_hold(hold)
    end
    return concat(seen)
end

-- The keys of all lines, each with 1 if its waiters are passed over now.
function view.lines(state)
    if state.inline then
        return {}
    end
    local found = {}
    for _, server in ipairs(servers.of(state)) do
        found[#found + 1] = {line_key(server[ID]), server[SUSPECT]}
    end
    if state[AWAY] > 0 then
        found[#found + 1] = {line_key('absent'), 0}
        found[#found + 1] = {line_key('missed'), 1}
    end
    return found
end

-- Where a waiter stands in the order of turns, from 1. Waiters that are passed over stand behind all
-- others.
function view.position(state, waiter)
    if waiter == state.inline then
        return 1
    end
    local before, others, passed_over = {[0] = 0, [1] = 0}, 0, 0
    for _, line in ipairs(view.lines(state)) do
        local name, is_passed_over = line[1], line[2]
        local count = hold_set.count_up_to(name, waiter[PLACE] - 1, state[WAITERS])
        before[is_passed_over] = before[is_passed_over] + count
        others = others + (is_passed_over == 0 and call('zcard', name) or 0)
        if call('zrange', name, count, count)[1] == waiter[TOKEN] then
            passed_over = is_passed_over
        end
    end
    return before[passed_over] + passed_over * others + 1
end

-- 1 if the token holds; its position with a minus if it waits; else 0.
function view.standing(state, token)
    if token == '' then
        return 0
    elseif holds.find(state, token) then
        return 1
    end
    local waiter = state[WAITERS] > 0 and queue.find(state, token)
    return waiter and -view.position(state, waiter) or 0
end

-- A name without its waiters, packed: the head, and each of its first holds, or of those `shown`.
function view.name(state, token, shown)
    local standing = view.standing(state, token)
    return view.head(state[VERSION], state[COUNT], state[EXTRA_PERMITS], state[LIMIT], state[WAITERS],
                     standing, state[LAST_FENCE], state[LAST_AT], state[LAST_REASON], state[LAST_OWNER]) ..
           view.holds(shown or holds.first(state, HOLDS_SHOWN))
end

local function stands_before(one, other)
    for i = 1, 2 do
        if one[i] ~= other[i] then
            return one[i] < other[i]
        end
    end
    return one[3] < other[3]
end

-- The first waiters of all lines together: {1 if passed over, place, token}.
function view.merge(lines, most)
    local merged = {}
    for _, line in ipairs(lines) do
        local some = call('zrange', line[1], 0, most - 1, 'withscores')
        for i = 1, #some, 2 do
            merged[#merged + 1] = {line[2], tonumber(some[i + 1]), some[i]}
        end
    end
    sort(merged, stands_before)
    return merged
end

function view.waiter(waiter)
    local waited = max(now - waiter[SINCE], 0) -- arrivals may be a little ahead of time
    local client = match(waiter[META], '^[^{]*')
    return {waiter[OWNER], waiter[MODE], round_down(waited / 1000), waiter[SINCE], client}
end

-- The first waiters in the order of their turns, those that are passed over now behind the others:
-- {{owner, mode, waited_ms}, ...}. Call this when everything that is due has been done.
function view.queue(state, most)
    local tokens, seen = {}, {}
    if state.inline then
        seen[1] = view.waiter(state.inline)
    end
    for i, place in ipairs(view.merge(view.lines(state), most)) do
        tokens[i] = i <= most - #seen and place[3] or nil
    end
    local found = tokens[1] and call('hmget', waiters_key(), unpack(tokens)) or {}
    for _, packed in ipairs(found) do
        if packed then -- a record may have been lost
            seen[#seen + 1] = view.waiter(read(WAITER, packed, 1))
        end
    end
    return seen
end

-- A name with its first waiters, `most` of them: {name, waiters}.
function view.whole(state, token, most, shown)
    local waiters = state[WAITERS] > 0 and view.queue(state, most or WAITERS_SHOWN) or nil
    return {view.name(state, token, shown), waiters}
end
