-- Epoch: the record of a part: what this data is called, which run of the server it belongs to, and
-- until when there may be holds. Who finds another one than it remembers, or none, knows that data
-- was lost: see locks/quarantine/identity.h. It has no stamp, since it is what tells the time: it is
-- never late.
--
-- KEYS[1]  a hash, without an expiry; where there is none, no record is meant: for what a node of a
--          Cluster answers that has no slot, or can't tell who serves the others
-- ARGV  2 the id and 3 the era that the record is taken to have, '' where there is none: only if they
--       are right anything is written; 4 what:
--       'raise' at least 5 when the last hold ends, 6 the same of those that a replica may lack, and
--         7 how long a hold may be; times in us,
--       'extend' at least 5 when grants begin again, and 6 why not before; at least 7 what the
--         numbers of what was lost are below, and 8 when the clock has caught up with all,
--       'replace' 5... fields and values,
--       'end' whosever record it is, if it has a quarantine, or if it is the one of 2 and 3: 5 the
--         era that it begins, of which everybody knows by `ended` that what was lost before it
--         does not count any more, and 6 by whom
-- `epoch_read` only reads it: 2 '1' to be told how many replicas follow this server.
-- Both return {time in us, id, era, run, history, ends, loose, span, until, reason, floor, by, level,
--         since, ended, followers}, '' for what there is not or was not asked; `since` is when the
--         quarantine that lasts `until` began. Without a key epoch_read returns {time, '1' where slots
--         are on their way to this node or from it, else '', or '?' where this user may not know}.

local EPOCH_VERSION = 1 -- of the record, in its field `format`
local EPOCH_FIELDS = {'id', 'era', 'run', 'history', 'ends', 'loose', 'span', 'until', 'reason',
                      'floor', 'by', 'level', 'since', 'ended', 'format'}
local EPOCH_ID, EPOCH_ERA, EPOCH_UNTIL, EPOCH_FORMAT = 1, 2, 8, 15

local function read_epoch()
    local found = call('hmget', key, unpack(EPOCH_FIELDS))
    for i = 1, #EPOCH_FIELDS do
        found[i] = found[i] or ''
    end
    local version = tonumber(found[EPOCH_FORMAT]) or 0
    if found[EPOCH_ID] ~= '' and version ~= EPOCH_VERSION then
        error({err = print_text('FORMAT record %d %d', version, EPOCH_VERSION)})
    end
    return found
end

local function followers()
    local info = pcall_redis('info', 'replication')
    return type(info) == 'string' and match(info, 'connected_slaves:(%d+)') or ''
end

local function slots_are_moving()
    local nodes = pcall_redis('cluster', 'nodes')
    if type(nodes) ~= 'string' then
        return '?'
    end
    return find_text(match(nodes, '[^\n]*myself[^\n]*'), '%[%d+%-[<>]%-') and '1' or ''
end

local function is_closed(epoch)
    return (tonumber(epoch[EPOCH_UNTIL]) or 0) > now
end

local function raise_field(name, value)
    if tonumber(value) > (tonumber(call('hget', key, name) or 0) or 0) then
        call('hset', key, name, value)
        return true
    end
    return false
end

local EPOCH_CHANGES = {
    raise = function(argv)
        if raise_field('ends', argv[5]) then
            call('hset', key, 'span', argv[7])
        end
        raise_field('loose', argv[6])
    end,
    extend = function(argv)
        if raise_field('until', argv[5]) then
            call('hset', key, 'reason', argv[6])
        end
        raise_field('floor', argv[7])
        raise_field('level', argv[8])
    end,
    replace = function(argv)
        call('hset', key, 'format', EPOCH_VERSION, unpack(argv, 5))
    end,
    ['end'] = function(argv)
        call('hset', key, 'until', 0, 'era', argv[5], 'ended', argv[5], 'by', argv[6])
    end,
}

local function tell_epoch(found, followers_told)
    found[EPOCH_FORMAT] = followers_told
    insert(found, 1, now)
    return found
end

local function epoch_read(argv)
    if not key then
        return {now, slots_are_moving()}
    end
    return tell_epoch(read_epoch(), argv[2] == '1' and followers() or '')
end

local function epoch(argv)
    local found, what = read_epoch(), argv[4]
    local is_its = found[EPOCH_ID] == argv[2] and found[EPOCH_ERA] == argv[3]
    if what == 'end' then
        is_its = found[EPOCH_ID] ~= '' and (is_its or is_closed(found))
    end
    if is_its then
        local was_closed = is_closed(found)
        EPOCH_CHANGES[what](argv)
        found = read_epoch()
        if is_closed(found) and not was_closed then
            call('hset', key, 'since', now)
            found = read_epoch()
        end
    end
    return tell_epoch(found, '')
end

register('epoch_read', epoch_read, READS_UNSTAMPED)
register('epoch', epoch, UNSTAMPED)
