-- The servers that wait for a name: each worker of each batond is one. A server is live as long as
-- it vouches for the waiters and watchers it has, and it hears of what concerns them through its
-- inbox, a channel. What it is told is a hint only: it finds out by asking again.

-- What this run has told servers that they have to do by some time, for the server that asks: it sees to
-- it that this was done, since a message may be lost. {key, in how many ms, ...}
local due = nil

local HEAD = 5      -- not stored: the first in its queue {token, place}, false: none, nil: unknown

-- How many wait behind the front, in the keys of a queue.
local function behind_front(state)
    return math.max(state[WAITERS] - (state.lone[TOKEN] ~= '' and 1 or 0), 0)
end

-- Who waits is not at one server any more, or something becomes of the front: it moves into the keys
-- of the queue, and its server into that of the servers. What else was in them, and the queue where
-- nobody else waits, is left of a main key that was lost.
local function line_up(state)
    local waiter = state.lone
    local token, id = waiter[TOKEN], waiter[SERVER]
    local hash, waiters, line = key .. ':servers', key .. ':waiters', key .. ':queue:' .. id
    call('unlink', hash, key .. ':ends', key .. ':queue:absent', key .. ':queue:missed')
    if behind_front(state) == 0 then
        call('unlink', waiters, line)
    end
    local kept = digits(state[QUEUE_KEPT] / 1000 + 1)
    call('hset', hash, id, struct.pack(STANDING, waiter[VOUCHED], 0, 0))
    call('pexpireat', hash, kept)
    if token ~= '' then
        call('hset', waiters, token, struct.pack(WAITER, unpack(waiter, 1, SERVER)))
    end
    call('pexpireat', waiters, kept)
    if token ~= '' and state[WAITERS] > 0 then
        call('zadd', line, digits(waiter[PLACE]), token)
    end
    call('pexpireat', line, kept)
    state.lone = nil
end

-- Before there is more than the front: in a full Redis nothing is written at all.
local function make_room(state)
    if state.lone then
        need_memory()
    end
end

-- As with the crowd, its functions are made only where they are needed, and once.
local function servers(state)
    if state.servers then
        return state.servers
    end
    local hash = key .. ':servers'
    local inbox = string.match(key, '^[^{]*') .. 'inbox:'
    local self, outbox = {}, {} -- an array of servers
    state.servers = self
    if state.lone then
        line_up(state)
    end

    local all = state[SERVERS] > 0 and call('hgetall', hash) or {}
    for i = 1, #all, 2 do
        local ends, suspect, watching = struct.unpack(STANDING, all[i + 1])
        self[#self + 1] = {all[i], ends, suspect, watching}
    end
    state[SERVERS] = #self
    state.next = state.next and self[1] -- it was the front

    function self.find(id)
        for _, server in ipairs(self) do
            if server[ID] == id then
                return server
            end
        end
        return nil
    end

    function self.write(server)
        local packed = struct.pack(STANDING, unpack(server, UNTIL, WATCHING))
        even_if_full('hset', hash, server[ID], packed)
    end

    -- A server that was not there when one of its waiters had its turn. Servers of one process, whose
    -- ids begin alike, are mostly gone together: each would cost a claim window of its own. Each of
    -- them is told, and shows at once that it is there.
    function self.suspect(server)
        for _, other in ipairs(self) do
            if other[SUSPECT] == 0 and string.sub(other[ID], 1, 8) == string.sub(server[ID], 1, 8) then
                other[SUSPECT] = 1
                self.write(other)
                self.tell(other, 's')
            end
        end
    end

    -- A server that has something to do with this name: it is in good standing from now on.
    function self.enlist(id, lease, watching)
        local server = self.find(id)
        if not server then
            need_memory()
            call('unlink', #self == 0 and hash or hash .. ':none', key .. ':queue:' .. id)
            server = {id, 0, 0, 0, false}
            self[#self + 1] = server
            state[SERVERS] = #self
            self.newcomer = id
        end
        server[UNTIL] = math.max(server[UNTIL], now + lease * 1000)
        server[SUSPECT], server[WATCHING] = 0, math.max(server[WATCHING], watching)
        self.write(server)
        self.keep_until(now + math.max(2 * lease * 1000 + KEPT_LEAST, retention), hash)
        return server
    end

    -- The keys of those who wait live until `moment` at least.
    function self.keep_until(moment, ...)
        state[QUEUE_KEPT] = math.max(state[QUEUE_KEPT], moment)
        local kept = digits(state[QUEUE_KEPT] / 1000 + 1)
        for _, name in ipairs({...}) do
            call('pexpireat', name, kept)
        end
    end

    function self.drop(server)
        for i, other in ipairs(self) do
            if other == server then
                table.remove(self, i)
            end
        end
        call('hdel', hash, server[ID])
        state[SERVERS] = #self
    end

    -- What servers are told goes out once it is stored.
    function self.tell(server, ...)
        outbox[#outbox + 1] = {inbox .. server[ID], table.concat({...}, ' ') .. ' ' .. key}
    end

    -- The server does something `ms` from now, or sooner.
    function self.expect(server, ms, ...)
        self.expected = math.min(self.expected or ms, ms)
        self.tell(server, ...)
    end

    function self.send()
        if self.expected then
            due = due or {}
            due[#due + 1], due[#due + 2] = key, self.expected
        end
        for _, message in ipairs(outbox) do
            call('publish', message[1], message[2])
        end
    end

    -- Sees to it that every server has a tick planned no later than `next`, the time of the next
    -- end (nil: nothing ends by itself). `told` is the server that is told in its reply, if any.
    function self.plan_tick(next, told)
        if self.newcomer and self.newcomer ~= told then
            state[TICK] = 0
        end
        if next and (next < state[TICK] or state[TICK] <= now) then
            local ms = math.floor((next - now + 999) / 1000)
            for _, server in ipairs(self) do
                if server[ID] ~= told then
                    self.expect(server, ms, 'n', digits(ms))
                end
            end
            state[TICK] = next
        elseif told then
            state[TICK] = next or 0
        end
    end

    function self.tell_watchers()
        for _, server in ipairs(self) do
            if server[WATCHING] == 1 then
                self.tell(server, 'c', digits(state[VERSION]))
            end
        end
    end

    return self
end
