-- Those who wait for a name. Each waiter is in one of these sorted sets of tokens by place:
--   :queue:SERVER  its request is parked there
--   :queue:absent  no request of it is parked, but its place is kept for a while
--   :queue:missed  the same, and its turn came meanwhile: it is passed over until it comes back
-- The head of the queue is the first of all servers in good standing and of the absent, so whoever
-- is to be passed over, or has died, costs nothing however many they are. In `:waiters`, a hash by
-- token, are these and those that were granted and have not claimed; the absent and missed are in
-- `:ends` as well, by the time at which they give up.

-- An upgrade waits in front of all, for as long as its owner has a hold: its place is its arrival less
-- FRONT, which is below 0. Several are of one owner, and all are let in by the same: that no other
-- owner has a hold. Whoever gives back what it was granted stands behind them, in order of the grants:
-- its place is its fence less PAST, which is before all places given by time.
local FRONT = 4503599627370496
local PAST = 1125899906842624

local function queue(state)
    if state.queue then
        return state.queue
    end
    local waiters, ends = key .. ':waiters', key .. ':ends'
    local absent, missed = key .. ':queue:absent', key .. ':queue:missed'
    local all = servers(state)
    local away = {'absent', 0, 0, 0} -- the absent stand in line as if a server had them
    local self = {}
    state.queue = self

    local function queue_of(id)
        return key .. ':queue:' .. id
    end

    function self.find(token)
        local packed = call('hget', waiters, token)
        return packed and {struct.unpack(WAITER, packed)}
    end

    local function forget_heads(id)
        if id == '' then
            away[HEAD], away.first_end = nil, nil
        end
        for _, server in ipairs(all) do
            if server[ID] == id then
                server[HEAD] = nil
            end
        end
    end

    local function count(difference)
        state[WAITERS] = state[WAITERS] + difference
    end

    -- Another upgrade that waits, or ''.
    local function other_upgrader()
        local names = {absent, missed}
        for _, server in ipairs(all) do
            names[#names + 1] = queue_of(server[ID])
        end
        for _, name in ipairs(names) do
            local head = call('zrange', name, 0, 0, 'withscores')
            if head[1] and tonumber(head[2]) < 0 then
                return head[1]
            end
        end
        return ''
    end

    -- Takes a waiter out of its queue; its record stays.
    function self.take(waiter)
        local token, id = waiter[TOKEN], waiter[SERVER]
        if id ~= '' then
            count(-call('zrem', queue_of(id), token))
        else
            count(-call('zrem', absent, token) - call('zrem', missed, token))
            state[AWAY] = state[AWAY] - call('zrem', ends, token)
        end
        if state[UPGRADER] == token then
            state[UPGRADER] = other_upgrader()
        end
        forget_heads(id)
    end

    -- Before the first record is written: removes what is left of a name whose main key was lost.
    function self.begin()
        if state[WAITERS] + state[UNCLAIMED] == 0 then
            call('unlink', waiters, absent, missed, ends)
            state[AWAY] = 0
        end
    end

    function self.write(waiter)
        even_if_full('hset', waiters, waiter[TOKEN], struct.pack(WAITER, unpack(waiter, 1, SERVER)))
        all.keep_until(math.max(now, waiter[EXPIRES]) + retention, waiters)
    end

    -- Puts it into the queue of a server, or among the `absent` or `missed` until it EXPIRES.
    function self.put(waiter, where)
        local name, token = queue_of(where), waiter[TOKEN]
        local is_away = name == absent or name == missed
        waiter[SERVER] = is_away and '' or where
        self.write(waiter)
        count(call('zadd', name, digits(waiter[PLACE]), token))
        all.keep_until(is_away and waiter[EXPIRES] + retention or 0, name)
        if is_away then
            state[AWAY] = state[AWAY] + call('zadd', ends, digits(waiter[EXPIRES]), token)
            all.keep_until(0, ends)
        end
        if waiter[PLACE] < 0 then
            state[UPGRADER] = token
        end
        forget_heads(waiter[SERVER])
    end

    -- It waits no longer.
    function self.remove(waiter)
        self.take(waiter)
        call('hdel', waiters, waiter[TOKEN])
    end

    -- A waiter whose request has ended stays for `ms`; 0: not at all.
    function self.leave(waiter, ms)
        self.take(waiter)
        if ms > 0 then
            waiter[ATTEMPT], waiter[EXPIRES] = '', now + ms * 1000
            self.put(waiter, 'absent')
        else
            call('hdel', waiters, waiter[TOKEN])
        end
    end

    -- A hold that was handed over and given to somebody else than its waiter, or ended.
    function self.forget(token)
        call('hdel', waiters, token)
    end

    -- All who are absent have missed their turn, since one of them has.
    local function miss()
        even_if_full('zunionstore', missed, 2, absent, missed)
        all.keep_until(0, missed)
        call('unlink', absent)
        away[HEAD] = false
    end

    -- The waiter of a hold that has ended unclaimed goes back to its place. If it has `missed` its
    -- turn, it has another one; after the last it and all who are with it are passed over from now on.
    local function put_back(hold, has_missed)
        local waiter = self.find(hold[TOKEN])
        if not waiter then
            return
        end
        local server = waiter[SERVER] ~= '' and all.find(waiter[SERVER])
        if server then
            if has_missed then
                waiter[MISSED] = waiter[MISSED] + 1
            end
            if has_missed and waiter[MISSED] >= TURNS then
                all.suspect(server)
            end
            self.put(waiter, server[ID])
            return
        end
        if waiter[SERVER] ~= '' then -- its server has died meanwhile
            has_missed, waiter[EXPIRES] = true, hold[EXPIRES] + waiter[KEEP] * 1000
        elseif has_missed then
            miss()
        end
        if waiter[EXPIRES] > now then
            self.put(waiter, has_missed and 'missed' or 'absent')
        else
            self.forget(hold[TOKEN])
        end
    end

    -- Looks after the waiters of those holds that have ended unclaimed.
    function self.take_back(have_missed)
        for _, hold in ipairs(state.unclaimed or {}) do
            put_back(hold, have_missed)
        end
        state.unclaimed = nil
    end

    -- A server that stopped vouching: its waiters are gone with it, but for those who keep their
    -- place; they are absent, or have missed their turn if the server had. Of very many, a batch.
    local function bury(server)
        local where = server[SUSPECT] == 1 and 'missed' or 'absent'
        local tokens = call('zrange', queue_of(server[ID]), 0, BATCH - 1)
        for _, token in ipairs(tokens) do
            local waiter = self.find(token) or {token, [SERVER] = server[ID], [KEEP] = 0}
            self.take(waiter)
            waiter[EXPIRES] = server[UNTIL] + waiter[KEEP] * 1000
            if waiter[EXPIRES] > now then
                self.put(waiter, where)
            else
                self.forget(token)
            end
        end
        state.unfinished = #tokens == BATCH
        if not state.unfinished then
            all.drop(server)
        end
    end

    -- When the first of those who are away gives up.
    local function first_end()
        if state[AWAY] > 0 and not away.first_end then
            away.first_end = tonumber(call('zrange', ends, 0, 0, 'withscores')[2])
            state[AWAY] = away.first_end and state[AWAY] or 0
        end
        return state[AWAY] > 0 and away.first_end or nil
    end

    local function give_up_absent()
        if (first_end() or now + 1) <= now then
            local tokens = call('zrangebyscore', ends, '-inf', digits(now), 'limit', 0, BATCH)
            for _, token in ipairs(tokens) do
                self.remove({token, [SERVER] = ''})
            end
            state.unfinished = (first_end() or now + 1) <= now
        end
    end

    -- The waiter of an unclaimed hold that may not be claimed now goes back to its place.
    function self.ungrant(hold)
        retire(state, {hold}, 'forced', false)
        self.take_back(false)
    end

    -- What is due of those who wait: unclaimed holds have ended, servers have died, the absent have
    -- not come back in time. The state may be `unfinished` after that, as by `expire`.
    function self.settle()
        self.take_back(true)
        for i = #all, 1, -1 do
            if all[i][UNTIL] <= now and not state.unfinished then
                bury(all[i])
            end
        end
        if not state.unfinished then
            give_up_absent()
        end
    end

    -- Keys that were lost, by eviction or by hand, leave nobody to wait for.
    local function lose_count()
        for _, server in ipairs(all) do
            if server[HEAD] then
                return
            end
        end
        if not first_end() then
            state[WAITERS] = 0
            call('unlink', absent, missed)
        end
    end

    local function find_head(line, name)
        if line[HEAD] == nil then
            local head = call('zrange', name, 0, 0, 'withscores')
            line[HEAD] = head[1] and {head[1], tonumber(head[2])} or false
        end
        return line[HEAD]
    end

    -- The line whose head is next: a server's, or that of the absent.
    local function pick()
        local best = nil
        for _, server in ipairs(all) do
            local head = find_head(server, queue_of(server[ID]))
            if head and server[SUSPECT] == 0 and (not best or head[2] < best[HEAD][2]) then
                best = server
            end
        end
        local head = state[AWAY] > 0 and find_head(away, absent)
        if head and (not best or head[2] < best[HEAD][2]) then
            best = away
        end
        return best
    end

    -- Upgrades whose owner has lost its hold stand where they would have stood without it.
    local function demote_upgraders()
        for _ = 1, BATCH do
            local waiter = state[UPGRADER] ~= '' and self.find(state[UPGRADER])
            if not waiter or owned(state, waiter[OWNER]) > 0 then
                return
            end
            local lines = waiter[SERVER] ~= '' and {queue_of(waiter[SERVER])} or {absent, missed}
            waiter[PLACE] = waiter[SINCE]
            self.write(waiter)
            for _, line in ipairs(lines) do
                call('zadd', line, 'xx', digits(waiter[PLACE]), waiter[TOKEN])
            end
            forget_heads(waiter[SERVER])
            state[UPGRADER] = other_upgrader()
        end
    end

    -- Grants to the head of the queue for as long as the holds admit it, for its claim window only, or
    -- for a part of that where a server is told.
    -- A run of shared waiters is granted together, and a waiting exclusive one blocks the shared
    -- ones behind it, so that writers do not starve. Of a very long run the rest is granted by a
    -- tick at once, since all else in Redis waits meanwhile. While nothing is granted, all stay.
    function self.hand_over()
        if state[UPGRADER] ~= '' then
            demote_upgraders()
        end
        for _ = 1, BATCH do
            local line = state[WAITERS] > 0 and pick() or nil
            state.next = line
            if not line then
                return state[WAITERS] > 0 and lose_count()
            end
            local token = line[HEAD][1]
            local waiter = self.find(token)
            if not waiter then -- a record that was lost
                self.take({token, [SERVER] = line == away and '' or line[ID]})
            elseif now >= opens and admits(state, waiter[OWNER], waiter[MODE], waiter[WANTED]) then
                local ms = waiter[CLAIM]
                self.take(waiter)
                if line ~= away then
                    ms = math.ceil(ms / TURNS)
                    all.expect(line, ms, 'g', waiter[ATTEMPT], token, digits(ms))
                end
                waiter[ATTEMPT] = ''
                grant(state, waiter, waiter[WANTED], ms)
            else
                return
            end
        end
        state.goes_on = true
    end

    -- When something ends by itself that may let somebody in: a hold, the place of one who is away,
    -- or the server of one who is next, if others wait behind it; or the time when nothing is granted.
    local function next_end()
        if state.goes_on or state.unfinished then
            return now
        end
        local next = first_end() or math.huge
        if now < opens and state[WAITERS] > 0 then
            next = math.min(next, opens)
        end
        if state[COUNT] > 0 then
            next = math.min(next, state[NEXT])
        end
        local line = state.next
        if line and line ~= away and (#all > 1 or state[AWAY] > 0) then
            next = math.min(next, line[UNTIL])
        end
        return next < math.huge and next or nil
    end

    -- The end of an operation on a name that has servers: those that have nothing to do with it any
    -- more are struck off, and the others hear of what concerns them. Returns in how many
    -- milliseconds the next end is, -1 for never.
    function self.close(told)
        for i = #all, 1, -1 do
            local server = all[i]
            local idle = state[WAITERS] == 0 or server[HEAD] == false
            if idle and server[WATCHING] == 0 and state[UNCLAIMED] == 0 then
                all.drop(server)
            end
        end
        local next = next_end()
        all.plan_tick(next, told)
        if state[VERSION] ~= state.version then
            all.tell_watchers()
        end
        return next and math.floor((next - now + 999) / 1000) or -1
    end

    return self
end
