-- Epoch: what is known of a shard's data: a random id, the run of its server, the longest TTLs that clients
-- were told of, and until when nothing is granted (locks/quarantine/guard.h). No call is too late for it.
--
-- The span is the longest TTL that a client was told of in this window, `before` that of the window
-- before. A window lasts as long as that one, a minute at least, and 5 s more; then whoever raises the
-- span moves on to the next. So a hold of which a client was told in one window has ended by the end of
-- the next, and no hold that still runs is longer than the greater of the two. All times are in us.
--
-- KEYS[1]  a hash, without an expiry
-- ARGV  2 the id that the epoch is taken to have: otherwise nothing is written; 3 what:
--       'raise'  the span at least 4,
--       'extend' grants begin again at 4 at least, and 5 is why not before; at least 6 what the numbers
--         of what was lost are below, and 7 when the clock has caught up with all,
--       'begin'  a new one, also if there is none ('' in 2): 4 the span of what may still run, 5... fields
--         and values. No span and none of RAISED_FIELDS gets less than another worker has made it,
--       'end'    the quarantine, whichever id has one: 4 the id that begins; by `ended` all know that
--         what was lost before does not count any more; 5 by whom
-- `epoch_read` only reads it: 2 '1' to be told how many replicas follow this server.
-- Both return {time, id, run, history, span, before, turns, until, reason, since, by, ended, floor,
--         level, followers}, '' for what there is not or was not asked: the window ends at `turns`, and
--         the quarantine that ends at `until` began at `since`.

local EPOCH_VERSION = 2 -- in its field `format`
local EPOCH_FIELDS = {'id', 'run', 'history', 'span', 'before', 'turns', 'until', 'reason', 'since',
                      'by', 'ended', 'floor', 'level', 'format'}
local EPOCH_ID, EPOCH_FORMAT = 1, 14
local RAISED_FIELDS = {['until'] = true, floor = true, level = true}
local WINDOW_LEAST, WINDOW_MORE = 60000000, 5000000

local function read_epoch()
    local found = call('hmget', key, unpack(EPOCH_FIELDS))
    for i = 1, #EPOCH_FIELDS do
        found[i] = found[i] or ''
    end
    local version = tonumber(found[EPOCH_FORMAT]) or 0
    if version ~= EPOCH_VERSION and (found[EPOCH_ID] ~= '' or version > 0) then
        error({err = print_text('FORMAT epoch %d %d', version, EPOCH_VERSION)})
    end
    return found
end

local function number_of(name)
    return tonumber(call('hget', key, name) or 0) or 0
end

local function is_closed()
    return number_of('until') > now
end

local function raise_field(name, value)
    if tonumber(value) > number_of(name) then
        call('hset', key, name, value)
        return true
    end
end

local function begin_window(before)
    call('hset', key, 'before', digits(before), 'span', 0,
         'turns', digits(now + max(before, WINDOW_LEAST) + WINDOW_MORE))
end

local EPOCH_CHANGES = {
    raise = function(argv)
        if now >= number_of('turns') then
            begin_window(number_of('span'))
        end
        raise_field('span', argv[4])
    end,
    extend = function(argv)
        if raise_field('until', argv[4]) then
            call('hset', key, 'reason', argv[5])
        end
        raise_field('floor', argv[6])
        raise_field('level', argv[7])
    end,
    begin = function(argv)
        if number_of('since') > now then -- the clock has gone back, and `until` is of the one before
            call('hset', key, 'until', 0, 'since', 0)
        end
        call('hset', key, 'format', EPOCH_VERSION)
        for i = 5, #argv, 2 do
            if RAISED_FIELDS[argv[i]] then
                raise_field(argv[i], argv[i + 1])
            else
                call('hset', key, argv[i], argv[i + 1])
            end
        end
        begin_window(max(tonumber(argv[4]), number_of('span'), number_of('before')))
    end,
    ['end'] = function(argv)
        call('hset', key, 'until', 0, 'id', argv[4], 'ended', argv[4], 'by', argv[5])
    end,
}

local function report_epoch(reported_followers)
    local found = read_epoch()
    found[EPOCH_FORMAT] = reported_followers
    insert(found, 1, now)
    return found
end

local function epoch_read(argv)
    local info = argv[2] == '1' and pcall_redis('info', 'replication')
    return report_epoch(type(info) == 'string' and match(info, 'connected_slaves:(%d+)') or '')
end

local function epoch_change(argv)
    local id, what, was_closed = read_epoch()[EPOCH_ID], argv[3], is_closed()
    local is_its = id == argv[2] or (what == 'end' and was_closed)
    if is_its and (id ~= '' or what == 'begin') then
        EPOCH_CHANGES[what](argv)
        if is_closed() and (what == 'begin' or not was_closed) then
            call('hset', key, 'since', digits(now))
        end
    end
    return report_epoch('')
end

register('epoch_read', epoch_read, KIND.READS_UNSTAMPED)
register('epoch', epoch_change, KIND.UNSTAMPED)
