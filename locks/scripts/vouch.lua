-- Vouch: the server still has its waiters and watchers of these names. It is told what it should have
-- heard of each, since messages may be lost.
--
-- KEYS  1 the first of the names' main keys
-- ARGV  2 server, 3 its lease in ms, 4... all of the main keys
-- Returns {{waits, version, next_ms, ...}, {position, attempt, token, ...}}: first three numbers of
--         each name: how many requests of the server wait or have not claimed, -1 where it is not in
--         good standing: it is not known there any more, or its waiters are passed over, and has to ask
--         again there; the version; and in how many ms a tick is to run, -1 for none. Then which
--         requests of it, for which of the names, from 1, have got a hold that they have not claimed.
local server, lease = ARGV[2], ARGV[3] * 1000
local write, found, grants = even_if_full, {}, {}
local tail = server .. '\0' -- what ends the record of a name with a front, before VOUCHED

-- How many wait in the server's queue for a name whose record this is; nil where it is not in good
-- standing. In a Cluster the other keys may be at another node.
local function vouch(name, record, waiters)
    local at, hash = #record - 8, name .. ':servers'
    if string.sub(record, at - #tail + 1, at) == tail then
        local ends = struct.unpack('<d', record, at + 1)
        if ends > now then
            write('setrange', name, at, struct.pack('<d', math.max(ends, now + lease)))
        end
        return ends > now and waiters or nil
    end
    local packed = redis.pcall('hget', hash, server)
    local ends, suspect, watching = 0, 1, 0
    if type(packed) == 'string' then
        ends, suspect, watching = struct.unpack(STANDING, packed)
    end
    if ends > now then
        ends = math.max(ends, now + lease)
        write('hset', hash, server, struct.pack(STANDING, ends, suspect, watching))
    end
    local length = ends > now and suspect == 0 and redis.pcall('zcard', name .. ':queue:' .. server)
    return type(length) == 'number' and length or nil
end

-- The attempt and the token of the request of this server that has not claimed the name's only hold.
-- Where there are several holds, all its requests have to ask: false.
local function find_unclaimed(name, record)
    local at = select(4, struct.unpack('<sss', record, TEXTS_FROM))
    if at > #record then
        return false
    end
    local hold = {struct.unpack(HOLD, record, at)}
    local packed = hold[AFTER] <= #record and string.sub(record, hold[AFTER]) or
                   redis.pcall('hget', name .. ':waiters', hold[TOKEN])
    local waiter = type(packed) == 'string' and {struct.unpack(WAITER, packed)}
    if hold[ATTEMPT] == '' and waiter and waiter[TOKEN] == hold[TOKEN] and waiter[SERVER] == server then
        return waiter[ATTEMPT], waiter[TOKEN]
    end
    return nil
end

-- When a tick is to run: now, where one is past that should have.
local function next_tick(record, count, waiters, unclaimed, enlisted)
    local tick = struct.unpack('<d', record, TICK_FROM)
    if tick > now then
        return math.floor((tick - now + 999) / 1000)
    end
    return (unclaimed > 0 or enlisted > 0 and count + waiters > 0) and 0 or -1
end

local function look(position, name, record)
    local version, count, _, _, waiters, _, unclaimed, enlisted = struct.unpack(STATE_FRONT, record)
    local waits = vouch(name, record, waiters)
    if unclaimed > 0 then
        local attempt, token = find_unclaimed(name, record)
        if attempt == false then
            waits = nil
        elseif attempt then
            waits = waits and waits + 1
            grants[#grants + 1], grants[#grants + 2], grants[#grants + 3] = position, attempt, token
        end
    end
    return {waits or -1, version, next_tick(record, count, waiters, unclaimed, enlisted)}
end

for i = 4, #ARGV do
    local record = redis.pcall('get', ARGV[i])
    local waits, version, next_ms = -1, 0, -1
    -- A name whose main key was lost, by eviction or by hand, has no queue any more; and one that is
    -- on its way to another node, or has moved, is to be asked about there.
    if type(record) == 'string' then
        waits, version, next_ms = unpack(try(ARGV[i], look, i - 3, ARGV[i], record) or {-1, 0, -1})
    end
    if waits >= 0 then
        write = call -- after the first, a full Redis takes all
    end
    found[#found + 1], found[#found + 2], found[#found + 3] = waits, version, next_ms
end
return failed or answer({found, grants})
