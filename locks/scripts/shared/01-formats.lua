-- The formats of the records that Redis keeps for a name.
--
-- The files of this folder and the operations (../*.lua) make one library of Redis Functions, in this
-- order: see ../embed.sh. Redis loads it once, so a variable of a file lives as long as the library.
-- 02-call.lua sets the variables that belong to a single call.
--
-- The main key of a name is one packed string. It begins with the state. A single hold follows, and then
-- the inline head: the only waiter, with the time until which its server lives. Most names have no other key,
-- so an operation is TIME, GET, SET. A time is in microseconds of Redis' clock unless its name ends
-- in _ms.

-- Globals of Redis. They do not exist while Redis loads the library, and a look-up takes time, so the
-- first call keeps them here.
local call, pcall_redis, error, ipairs, pcall, select, tonumber, type, unpack
local byte, find_text, gmatch, lower, match, print_text, sub
local ceil, round_down, huge, max, min
local pack, parse
local concat, insert, remove, sort
local sha1

local function take_globals()
    call, pcall_redis = redis.call, redis.pcall
    error, ipairs, pcall, select = _G.error, _G.ipairs, _G.pcall, _G.select
    tonumber, type, unpack = _G.tonumber, _G.type, _G.unpack
    byte, find_text, gmatch, lower = string.byte, string.find, string.gmatch, string.lower
    match, print_text, sub = string.match, string.format, string.sub
    ceil, round_down, huge, max, min = math.ceil, math.floor, math.huge, math.max, math.min
    pack, parse = struct.pack, struct.unpack
    concat, insert, remove, sort = table.concat, table.insert, table.remove, table.sort
    sha1 = redis.sha1hex
end

-- A format describes one kind of record. A record becomes an array of values. `field` declares the
-- values in their order: it takes the type of a value, in the words of struct.pack, and the default, if it has
-- one. ../embed.sh puts the index in place of the name. The first value is a byte that stands for the version of the
-- format.
--
-- To change a format, give it the next version, and call `earlier` with the `types` of the version
-- before and a function that converts an array of that version. Such records are read, and written in
-- the new format when they change. A record of any other version is refused and left as it is, since
-- another release has written it: so while users upgrade, the older release answers 503 for it (docs/deploy.md).
-- A new value of a hold or waiter needs no more than that, its default, and the rule that uses it. A WAITER begins with
-- the values of a HOLD, so it gets the next version as well. ../../../tests/upgrade/next_format.sh does these steps. A
-- name counts only behind its declaration.
--
-- The byte is odd and less than 32. So it is no letter or digit of a foreign text, and differs from the
-- first byte of release 0.1, which had no version: its states begin with a whole number of
-- microseconds as a double, whose first byte is even.
local VERSIONS_MOST = 16 -- a value

local function mark_of(version)
    return 2 * version - 1
end

-- A format with a `base` begins with the values of that one.
local function format_of(kind, version, base)
    return {kind = kind, version = version, mark = mark_of(version), types = base and base.types or '<B',
            last = base and base.last or 1, heads = base and base.heads or {},
            defaults = base and base.defaults or {}, before = {}}
end

local function field(format, type_of_value, default)
    format.types, format.last = format.types .. type_of_value, format.last + 1
    format.heads[format.last], format.defaults[format.last] = format.types, default
end

local function earlier(format, version, types, convert)
    format.before[mark_of(version)] = {types = types, convert = convert}
end

-- The version of a record in another format; 0 for a state of release 0.1; nil if it is no record.
local function foreign_version(format, packed, at)
    local mark = byte(packed, at) or 0
    if mark % 2 == 1 and mark < mark_of(VERSIONS_MOST) then
        return (mark + 1) / 2
    end
    local number = format.is_oldest and #packed >= format.is_oldest and parse('<d', packed) or -1
    return number > 0 and number < 2 ^ 53 and number % 1 == 0 and 0 or nil
end

local function read_foreign(format, packed, at)
    local before = format.before[byte(packed, at)]
    if not before then
        local version = foreign_version(format, packed, at)
        error(version and {err = print_text('FORMAT %s %d %d', format.kind, version, format.version)} or
              'not a record of Baton')
    end
    local found = {parse(before.types, packed, at)}
    local behind = remove(found)
    found = before.convert(found)
    found[1], found[format.last + 1] = format.mark, behind
    return found
end

-- Reads the record that begins at byte `at`. The last element of the array, behind the values, is the
-- position of the byte behind the record.
local function read(format, packed, at)
    if byte(packed, at) ~= format.mark then
        return read_foreign(format, packed, at)
    end
    return {parse(format.types, packed, at)}
end

-- Returns the values of a record from the first to the one with this index.
local function read_head(format, packed, last)
    if byte(packed) ~= format.mark then
        return unpack(read_foreign(format, packed, 1), 1, last)
    end
    return parse(format.heads[last], packed)
end

local function write(format, values)
    return pack(format.types, unpack(values, 1, format.last))
end

-- The state of a name. A plain name has at most one hold. Nobody waits or watches, and its hold was claimed:
-- its record is FREE or HELD. Or one waits for a single hold: it is AWAITED. 03-plain.lua
-- writes these. All others are WHOLE. The values from GENERATION on are the past of the name.
local WHOLE = 0 -- a layout
local FREE = 1 -- a layout
local HELD = 2 -- a layout
local AWAITED = 3 -- a layout, since version 4
local STATE = format_of('state', 4)
local LAYOUT = field(STATE, 'B')      -- WHOLE
local VERSION = field(STATE, 'd')     -- the last number issued, be it as a fence or for the end of a hold
local COUNT = field(STATE, 'I4')      -- how many holds there are
local EXCLUSIVES = field(STATE, 'I4') -- how many of them are exclusive
local LIMIT = field(STATE, 'I4')      -- that of the newest shared hold; 0: none
local WAITERS = field(STATE, 'I4')    -- how many wait (see 08-queue.lua)
local AWAY = field(STATE, 'I4')       -- how many of them have no request that is parked now
local UNCLAIMED = field(STATE, 'I4')  -- how many of the holds were handed over and have not been claimed
local RELEASED_HOLDS = field(STATE, 'I4') -- how many of the holds are RELEASED
local EXTRA_PERMITS = field(STATE, 'I4') -- PERMITS of all holds, beyond one for each
local SERVERS = field(STATE, 'I4')    -- how many servers have waiters or watchers (see 07-servers.lua)
local NEXT = field(STATE, 'd')        -- no hold ends before this time
local KEPT = field(STATE, 'd')        -- the keys of a hold set (see 05-hold_set.lua) outlive this by the retention
local TICK = field(STATE, 'd')        -- each server runs a tick by this time, if it is not past
local QUEUE_KEPT = field(STATE, 'd')  -- the keys of those who wait live until then
local UPGRADER = field(STATE, 's')    -- a token that waits to enter the holds that its owner has, or ''
-- The state has these, to LAST_OWNER, packed as well: if you change one, set `state.past` to false.
local GENERATION = field(STATE, 'd')  -- the newest generation of released tokens, 0 for none
local ARRIVAL = field(STATE, 'd')     -- the number of the last arrival in the queue
local LAST_FENCE = field(STATE, 'd')  -- the last end of a hold: its fence, 0 where none has ended
local LAST_AT = field(STATE, 'd')
local LAST_HELD = field(STATE, 'd')   -- milliseconds
local LAST_HOLDS = field(STATE, 'd')  -- how many holds its owner had left
local LAST_REASON = field(STATE, 's') -- 'released', 'expired' or 'forced'; of a break: see BROKEN
local LAST_TOKEN = field(STATE, 's')  -- the token, if its release may be asked for again; if its client did not
                                      -- release it, UNRELEASED and the token; else ''
local LAST_OWNER = field(STATE, 's')  -- '' where none has ended
local UNRELEASED = '\2'               -- so it is no token, and nobody releases it
local BROKEN = 'forced\31'            -- begins the reason of a break: who broke it, from where and why follow
local SINGLE = STATE.last + 1 -- not in the record: the hold, where there is just one; else false
STATE.is_oldest = 120       -- bytes that a record of release 0.1 has at least

-- It had no layout AWAITED.
earlier(STATE, 3, STATE.types, function(old)
    return old
end)

-- A hold. acquire is given its texts packed. Plain records (03-plain.lua) have these five texts alone: a new value,
-- also a text, goes behind PERMITS, and a hold with another value than the default is stored WHOLE.
local TEXTS = 'sssss'
local HOLD = format_of('hold', 2)
local TOKEN = field(HOLD, 's')
local OWNER = field(HOLD, 's')   -- begins with a byte MADE if the request named none
local MODE = field(HOLD, 's')    -- 'exclusive' or 'shared'
local ATTEMPT = field(HOLD, 's') -- the requests that were told of it, with a space between; '' while
                                -- unclaimed, KNOWN: a client is sure to know; the last that is of a
                                -- CONNECTION has the hold; of a waiter: its last request, '' if that
                                -- has left. In a quorum, RAISED may begin it: see ../raise.lua
local META = field(HOLD, 's')    -- what others see of the client: its address, and its JSON object behind
local FENCE = field(HOLD, 'd')
local SINCE = field(HOLD, 'd')   -- when it was granted; of a waiter: its arrival
local EXPIRES = field(HOLD, 'd') -- it lives while now < EXPIRES; so does a waiter that is away
local TTL = field(HOLD, 'd')     -- milliseconds that it was last given
local AT_LEAST = field(HOLD, 'd', 0) -- milliseconds from its grant for which the name stays taken, also if it
                                 -- is released before; 0: no longer than it lives
local MAX_HELD = field(HOLD, 'd', 0) -- milliseconds from its grant beyond which no renewal carries it; 0: none
local WANTED = field(HOLD, 'I4', 0) -- its limit; 0: none
local GROUP = field(HOLD, 'd', 0) -- a number for the names that its token was to hold together; 0: one
local PERMITS = field(HOLD, 'I4', 1) -- for how many it counts by a limit
                                 -- (attach and other_use in ../acquire.lua: what a repeat of the request may change)
local MADE = 31 -- a value
local RELEASED = '\1'           -- begins token and owner of a hold that its client has released before its
                                 -- AT_LEAST was over: so it is of nobody, and ends by itself. Its fence
                                 -- stands for the token, which may release another hold meanwhile
local KNOWN = 'known'           -- equals no attempt, so that nothing is taken back any more
local CONNECTION = '='          -- begins the attempt of a request whose connection is to have the hold.
                                -- The id of its server follows, in so many characters
local SERVER_LENGTH = 16 -- a value
local EACH = '*' -- a value, in place of a token: each hold of the name
local REPORTED_LONGEST = 100 -- a value: bytes of all attempts of a hold; where there are more, it is KNOWN

-- A waiter: its first values are those of the hold that it will have.
local WAITER = format_of('waiter', 2, HOLD)
local MISSES = FENCE             -- how often its turn has come and gone without a claim. holds.grant writes
                                 -- the fence over it, while the record keeps it until the claim
local CLAIM = field(WAITER, 'd')  -- its claim window in milliseconds
local KEEP = field(WAITER, 'd')   -- milliseconds for which it lives on without a parked request
local PLACE = field(WAITER, 'd')  -- the waiter with the least is first. It is SINCE, its arrival, or one further
                                 -- in front (FRONT and PAST in 08-queue.lua): queue.had_hold compares the two
local SERVER = field(WAITER, 's') -- which server has its request parked; '': it is away
local REENTERS = field(WAITER, 'B', 0) -- 1: the holds of its owner let it in
local LEASE_UNTIL = WAITER.last + 1  -- not in the record, but behind that of the inline head: its server lives
                                 -- while now < LEASE_UNTIL
-- A parked waiter has this many turns, each an equal part of its claim window. Its server gets a message in each,
-- so that a lost message costs one turn only.
local TURNS = 2 -- a value

-- A hold with the defaults of all that follows its TTL.
local function hold_of(token, owner, mode, attempt, meta, fence, since, expires, ttl)
    return {HOLD.mark, token, owner, mode, attempt, meta, fence, since, expires, ttl,
            unpack(HOLD.defaults, AT_LEAST, HOLD.last)}
end

-- A waiter for such a hold, with the defaults of all that is not said here.
local function waiter_of(hold, since, place, claim_ms, keep_ms, server)
    local waiter = {unpack(hold, 1, HOLD.last)}
    for i = CLAIM, WAITER.last do
        waiter[i] = WAITER.defaults[i]
    end
    waiter[1], waiter[MISSES], waiter[SINCE], waiter[EXPIRES] = WAITER.mark, 0, since, 0
    waiter[PLACE], waiter[CLAIM], waiter[KEEP], waiter[SERVER] = place, claim_ms, keep_ms, server
    return waiter
end

-- A server's standing with a name, in the hash `:servers` by id. The array has the id in place of the
-- version's byte.
local STANDING = format_of('server', 1)
local ID = 1 -- a value
local UNTIL = field(STANDING, 'd')    -- it lives while now < UNTIL
local SUSPECT = field(STANDING, 'B')  -- 1: one of its waiters had its turn and was not there, so the
                                     -- others of this name are passed over until it shows up
local WATCHING = field(STANDING, 'B') -- 1: it wants to hear of every new version
local HEAD = STANDING.last + 1       -- not stored: the first in its queue {token, place}, false: none,
                                     -- nil: unknown

-- The end of a hold, kept for a repeated release: see 06-holds.lua.
local ENDED = format_of('end', 1)
local ENDED_FENCE = field(ENDED, 'd') -- 0: it was cancelled as a waiter; NOTHING: the token had nothing
local ENDED_AT = field(ENDED, 'd')
local ENDED_HELD = field(ENDED, 'd')  -- milliseconds
local ENDED_HOLDS = field(ENDED, 'd') -- how many holds its owner had left
local NOTHING = -1

-- So many holds or waiters are read or removed at once. Lua could unpack more onto its stack.
local BATCH = 1000 -- a value
