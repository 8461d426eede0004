-- The servers of a name: the workers of batonds that have waiters or watchers of it. A server lives as
-- long as its heartbeats come. Messages reach it through its inbox, a channel. A message is only a hint:
-- the server finds out by a call.
local servers, inline = {}, {} -- inline: see 09-inline.lua

-- The keys of the queue outlive two leases by this, however short the retention is.
local KEPT_LEAST = 60000000 -- a value

local function servers_key()
    return beside(':servers')
end

local function waiters_key()
    return beside(':waiters')
end

local function ends_key()
    return beside(':ends')
end

-- The line of the waiters whose requests are parked at this server. The absent and the missed have such
-- lines, too: see 08-queue.lua.
local function line_key(id)
    return beside(':queue:' .. id)
end

local function read_server(id, packed)
    local server = read(STANDING, packed, 1)
    server[ID], server[HEAD] = id, nil
    return server
end

-- All servers of the name. Redis is asked once a call.
function servers.of(state)
    local all = state.servers
    if all then
        return all
    end
    if state.inline then
        inline.spill(state)
    end
    all = {}
    local found = state[SERVERS] > 0 and call('hgetall', servers_key()) or {}
    for i = 1, #found, 2 do
        all[#all + 1] = read_server(found[i], found[i + 1])
    end
    state.servers, state[SERVERS] = all, #all
    state.next_line = state.next_line and all[1] -- it was the inline head
    return all
end

function servers.find(state, id)
    for _, server in ipairs(servers.of(state)) do
        if server[ID] == id then
            return server
        end
    end
    return nil
end

function servers.write(server)
    local packed = write(STANDING, {STANDING.mark, server[UNTIL], server[SUSPECT], server[WATCHING]})
    call('hset', servers_key(), server[ID], packed)
end

function servers.inbox(id)
    return match(key, '^[^{]*') .. 'inbox:' .. id
end

function servers.message(...)
    return concat({...}, ' ') .. ' ' .. key
end

-- Notes a message to a server. It is sent once the operation is stored.
function servers.notify(state, server, ...)
    state.outbox = state.outbox or {}
    insert(state.outbox, {servers.inbox(server[ID]), servers.message(...)})
end

-- Notes a message that makes the server act within `ms`.
function servers.expect(state, server, ms, ...)
    state.expected = min(state.expected or ms, ms)
    servers.notify(state, server, ...)
end

-- The server did not answer when one of its waiters had its turn. Workers of one process, whose ids
-- begin alike, mostly die together, and each would cost a claim window of its own. So all of them become
-- suspect, and get a message. A server that lives then calls at once.
function servers.suspect(state, server)
    for _, other in ipairs(servers.of(state)) do
        if other[SUSPECT] == 0 and sub(other[ID], 1, 8) == sub(server[ID], 1, 8) then
            other[SUSPECT] = 1
            servers.write(other)
            servers.notify(state, other, 's')
        end
    end
end

-- These keys of the queue live until `moment` at least.
function servers.keep_until(state, moment, ...)
    state[QUEUE_KEPT] = max(state[QUEUE_KEPT], moment)
    local kept = digits(state[QUEUE_KEPT] / 1000 + 1)
    for _, name in ipairs({...}) do
        call('pexpireat', name, kept)
    end
end

local function add_server(state, id)
    local all = state.servers
    call('unlink', #all == 0 and servers_key() or key .. ':none', line_key(id))
    local server = {id, 0, 0, 0}
    server[HEAD] = false
    all[#all + 1] = server
    state[SERVERS], state.newcomer = #all, id
    return server
end

-- Until when the keys of the queue live at least, once a server has this lease.
function servers.kept_for(lease_ms)
    return now + max(2 * lease_ms * 1000 + KEPT_LEAST, retention)
end

-- The server has waiters or watchers of the name from now on, and is in good standing.
function servers.enlist(state, id, lease_ms, watching)
    local server = servers.find(state, id) or add_server(state, id)
    server[UNTIL] = max(server[UNTIL], now + lease_ms * 1000)
    server[SUSPECT], server[WATCHING] = 0, max(server[WATCHING], watching)
    servers.write(server)
    servers.keep_until(state, servers.kept_for(lease_ms), servers_key())
    return server
end

function servers.drop(state, server)
    local all = state.servers
    for i, other in ipairs(all) do
        if other == server then
            remove(all, i)
        end
    end
    call('hdel', servers_key(), server[ID])
    state[SERVERS] = #all
end

-- Notes a message to each server whose connections have one of these holds, with the token of the hold; if
-- several have ended, EACH for all tokens.
function servers.notify_streams(state)
    local token, notified = #state.streams == 1 and state.streams[1][TOKEN] or EACH, {}
    for _, hold in ipairs(state.streams) do
        for attempt in gmatch(hold[ATTEMPT], CONNECTION .. '(%x+)') do
            local id = sub(attempt, 1, SERVER_LENGTH)
            if not notified[id] then
                notified[id] = true
                servers.notify(state, {id}, 'e', token)
            end
        end
    end
end

-- Sends the messages. The reply tells the calling server by when the others have to act (`due`: {key,
-- ms, ...}). It checks that they did, since a message may be lost.
function servers.send(state)
    if state.streams then
        servers.notify_streams(state)
    end
    if state.expected then
        due = due or {}
        due[#due + 1], due[#due + 2] = key, state.expected
    end
    for _, message in ipairs(state.outbox or {}) do
        call('publish', message[1], message[2])
    end
end

-- Makes every server plan a tick no later than `next_end`, the time of the next end (nil: nothing ends
-- by itself). `asking` is the server that learns of it by the reply, if any.
function servers.plan_tick(state, next_end, asking)
    if state.newcomer and state.newcomer ~= asking then
        state[TICK] = 0
    end
    if next_end and (next_end < state[TICK] or state[TICK] <= now) then
        local ms = ms_until(next_end)
        for _, server in ipairs(state.servers) do
            if server[ID] ~= asking then
                servers.expect(state, server, ms, 'n', digits(ms))
            end
        end
        state[TICK] = next_end
    elseif asking then
        state[TICK] = next_end or 0
    end
end

-- Removes all servers, because nobody waits any more. Returns false if one of them watches.
function servers.can_all_go(state)
    for _, server in ipairs(servers.of(state)) do
        if server[WATCHING] == 1 then
            return false
        end
    end
    call('unlink', servers_key())
    state.servers, state[SERVERS] = {}, 0
    return true
end

-- Tells the watchers of a new version; or else, that somebody waits, or nobody does any more.
function servers.notify_watchers(state)
    local has_changed = state[VERSION] ~= state.version
    for _, server in ipairs(state.servers) do
        if server[WATCHING] == 1 and has_changed then
            servers.notify(state, server, 'c', digits(state[VERSION]))
        elseif server[WATCHING] == 1 and state.had_waiters ~= (state[WAITERS] > 0) then
            servers.notify(state, server, 'w')
        end
    end
end
