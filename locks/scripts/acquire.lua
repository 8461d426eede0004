-- Acquire: a new hold, the hold that this token has already, a place in the queue, or a refusal.
--
-- ARGV  2 the texts of the hold, each ended by a NUL: token, owner, mode, attempt, meta,
--       3 limit (0: none), 4 TTL in ms,
--       5 '0' the token is new, '1' it may have been sent before: this request takes over its place
--         in the queue, and shares its hold, '2' this very request (by its attempt) looks again: it
--         yields to a later one,
--       and of a request that waits: 6 server, 7 its lease in ms, 8 claim window in ms,
--       9 how long to keep the place in ms, 10 how many may wait
-- Returns {'granted', fence, holds}, or for an owner's only hold also the fence alone;
--         {'claimed' | 'holding', fence, ttl_ms, holds, version, owner, mode, limit}: the token has
--         the hold, and this request is the first to be told, or not;
--         {'waiting', next_ms}, {'locked', view}, {'limit_mismatch', limit, view},
--         {'too_many_waiters', length}, {'upgrade_conflict'}, {'released'}, {'superseded'}, or where
--         it would be granted if anything were now, {'quarantined', for how many ms}.
local token, owner, mode, attempt, meta = struct.unpack(HOLD_TEXTS, ARGV[2])
local limit, ttl, sent = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]
local server, lease, claim_ms, keep = ARGV[6], ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9])

local state = settle()
if state.unfinished then
    return answer(unfinished(state))
end
local hold, waiter

local function finish(...)
    close(state, call)
    return answer({...})
end

-- Whether what the token has belongs to another request than this one.
local function is_anothers()
    if hold and hold[ATTEMPT] ~= '' then
        return not others_told(hold, attempt)
    end
    return waiter and waiter[ATTEMPT] ~= attempt and waiter[ATTEMPT] ~= ''
end

-- A waiter that came again: its place, owner and mode stay, the rest is this request's.
local function attach()
    waiter[META], waiter[TTL] = meta, ttl
    if server then
        local before = waiter[ATTEMPT] ~= attempt and servers(state).find(waiter[SERVER])
        if before then -- it looks again, and finds itself superseded
            servers(state).tell(before, 'g', waiter[ATTEMPT], token, '-1')
        end
        queue(state).take(waiter)
        waiter[ATTEMPT], waiter[CLAIM], waiter[KEEP], waiter[MISSED] = attempt, claim_ms, keep, 0
        queue(state).put(waiter, server)
    elseif waiter[SERVER] == '' then
        queue(state).take(waiter)
        queue(state).put(waiter, 'absent')
    else
        queue(state).write(waiter)
    end
end

if sent ~= '0' then
    hold, waiter = find(state, token), find_waiter(state, token)
    if sent == '2' and is_anothers() then
        hand_over(state)
        return finish('superseded')
    elseif not hold and not waiter and find_released(state, token) then
        hand_over(state)
        return finish('released')
    elseif hold and hold[ATTEMPT] == '' and now < opens then
        queue(state).ungrant(hold)
        hold, waiter = nil, find_waiter(state, token)
    end
end

if server and not hold and not waiter then
    make_room(state)
end

-- The server shows that it is there.
local listed = server and state[SERVERS] > 0 and servers(state).find(server)
if server and waiter and not hold or listed and listed[SUSPECT] == 1 then
    servers(state).enlist(server, lease, 0)
end
if waiter and not hold then
    attach()
end
hand_over(state)

hold = hold or waiter and find(state, token)
if hold then
    return tell_hold(state, hold, attempt, call)
end
local upgrades = owned(state, waiter and waiter[OWNER] or owner) > 0
if waiter then
    if upgrades and now >= opens and
       admits(state, waiter[OWNER], waiter[MODE], waiter[WANTED]) then
        queue(state).remove(waiter)
        waiter[ATTEMPT] = attempt
        grant(state, waiter, waiter[WANTED], waiter[TTL])
        hand_over(state) -- it lets nobody in, but shows which servers have waiters left
        hold = waiter
        return tell_hold(state, hold, attempt, call)
    end
else
    if mode == 'shared' and state[COUNT] > state[EXCLUSIVES] and state[LIMIT] ~= limit then
        return finish('limit_mismatch', state[LIMIT], view(state, ''))
    end
    local is_admitted = admits(state, owner, mode, limit)
    if is_admitted and now < opens and (upgrades or not server) then
        return finish('quarantined', math.ceil((opens - now) / 1000))
    end
    if is_admitted and now >= opens and (upgrades or not state.next) then
        hold = {token, owner, mode, attempt, meta, 0, 0, 0, ttl}
        grant(state, hold, limit, ttl)
        return finish('granted', hold[FENCE], owned(state, owner))
    end
    upgrades = upgrades and mode == 'exclusive'
    if upgrades and state[UPGRADER] ~= '' and
       (find_waiter(state, state[UPGRADER]) or {})[OWNER] ~= owner then
        return finish('upgrade_conflict')
    end
    if server and state[WAITERS] >= tonumber(ARGV[10]) then
        return finish('too_many_waiters', state[WAITERS])
    end
end
if not server then
    return finish('locked', view(state, ''))
end
if not waiter then
    need_memory()
    servers(state).enlist(server, lease, 0)
    state[ARRIVAL] = math.max(state[ARRIVAL] + 1, now)
    waiter = {token, owner, mode, attempt, meta, 0, state[ARRIVAL], 0, ttl, limit, claim_ms, keep,
              upgrades and state[ARRIVAL] - FRONT or state[ARRIVAL], server}
    queue(state).begin()
    queue(state).put(waiter, server)
    remember_last(state) -- rather than by the release that somebody waits for
    if upgrades or not state.next then -- so that it is known who is next
        hand_over(state)
    end
end
return answer({'waiting', close(state, call, server)})
