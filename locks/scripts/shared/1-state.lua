-- What Redis keeps of a name, and the clock that every decision uses. The files of this folder
-- stand in front of each script when Baton is built; between this one and the next comes the
-- script's common case, if it has one (../common).
--
-- KEYS[1]  the name's main key, PREFIX{NAME}. Its other keys hang off it; they share its hash tag
--          and so its Cluster slot.
-- KEYS[2]  the same again in a Cluster; a script that looks at all there is gets no key there.
-- ARGV[1]  the stamp, five packed numbers, all in microseconds (locks/quarantine/guard.h says where from):
--          the retention, which is how long a free name is remembered;
--          when this call may run at the latest: where Redis' clock is beyond that, the call was
--          delayed or the clock has jumped, and nothing is changed, or live holds would be ended;
--          when grants begin again: before that there may be holds that Redis has lost;
--          what all numbers are below of which Redis may have lost the name or the last of it: a
--          replica was promoted that lacks it, an old file was read. So no new number is less;
--          the level, when the clock has caught up with the numbers, where these are ahead of it: it
--          has gone back, or another one was ahead. Until then they go on at half its speed, so that
--          they grow with time as ever: a name that Redis has lost begins above all that it had
--          before anybody has noticed, whichever batond asks.
--
-- In a Cluster the name's slot may be on its way from one node to another, one key after the other.
-- Redis would let a script run with the main key here and another one there, for it looks at what is
-- declared alone; and what was declared but need not exist, it would have us wait for. So a script
-- asks first. Where a slot is moving, two keys that are nowhere are an error: the node that it leaves
-- takes them for moved, and the one that it comes to does not answer for two that it lacks. Elsewhere
-- they are just not there. Of a moving name, what is in the main key alone can be used and changed,
-- for that is in one place; all else waits, before anything is written: the call is made again.
--
-- The main key holds one packed record: the state, and where there is just one, the hold, and where
-- just one waits for that, the waiter. In the common case it is all there is, and an operation is
-- TIME, GET, SET. Times are microseconds of Redis time.
--
-- A constant (`local NAME = number` or a quoted format) is put in place of its name when Baton is
-- built: Lua 5.1 would make a variable of each anew at every run, for every function that uses it.

local call = redis.call
local key = KEYS[1]
local retention, latest, stamped, floor, level = struct.unpack('<ddddd', ARGV[1])
local opens = stamped -- of this name: see settle

local time = call('time')
local now = time[1] * 1000000 + time[2]
if now > latest then
    return {err = string.format('LATE %d', now)}
end
local least = math.max(floor, now) -- that a new number is
if level > now then
    least = math.max(floor, math.floor((now + level) / 2))
end

local is_clustered = #KEYS ~= 1
local TRY_AGAIN = 'TRYAGAIN' -- as Redis itself says where declared keys are not in one place
local moving = KEYS[2] and type(redis.pcall('exists', key .. ':none', key .. ':never')) == 'table'

-- A state: an array of these, packed by STATE.
local VERSION = 1      -- the last number issued, be it as a fence or for the end of a hold
local COUNT = 2        -- how many holds there are
local EXCLUSIVES = 3   -- how many of them are exclusive
local LIMIT = 4        -- at most so many shared holds; 0: any number
local WAITERS = 5      -- how many wait (see 5-queue.lua)
local AWAY = 6         -- how many of them have no request that is parked now
local UNCLAIMED = 7    -- how many of the holds were handed over and have not been claimed
local SERVERS = 8      -- how many servers have waiters or watchers (see 4-servers.lua)
local NEXT = 9         -- no hold ends before this time
local KEPT = 10        -- the keys of a crowd (see 2-holds.lua) outlive this time by the retention
local GENERATION = 11  -- the newest generation of released tokens, 0 for none
local ARRIVAL = 12     -- the number of the last arrival in the queue
local TICK = 13        -- each server runs a tick by this time, if it is not past
local QUEUE_KEPT = 14  -- the keys of those who wait live until then
local LAST_FENCE = 15  -- the last end of a hold: its fence, 0 where none has ended
local LAST_AT = 16
local LAST_HELD = 17   -- milliseconds
local LAST_HOLDS = 18  -- how many holds its owner had left
local UPGRADER = 19    -- a token that waits to make its owner's shared hold exclusive, or ''
local LAST_REASON = 20 -- 'released', 'expired' or 'forced'
local LAST_TOKEN = 21  -- '' unless its release may be asked for again
local ONLY = 22        -- the hold, where there is just one; false where there is none or a crowd
local STATE = '<dI4I4I4I4I4I4I4ddddddddddsss'

-- The same in parts, for where most of it is left as it is: the front up to NEXT, then KEPT to
-- QUEUE_KEPT, then what the last end of a hold was. Byte numbers within the record.
local STATE_FRONT = '<dI4I4I4I4I4I4I4d'
local STATE_LAST = '<ddddsss'
local COUNTS_FROM = 21     -- WAITERS, AWAY, UNCLAIMED and SERVERS
local COUNTS_TO = 36
local KEPT_FROM = 45
local QUEUE_KEPT_FROM = 77
local TEXTS_FROM = 117     -- UPGRADER, LAST_REASON, LAST_TOKEN
local GENERATION_FROM = 53
local TICK_FROM = 69
local LAST_FENCE_FROM = 85
local LAST_AT_FROM = 93
local COUNTS_AT_ONE = '\0\0\0\0\0\0\0\0\1\0\0\0' -- behind WAITERS: all wait, at one server

-- A hold, packed by HOLD: first its texts, which acquire is given packed, then its numbers. Of a
-- waiter the first nine fields are the same, packed by WAITER.
local TOKEN = 1
local OWNER = 2
local MODE = 3         -- 'exclusive' or 'shared'
local ATTEMPT = 4      -- the requests that were told of it, with a space between; '' while unclaimed,
                       -- KNOWN: a client is sure to know; the last that is of a CONNECTION has
                       -- the hold; of a waiter: its last request, '' if that has left
local META = 5
local FENCE = 6
local MISSED = 6       -- of a waiter: how often its turn has come and gone without a claim
local SINCE = 7        -- when it was granted; of a waiter: its arrival
local EXPIRES = 8      -- it lives while now < EXPIRES; so does a waiter that is away
local TTL = 9          -- milliseconds that it was last given
local WANTED = 10      -- a waiter's limit
local CLAIM = 11       -- a waiter's claim window in milliseconds
local TURNS = 2        -- parts of it: the server of a parked request is told anew in each, since the
                       -- message may have been lost, and has not been there if it misses them all
local KEEP = 12        -- milliseconds for which a waiter lives on without a parked request
local PLACE = 13       -- the waiter with the least is first; its arrival, or one further in front
local SERVER = 14      -- which server has the waiter's request parked; '': it is away
local HOLD = '<sssssdddd'
local HOLD_TEXTS = '<sssss'
local HOLD_NUMBERS = '<dddd'
local AFTER = 10       -- of a lone hold as it was unpacked: where in the record it ends
local WAITER = '<sssssdddddddds'
local WAITER_REST = '<dddddddds' -- behind the texts, which acquire is given packed
local KNOWN = 'known'  -- equals no attempt, so that nothing is taken back any more
local CONNECTION = '=' -- begins the attempt of a request whose connection is to have the hold
local TOLD_LONGEST = 100 -- bytes of all attempts of a hold; where there are more, it is KNOWN

-- A server's standing, packed by STANDING in the hash `:servers`, by id.
local ID = 1
local UNTIL = 2     -- it lives while now < UNTIL
local SUSPECT = 3   -- 1: one of its waiters had its turn and was not there, so the others of this
                    -- name are passed over until it shows that it is there
local WATCHING = 4  -- 1: it wants to hear of every new version
local STANDING = '<dBB'

-- The front, packed by LONE: where all who wait are parked at one server, and no other has to do with
-- the name, the first of them is in the name's record, with its server's lease. So is one who waited
-- alone and has not claimed yet. The others are in the keys of a queue; where all are, nobody is in
-- front: its TOKEN is ''. The state counts them as ever.
local VOUCHED = 15  -- its server lives while now < VOUCHED; the last of the record, see vouch.lua
local LONE = '<sssssddddddddsd'
local LONE_SERVER_AFTER = 64 -- its texts
local NOBODY_BYTES = 69 -- of its record where nobody is in front, before the server: NULs

-- The keys of those who wait outlive two leases by this, however short the retention is.
local KEPT_LEAST = 60000000

-- The end of a hold that may be asked for again, packed by RELEASE, is remembered for a generation
-- at least: see 2-holds.lua.
local RELEASE = '<dddd'
local NOTHING = -1 -- in place of its fence: the token had nothing
local GENERATION_SPAN = 30000000
