-- Epoch: the record of a part: what this data is called, which run of the server it belongs to, and
-- until when there may be holds. Who finds another one than it remembers, or none, knows that data
-- was lost: see locks/quarantine/identity.h. Stands alone, since it is what tells the time: it is never late.
--
-- KEYS[1]  a hash, without an expiry; where there is none, no record is meant: for what a node of a
--          Cluster answers that has no slot, or can't tell who serves the others
-- ARGV  2 the id and 3 the era that the record is taken to have, '' where there is none: only if they
--       are right anything is written; 4 what:
--       '' nothing; 5 '1' to be told how many replicas follow this server,
--       'raise' at least 5 when the last hold ends, 6 the same of those that a replica may lack, and
--         7 how long a hold may be; times in us,
--       'extend' at least 5 when grants begin again, and 6 why not before; at least 7 what the
--         numbers of what was lost are below, and 8 when the clock has caught up with all,
--       'replace' 5... fields and values,
--       'end' whosever record it is, if it has a quarantine, or if it is the one of 2 and 3: 5 the
--         era that it begins, of which everybody knows by `ended` that what was lost before it
--         does not count any more, and 6 by whom
-- Returns {time in us, id, era, run, history, ends, loose, span, until, reason, floor, by, level,
--         since, ended, followers}, '' for what there is not; `since` is when the quarantine that
--         lasts `until` began. Without a key {time, '1' where slots are on their
--         way to this node or from it, else '', or '?' where this user may not know}.
local key = KEYS[1]
local time = redis.call('time')
local now = time[1] * 1000000 + time[2]

local function read()
    local found = redis.call('hmget', key, 'id', 'era', 'run', 'history', 'ends', 'loose', 'span',
                             'until', 'reason', 'floor', 'by', 'level', 'since', 'ended')
    for i = 1, 14 do
        found[i] = found[i] or ''
    end
    return found
end

local function followers()
    local info = ARGV[4] == '' and ARGV[5] and redis.pcall('info', 'replication')
    return type(info) == 'string' and string.match(info, 'connected_slaves:(%d+)') or ''
end

local function moves()
    local nodes = redis.pcall('cluster', 'nodes')
    if type(nodes) ~= 'string' then
        return '?'
    end
    return string.find(string.match(nodes, '[^\n]*myself[^\n]*'), '%[%d+%-[<>]%-') and '1' or ''
end

local function is_closed(found)
    return (tonumber(found[8]) or 0) > now
end

local function at_least(field, value)
    if tonumber(value) > (tonumber(redis.call('hget', key, field) or 0) or 0) then
        redis.call('hset', key, field, value)
        return true
    end
    return false
end

if not key then
    return {now, moves()}
end
local found = read()
local is_known = found[1] == ARGV[2] and found[2] == ARGV[3]
local is_ending = ARGV[4] == 'end' and found[1] ~= '' and (is_known or is_closed(found))
if is_ending or is_known and ARGV[4] ~= '' and ARGV[4] ~= 'end' then
    local was_closed = is_closed(found)
    redis.call('unlink', key .. ':none') -- after a write that frees memory a full Redis takes others
    if ARGV[4] == 'raise' then
        if at_least('ends', ARGV[5]) then
            redis.call('hset', key, 'span', ARGV[7])
        end
        at_least('loose', ARGV[6])
    elseif ARGV[4] == 'extend' then
        if at_least('until', ARGV[5]) then
            redis.call('hset', key, 'reason', ARGV[6])
        end
        at_least('floor', ARGV[7])
        at_least('level', ARGV[8])
    elseif is_ending then
        redis.call('hset', key, 'until', 0, 'era', ARGV[5], 'ended', ARGV[5], 'by', ARGV[6])
    else
        redis.call('hset', key, unpack(ARGV, 5))
    end
    if is_closed(read()) and not was_closed then
        redis.call('hset', key, 'since', now)
    end
    found = read()
end
table.insert(found, 1, now)
found[16] = followers()
return found
