-- The variables of one call of a function, and the declaration of a function.
--
-- KEYS[1]  the name's main key, PREFIX{NAME}. Its other keys hang off it; they share its hash tag
--          and so its Cluster slot.
-- KEYS[2]  the same key again in a Cluster; a function over all names gets no key there.
-- ARGV[1]  the stamp: five packed numbers, in microseconds, and two texts (locks/quarantine/guard.h has
--          their sources):
--          the retention: how long a free name is remembered;
--          the latest time for this call: if Redis' clock is beyond it, the call was delayed or the
--          clock has jumped. The call then changes nothing, since it would end live holds;
--          the time when grants begin again: before it, Redis may have lost holds that still live;
--          the floor: no number is less, of whatever record. Redis may have lost greater numbers, when a
--          replica was promoted that lacks them, or an old file was read;
--          the level: the time when the clock has caught up with the numbers, if they are ahead of it,
--          because the clock was set back or another clock was ahead. Until then numbers grow at half
--          the clock's speed. So a name that Redis has lost begins above all its old numbers, even
--          before a batond has noticed the loss;
--          the epoch of Redis' data that batond knows, and the hash tag of its key
--          (epoch.lua): see epoch.may_grant.
--
-- In a Cluster the slot of a name may be moving from one node to another, one key after the other.
-- Redis checks only declared keys, so it would run a function whose main key is here and whose other
-- keys are there. It also refuses a declared key that need not exist. So a function checks first: while
-- a slot is moving, Redis answers a call of two keys that exist nowhere with an error, on both nodes.
-- What is in the main key of a moving name can be used and changed, since it is in one place. Anything
-- else is refused before the first write, and batond makes the call again.

local key         -- the main key of the current name
local now         -- Redis' time
local retention, floor
local stamped     -- the time when grants begin again, by the stamp
local opens       -- the same for this name: see settle
local least       -- no new number is less: the time, or as far as numbers are ahead of it
local is_full     -- Redis has no memory for anything new
local spent       -- how many holds and waiters this command has read, ended or moved: see many.lua
local is_clustered
local moving      -- the slot of this name is moving

local expired     -- told beside the reply: holds that have expired (06-holds.lua),
local due         -- what servers have to do by some time (07-servers.lua),
local damaged     -- and names that cannot be read (10-name.lua)
local foreign     -- names that another release has written, with the first error
local failed      -- any other error
local undecided   -- the main key of a moving name does not tell enough

local TRY_AGAIN = 'TRYAGAIN' -- as Redis itself says where declared keys are not in one place
local FULL = 'OOM Redis has no memory for it'

local function is_moving(name)
    return is_clustered and type(pcall_redis('exists', name .. ':none', name .. ':never')) == 'table'
end

-- Refuses the call if the name is moving.
local function stay_put()
    if moving then
        error({err = TRY_AGAIN})
    end
end

-- The key of the name with this suffix.
local function beside(suffix)
    stay_put()
    return key .. suffix
end

-- The epoch of Redis' data (epoch.lua), by the stamp of this call and in Redis.
local epoch = {}

-- The key of the epoch, if its id is not the one that batond knows, or it is gone, or another worker has
-- made a quarantine longer that was over for all that batond knew; else nil. Where it cannot be read, all is
-- as if nothing had changed: in a Cluster its slot may have left, and batond is about to look.
function epoch.find_other()
    local stamp = epoch.stamp
    if byte(stamp, 41) == 0 then
        return nil
    end
    local known, tag = parse('c16s', stamp, 41)
    local prefix = sub(key, 1, find_text(key, '{', 1, true) - 1)
    local other = prefix .. 'epoch' .. (tag ~= '' and ':{' .. tag .. '}' or '')
    local found = pcall_redis('hget', other, 'id')
    if found == known and stamped > 0 and (tonumber(call('hget', other, 'until')) or 0) > now then
        return other
    end
    return type(found) ~= 'table' and found ~= known and other or nil
end

-- Nothing is granted as long as the other epoch says, and before batond has looked, which it does every
-- second.
function epoch.close(other)
    local found = call('hmget', other, 'until', 'reason')
    stamped = max(now + 1000000, tonumber(found[1]) or 0)
    opens, epoch.reason = max(opens, stamped), found[2] or 'epoch'
end

-- Whether anything may be granted now. Redis may have lost its holds since batond last looked. The epoch
-- is read once a call, so ask this last.
function epoch.may_grant()
    if now >= opens and not epoch.was_read then
        local other = epoch.find_other()
        epoch.was_read = true
        if other then
            epoch.close(other)
        end
    end
    return now >= opens
end

-- The reply to a request that would be granted if may_grant did not say no.
function epoch.refusal()
    return {'quarantined', ceil((opens - now) / 1000), epoch.reason}
end

-- Begins a command: reads the clock and the stamp. Returns an error if the command came too late, else nil.
local function begin(stamp, has_stamp)
    if not call then
        take_globals()
    end
    epoch.stamp, epoch.was_read, epoch.reason, spent = stamp, false, 'clock', 0
    local time = call('time')
    now = time[1] * 1000000 + time[2]
    if not has_stamp then
        return nil
    end
    local latest, level
    retention, latest, stamped, floor, level = parse('<ddddd', stamp)
    if now > latest then
        return {err = print_text('LATE %d', now)}
    end
    least = level > now and round_down((now + level) / 2) or now
    return nil
end

-- Begins a call of this command, for this name; nil: for all.
local function begin_call(name, in_cluster)
    key, is_clustered, opens = name, in_cluster, stamped
    expired, due, damaged, foreign, failed, undecided = nil, nil, nil, nil, nil, false
    moving = in_cluster and name and is_moving(name)
end

-- The kinds of functions. A function without a kind only keeps, changes or ends what is there, so a full
-- Redis runs it, too.
local KIND = {
    NEEDS_MEMORY = 1,    -- may store something new. A full Redis refuses it; then batond calls it by
                         -- another name, which sets `is_full`
    FAILS_WHEN_FULL = 2, -- shows whether Redis is full, and what its user may do. It does without `begin`
    UNSTAMPED = 3,       -- gets no stamp
    READS = 4,           -- changes nothing, so that Redis runs it even while it takes no writes
    READS_UNSTAMPED = 5,
    GATHERS = 6,         -- makes several calls. A full Redis refuses it; then batond makes each alone
    ALONE = 7,           -- looks at many names, so it is none of those several calls
}

local gathered = {} -- what may be called with others in one command: see many.lua

-- Declares a function. `run` gets ARGV and KEYS, and returns the reply.
local function register(name, run, kind)
    local has_stamp = kind ~= KIND.UNSTAMPED and kind ~= KIND.READS_UNSTAMPED
    gathered[name] = (not kind or kind == KIND.NEEDS_MEMORY) and run or nil
    local function add(full_name, full, flags)
        local function callback(keys, argv)
            is_full = full
            local refusal = begin(argv[1], has_stamp)
            if refusal then
                return refusal
            end
            begin_call(keys[1], #keys ~= 1)
            return run(argv, keys)
        end
        local function bare_callback(keys)
            take_globals()
            return run(keys)
        end
        redis.register_function{function_name = LIBRARY .. '_' .. full_name, flags = flags,
                                callback = kind == KIND.FAILS_WHEN_FULL and bare_callback or callback}
    end
    if kind == KIND.NEEDS_MEMORY then
        add(name, false, {'allow-cross-slot-keys'})
        add(name .. '_full', true, {'allow-cross-slot-keys', 'allow-oom'})
    elseif kind == KIND.FAILS_WHEN_FULL or kind == KIND.GATHERS then
        add(name, false, {'allow-cross-slot-keys'})
    elseif kind == KIND.READS or kind == KIND.READS_UNSTAMPED then
        add(name, false, {'allow-cross-slot-keys', 'no-writes'})
    else
        add(name, false, {'allow-cross-slot-keys', 'allow-oom'})
    end
end
