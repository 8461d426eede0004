-- Heartbeat: the server still has its waiters and watchers of these names. The reply reports what the
-- server should know of each, since messages may be lost.
--
-- KEYS  1 the first of the names' main keys
-- ARGV  2 server, 3 its lease in ms, 4... all of the main keys
-- Returns {{waits, version, next_ms, ...}, {position, attempt, token, ...}}: first three numbers of
--         each name: how many requests of the server wait or have not claimed, -1 where it is not in
--         good standing: it is not known there any more, or its waiters are passed over, and has to ask
--         again there; the version; and in how many ms a tick is to run, -1 for none. Then which
--         requests of it, for which of the names, from 1, have got a hold that they have not claimed.

-- Writes that the server lives until `lease` from now. Returns whether it is in good standing and its
-- requests are looked for here, which they are not at a name that has moved to another node.
local function heartbeat_inline(state, name, record, lease)
    local lease_until = state.inline[LEASE_UNTIL]
    if lease_until > now then
        call('setrange', name, #record - 8, pack('<d', max(lease_until, now + lease)))
    end
    return lease_until > now
end

local function heartbeat_in_queue(name, server, lease)
    local packed = pcall_redis('hget', name .. ':servers', server)
    local standing = type(packed) == 'string' and read(STANDING, packed, 1)
    if not standing or standing[UNTIL] <= now then
        return false
    end
    standing[UNTIL] = max(standing[UNTIL], now + lease)
    call('hset', name .. ':servers', server, write(STANDING, standing))
    return standing[SUSPECT] == 0
end

-- How many wait in the server's queue for a name; nil where it is not in good standing. In a Cluster the
-- other keys may be at another node.
local function waiters_of(state, name, record, server, lease)
    if state.inline and state.inline[SERVER] == server then
        return heartbeat_inline(state, name, record, lease) and state[WAITERS] or nil
    end
    local length = heartbeat_in_queue(name, server, lease) and
                   pcall_redis('zcard', name .. ':queue:' .. server)
    return type(length) == 'number' and length or nil
end

-- The request of this server that has not claimed the name's only hold, or nil. Where there are several
-- holds, all its requests have to ask: false.
local function find_unclaimed(state, name, server)
    local hold, waiter = state[SINGLE], state.inline
    if not hold then
        return false
    elseif not waiter then
        local packed = pcall_redis('hget', name .. ':waiters', hold[TOKEN])
        waiter = type(packed) == 'string' and read(WAITER, packed, 1)
    end
    local is_its = hold[ATTEMPT] == '' and waiter and waiter[TOKEN] == hold[TOKEN] and
                   waiter[SERVER] == server
    return is_its and waiter or nil
end

-- When a tick is to run: now, where one is past that should have.
local function next_tick(state)
    if state[TICK] > now then
        return ms_until(state[TICK])
    end
    local is_due = state[UNCLAIMED] > 0 or state[SERVERS] > 0 and state[COUNT] + state[WAITERS] > 0
    return is_due and 0 or -1
end

local function heartbeat_for(name, record, server, lease)
    local state = read_state(record)
    local waits = waiters_of(state, name, record, server, lease)
    local unclaimed = nil
    if state[UNCLAIMED] > 0 then
        unclaimed = find_unclaimed(state, name, server)
    end
    if unclaimed == false then
        waits = nil
    elseif unclaimed then
        waits = waits and waits + 1
    end
    return {waits or -1, state[VERSION], next_tick(state), unclaimed}
end

local function heartbeat(argv)
    local server, lease = argv[2], argv[3] * 1000
    local found, grants = {}, {}
    for i = 4, #argv do
        local record = pcall_redis('get', argv[i])
        -- A name whose main key was lost, by eviction or by hand, has no queue any more; and one that is
        -- on its way to another node, or has moved, is to be asked about there.
        local seen = type(record) == 'string' and try(argv[i], heartbeat_for, argv[i], record, server, lease) or
                     {-1, 0, -1}
        for j = 1, 3 do
            insert(found, seen[j])
        end
        if seen[4] then
            insert(grants, i - 3)
            insert(grants, seen[4][ATTEMPT])
            insert(grants, seen[4][TOKEN])
        end
    end
    return failed or answer({found, grants})
end

register('heartbeat', heartbeat, KIND.ALONE)
