-- The waiters of a name. Each is in one of these lines, sorted sets of tokens by place:
--   :queue:SERVER  its request is parked at that server
--   :queue:absent  it has no parked request, but keeps its place for a while
--   :queue:missed  the same, and it has missed its turn: it is passed over until it comes back
-- The next waiter is the first in the lines of all servers in good standing and of the absent. So
-- waiters that are passed over, or whose server has died, take no time, however many they are.
-- `:waiters`, a hash by token, has the records of all waiters, and of those that were granted and have
-- not claimed. `:ends` has the times when the absent and the missed give up. `:entrants` has the waiters in
-- those lines that re-enter and do not stand in front for it yet, each by a number of its owner: so those of an
-- owner that gets a hold are found. Waiters of a release before are not there.
--
-- A turn is a grant to a waiter that has yet to claim it. If its claim window ends before, the turn is missed:
--   a parked waiter goes back to its place. At its TURNS-th miss its server is SUSPECT, and so are the other
--   servers of its process: their waiters are passed over until that server calls again.
--   An absent waiter becomes missed, and with it all other absent ones of the name, each until it comes back.
-- The waiters of a server that has died become absent, or missed if it was SUSPECT, as long as their KEEP lasts.
-- A break or a quarantine that ends an unclaimed grant is no miss.
--
-- The functions named …_at_once, and those of 09-inline.lua, do the same with fewer calls of Redis. If you
-- change a rule, look at both.
local queue = {}

-- Places before all arrivals. A waiter that re-enters waits first as long as its owner has a hold: its place is
-- its arrival less FRONT, which is below 0. All of them are of one owner, since two owners would wait for each
-- other, as for an upgrade. A waiter that gives back a grant stands behind them, in the order of grants: its
-- place is its fence less PAST.
local FRONT = 4503599627370496 -- a value
local PAST = 1125899906842624 -- a value

-- Whether the place is that of one that gives back a grant.
function queue.had_hold(waiter)
    return waiter[PLACE] > 0 and waiter[PLACE] ~= waiter[SINCE]
end

-- Returns the servers of the name, and makes state.absent_line, the line of the absent. Functions that look at
-- the queue call this first.
function queue.lines_of(state)
    state.absent_line = state.absent_line or {'', 0, 0, 0}
    return servers.of(state)
end

function queue.find(state, token)
    if inline.is_alone(state) then
        return state.inline[TOKEN] == token and state.inline
    end
    local packed = call('hget', waiters_key(), token)
    return packed and read(WAITER, packed, 1)
end

function queue.forget_heads(state, id)
    if id == '' then
        state.absent_line[HEAD], state.absent_line.first_end = nil, nil
    end
    for _, server in ipairs(state.servers) do
        if server[ID] == id then
            server[HEAD] = nil
        end
    end
end

-- The token of another waiter that stands before all arrivals, or ''.
function queue.other_upgrader(state)
    local names = {line_key('absent'), line_key('missed')}
    for _, server in ipairs(state.servers) do
        names[#names + 1] = line_key(server[ID])
    end
    for _, name in ipairs(names) do
        local head = call('zrange', name, 0, 0, 'withscores')
        if head[1] and tonumber(head[2]) < 0 then
            return head[1]
        end
    end
    return ''
end

local function entrants_key()
    return beside(':entrants')
end

-- Other owners may have the same number.
local function number_of_owner(owner)
    return digits(tonumber(sub(sha1(owner), 1, 8), 16))
end

-- The waiter is in a line, at its place.
function queue.note_entrant(state, waiter)
    if waiter[REENTERS] == 1 and waiter[PLACE] > 0 then
        call('zadd', entrants_key(), number_of_owner(waiter[OWNER]), waiter[TOKEN])
        servers.keep_until(state, 0, entrants_key())
        state.has_entrants = true
    end
end

-- Redis is asked once a call.
function queue.has_entrants(state)
    if state.has_entrants == nil then
        state.has_entrants = call('zcard', entrants_key()) > 0
    end
    return state.has_entrants
end

-- Those with the number of this owner, a batch at most. An owner that batond has made lets nobody in.
function queue.entrants_of(state, owner)
    local number = byte(owner) ~= MADE and queue.has_entrants(state) and number_of_owner(owner)
    return number and call('zrangebyscore', entrants_key(), number, number, 'limit', 0, BATCH) or {}
end

-- Takes the waiter out of its line: the one of the server `id`, or of the waiters that are away ('').
-- Its record stays. `waiter` is nil if that was not read, or was lost.
function queue.take(state, token, id, waiter)
    queue.lines_of(state)
    spent = spent + 1
    if not waiter or waiter[REENTERS] == 1 then
        call('zrem', entrants_key(), token)
    end
    if id ~= '' then
        state[WAITERS] = state[WAITERS] - call('zrem', line_key(id), token)
    else
        state[WAITERS] = state[WAITERS] - call('zrem', line_key('absent'), token) -
                         call('zrem', line_key('missed'), token)
        state[AWAY] = state[AWAY] - call('zrem', ends_key(), token)
    end
    if state[UPGRADER] == token then
        state[UPGRADER] = queue.other_upgrader(state)
    end
    queue.forget_heads(state, id)
end

-- Call this before the first record is written. It removes what is left of a name whose main key was
-- lost.
function queue.begin(state)
    queue.lines_of(state)
    if state[WAITERS] + state[UNCLAIMED] == 0 then
        call('unlink', waiters_key(), line_key('absent'), line_key('missed'), ends_key(), entrants_key())
        state[AWAY] = 0
    end
end

function queue.write(state, waiter)
    queue.lines_of(state)
    waiter[1] = WAITER.mark
    call('hset', waiters_key(), waiter[TOKEN], write(WAITER, waiter))
    servers.keep_until(state, max(now, waiter[EXPIRES]) + retention, waiters_key())
end

-- Call this before a waiter gets a place, since it may change PLACE. One that missed its turn may come back when a
-- waiter of another owner stands before all arrivals: then its place is its arrival.
function queue.settle_place(state, waiter)
    local other = waiter[PLACE] < 0 and state[UPGRADER] ~= '' and queue.find(state, state[UPGRADER])
    if other and other[OWNER] ~= waiter[OWNER] then
        waiter[PLACE] = waiter[SINCE]
    elseif waiter[PLACE] < 0 then
        state[UPGRADER] = waiter[TOKEN]
    end
end

-- Puts a waiter into the line of the server `id`, or where it is away (''), among the `absent` or the `missed` until
-- it EXPIRES.
function queue.put(state, waiter, id, where)
    local line = line_key(where or id)
    waiter[SERVER] = id
    queue.settle_place(state, waiter)
    queue.write(state, waiter)
    state[WAITERS] = state[WAITERS] + call('zadd', line, digits(waiter[PLACE]), waiter[TOKEN])
    servers.keep_until(state, 0, line)
    if where then
        state[AWAY] = state[AWAY] + call('zadd', ends_key(), digits(waiter[EXPIRES]), waiter[TOKEN])
        servers.keep_until(state, 0, ends_key())
    end
    queue.note_entrant(state, waiter)
    queue.forget_heads(state, id)
end

-- Removes the record of a waiter that waits no longer, or has claimed its grant.
function queue.forget(state, token)
    if state.inline and state.inline[TOKEN] == token then
        inline.vacate(state)
    else
        call('hdel', waiters_key(), token)
    end
end

function queue.remove(state, token, id, waiter)
    queue.take(state, token, id, waiter)
    queue.forget(state, token)
end

-- The request of the waiter has ended. The waiter keeps its place for `ms`; 0: it goes.
function queue.leave(state, waiter, ms)
    if ms > 0 then
        queue.take(state, waiter[TOKEN], waiter[SERVER], waiter)
        waiter[ATTEMPT], waiter[EXPIRES] = '', now + ms * 1000
        queue.put(state, waiter, '', 'absent')
    elseif waiter == state.inline then
        state[WAITERS] = 0
        inline.vacate(state)
    else
        queue.remove(state, waiter[TOKEN], waiter[SERVER], waiter)
    end
end

-- One of the absent has missed its turn. All of them count as missed.
function queue.miss(state)
    local absent, missed = line_key('absent'), line_key('missed')
    call('zunionstore', missed, 2, absent, missed)
    servers.keep_until(state, 0, missed)
    call('unlink', absent)
    state.absent_line[HEAD] = false
end

-- The waiter goes back to its server's line. It has TURNS turns. After the last one, all waiters of that
-- server are passed over.
function queue.put_back_parked(state, waiter, server, has_missed)
    if has_missed then
        waiter[MISSES] = waiter[MISSES] + 1
    end
    if has_missed and waiter[MISSES] >= TURNS then
        servers.suspect(state, server)
    end
    queue.put(state, waiter, server[ID])
end

-- The hold has ended unclaimed. Its waiter goes back to its place. `has_missed`: its claim window is over; not
-- after a break or in a quarantine.
function queue.put_back(state, hold, has_missed)
    local waiter = queue.find(state, hold[TOKEN])
    if not waiter then
        return
    end
    local server = waiter[SERVER] ~= '' and servers.find(state, waiter[SERVER])
    if server then
        queue.put_back_parked(state, waiter, server, has_missed)
        return
    end
    if waiter[SERVER] ~= '' then -- its server has died meanwhile
        has_missed, waiter[EXPIRES] = true, hold[EXPIRES] + waiter[KEEP] * 1000
    elseif has_missed then
        queue.miss(state)
    end
    if waiter[EXPIRES] > now then
        queue.put(state, waiter, '', has_missed and 'missed' or 'absent')
    else
        queue.forget(state, hold[TOKEN])
    end
end

-- Puts back the waiters of all holds that have ended unclaimed.
function queue.put_all_back(state, have_missed)
    queue.lines_of(state)
    for _, hold in ipairs(state.unclaimed or {}) do
        queue.put_back(state, hold, have_missed)
    end
    state.unclaimed = nil
end

-- Ends an unclaimed hold that may not be claimed now, as if its claim window were over: nobody has broken
-- it. Its waiter goes back to its place.
function queue.ungrant(state, hold)
    holds.retire(state, {hold}, 'forced', false)
    state[LAST_REASON] = 'expired'
    queue.put_all_back(state, false)
end

-- Heartbeats of the server have ended. Its waiters go with it, a batch at a time. A waiter that keeps its
-- place becomes absent, or missed if the server was suspect.
function queue.remove_dead_server(state, server)
    local where = server[SUSPECT] == 1 and 'missed' or 'absent'
    local tokens = call('zrange', line_key(server[ID]), 0, BATCH - 1)
    for _, token in ipairs(tokens) do
        local waiter = queue.find(state, token)
        local ends = server[UNTIL] + (waiter and waiter[KEEP] or 0) * 1000
        queue.take(state, token, server[ID], waiter)
        if waiter and ends > now then
            waiter[EXPIRES] = ends
            queue.put(state, waiter, '', where)
        else
            queue.forget(state, token)
        end
    end
    state.unfinished = #tokens == BATCH
    if not state.unfinished then
        servers.drop(state, server)
    end
end

-- The time when the first waiter that is away gives up; nil if there is none.
function queue.first_end(state)
    local away = state.absent_line
    if state[AWAY] > 0 and not away.first_end then
        away.first_end = tonumber(call('zrange', ends_key(), 0, 0, 'withscores')[2])
        state[AWAY] = away.first_end and state[AWAY] or 0
    end
    return state[AWAY] > 0 and away.first_end or nil
end

function queue.give_up_absent(state)
    if (queue.first_end(state) or huge) <= now then
        local tokens = call('zrangebyscore', ends_key(), '-inf', digits(now), 'limit', 0, BATCH)
        for _, token in ipairs(tokens) do
            queue.remove(state, token, '')
        end
        state.unfinished = (queue.first_end(state) or huge) <= now
    end
end

-- Does what is due in the queue: unclaimed holds have ended, servers have died, waiters that were away
-- have not come back in time. The state may be `unfinished` then, as after holds.expire: so what waiters that go
-- back do may not depend on the holds.
function queue.settle(state)
    local all = queue.lines_of(state)
    queue.put_all_back(state, true)
    for i = #all, 1, -1 do
        if all[i][UNTIL] <= now and not state.unfinished then
            queue.remove_dead_server(state, all[i])
        end
    end
    if not state.unfinished then
        queue.give_up_absent(state)
    end
end

-- If all lines are empty, their keys were evicted or deleted by hand, and nobody waits any more.
function queue.lose_count(state)
    for _, server in ipairs(state.servers) do
        if server[HEAD] then
            return
        end
    end
    if not queue.first_end(state) then
        state[WAITERS] = 0
        call('unlink', line_key('absent'), line_key('missed'), entrants_key())
    end
end

function queue.find_head(line, name)
    if line[HEAD] == nil then
        local head = call('zrange', name, 0, 0, 'withscores')
        line[HEAD] = head[1] and {head[1], tonumber(head[2]), false} or false
    end
    return line[HEAD]
end

-- The first waiter of this line, or nil if its record was lost. It is read once.
function queue.head_of(state, line)
    local head = line[HEAD]
    head[3] = head[3] or queue.find(state, head[1]) or nil
    return head[3]
end

-- The line of the next waiter: a server's, or that of the absent.
function queue.pick(state)
    local best, away = nil, state.absent_line
    for _, server in ipairs(state.servers) do
        local head = queue.find_head(server, line_key(server[ID]))
        if head and server[SUSPECT] == 0 and (not best or head[2] < best[HEAD][2]) then
            best = server
        end
    end
    local head = state[AWAY] > 0 and queue.find_head(away, line_key('absent'))
    if head and (not best or head[2] < best[HEAD][2]) then
        best = away
    end
    return best
end

-- Moves the waiter within its line. Returns false if that was lost.
function queue.move(state, waiter, place)
    local moved, names = 0, waiter[SERVER] ~= '' and {waiter[SERVER]} or {'absent', 'missed'}
    for _, name in ipairs(names) do
        moved = moved + call('zadd', line_key(name), 'xx', 'ch', digits(place), waiter[TOKEN])
    end
    if moved == 0 then
        return false
    end
    waiter[PLACE] = place
    queue.write(state, waiter)
    queue.forget_heads(state, waiter[SERVER])
    return true
end

-- A waiter whose owner has no hold any more goes to the place of its arrival.
function queue.demote_upgrader(state)
    for _ = 1, BATCH do
        local waiter = state[UPGRADER] ~= '' and queue.find(state, state[UPGRADER])
        if not waiter or holds.owned(state, waiter[OWNER]) > 0 then
            return
        end
        if queue.move(state, waiter, waiter[SINCE]) then
            queue.note_entrant(state, waiter)
        end
        state[UPGRADER] = queue.other_upgrader(state)
    end
end

-- The owner has got a hold. Its waiters that re-enter go in front, as if they came now, unless a waiter of
-- another owner is there.
function queue.promote_entrants(state, owner)
    local other = state[UPGRADER] ~= '' and queue.find(state, state[UPGRADER])
    if state[WAITERS] == 0 or other and other[OWNER] ~= owner then
        return
    end
    for _, token in ipairs(queue.entrants_of(state, owner)) do
        local waiter = queue.find(state, token)
        local goes = waiter and waiter[OWNER] == owner and not queue.had_hold(waiter)
        if goes and queue.move(state, waiter, waiter[SINCE] - FRONT) then
            state[UPGRADER] = token
        end
        if goes or not waiter then
            call('zrem', entrants_key(), token)
        end
    end
end

-- Whether the grant counts as claimed at once. It does if the waiter's server itself has called (release
-- sets `state.asks`), since the server learns of it by the reply. No one else may be granted with it, which
-- entrants of its owner would be, and no one watches.
function queue.claims_at_once(state, waiter, line)
    if line[ID] ~= state.asks or waiter[MODE] ~= 'exclusive' or state[COUNT] > 0 or
       #queue.entrants_of(state, waiter[OWNER]) > 0 then
        return false
    end
    for _, server in ipairs(state.servers) do
        if server[WATCHING] == 1 then
            return false
        end
    end
    local next_line = state[WAITERS] > 0 and byte(waiter[OWNER]) ~= MADE and queue.pick(state)
    local behind = next_line and queue.head_of(state, next_line) -- may be an entrant that is not noted
    return not (behind and behind[REENTERS] == 1 and behind[OWNER] == waiter[OWNER])
end

-- Grants to a waiter for its claim window, for a part of it if a message tells its server, or if it is away,
-- for no longer than its place is kept.
function queue.hand_to(state, waiter, line)
    local ms = waiter[CLAIM]
    queue.take(state, waiter[TOKEN], line[ID], waiter)
    if queue.claims_at_once(state, waiter, line) then
        queue.forget(state, waiter[TOKEN])
        state.asks, state.claimed, ms = nil, waiter, waiter[TTL]
    elseif line == state.absent_line then
        ms, waiter[ATTEMPT] = min(ms, ms_until(waiter[EXPIRES])), ''
    else
        ms = ceil(ms / TURNS)
        servers.expect(state, line, ms, 'g', waiter[ATTEMPT], waiter[TOKEN], digits(ms))
        waiter[ATTEMPT] = ''
    end
    holds.grant(state, waiter, ms, holds.own_of(state, waiter) > 0)
    queue.promote_entrants(state, waiter[OWNER])
end

-- Grants to the next waiter as long as the holds admit it. A run of shared waiters is granted together.
-- An exclusive waiter blocks the shared waiters behind it, so that writers do not starve. Of a long run
-- a batch is granted, and a tick at once grants the rest, since Redis does nothing else meanwhile.
function queue.hand_over(state)
    queue.lines_of(state)
    if state[UPGRADER] ~= '' then
        queue.demote_upgrader(state)
    end
    for _ = 1, BATCH do
        local line = state[WAITERS] > 0 and queue.pick(state) or nil
        state.next_line = line or false
        if not line then
            return state[WAITERS] > 0 and queue.lose_count(state)
        elseif state.claimed then -- the reply tells of one grant
            return
        end
        local waiter = queue.head_of(state, line)
        if not waiter then -- a record that was lost
            queue.take(state, line[HEAD][1], line[ID])
        elseif holds.admits_waiter(state, waiter) and epoch.may_grant() then
            queue.hand_to(state, waiter, line)
        else
            return
        end
    end
    state.goes_on = true
end

-- Whether nobody can be granted now. Nothing has ended by itself since the last operation, since no tick
-- is due, and all servers live and are in good standing. In a quarantine the end of that may have changed.
function queue.is_calm(state)
    local hold = state[SINGLE]
    if state.inline or not hold or now >= hold[EXPIRES] or now >= state[TICK] or now < opens or
       state[WAITERS] + state[UNCLAIMED] == 0 then
        return false
    end
    for _, server in ipairs(servers.of(state)) do
        if now >= server[UNTIL] or server[SUSPECT] == 1 then
            return false
        end
    end
    return true
end

-- The next time when a waiter may be granted without a call: a hold ends, a waiter that is away gives
-- up, the server of the next waiter dies while others wait, or the quarantine ends. nil if there is
-- none.
function queue.next_end_of(state)
    if state.goes_on or state.unfinished then
        return now
    end
    local next_end = queue.first_end(state) or huge
    if now < opens and state[WAITERS] > 0 then
        next_end = min(next_end, opens)
    end
    if state[COUNT] > 0 then
        next_end = min(next_end, state[NEXT])
    end
    local line = state.next_line
    if line and line ~= state.absent_line and (#state.servers > 1 or state[AWAY] > 0) then
        next_end = min(next_end, line[UNTIL])
    end
    return next_end < huge and next_end or nil
end

-- Ends an operation on a name that has servers. Servers without waiters and watchers are removed, and
-- the others get their messages. Returns in how many milliseconds the next end is, -1 for never.
function queue.close(state, asking)
    local all = queue.lines_of(state)
    for i = #all, 1, -1 do
        local server = all[i]
        local is_idle = state[WAITERS] == 0 or server[HEAD] == false
        if is_idle and server[WATCHING] == 0 and state[UNCLAIMED] == 0 then
            servers.drop(state, server)
        end
    end
    local next_end = queue.next_end_of(state)
    servers.plan_tick(state, next_end, asking)
    servers.notify_watchers(state)
    return next_end and ms_until(next_end) or -1
end
