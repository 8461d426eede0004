-- The record of a plain name: at most one hold, and at most one who waits for it. Operations that find such
-- a name work on these values alone, and need no state (04-state.lua).

-- Writes a number as digits. Redis would print a floating point number, which takes longer.
local function digits(number)
    return print_text('%d', number)
end

-- How many milliseconds remain until this time, rounded up.
local function ms_until(time)
    return round_down((time - now + 999) / 1000)
end

local function ms_between(from, to)
    return round_down((to - from) / 1000)
end

-- The number that is issued behind this one.
local function next_number(version)
    local number = version + 1
    return number > least and number or least
end

-- The number of an arrival in the queue behind this one. It may be a little ahead of the time.
local function next_arrival(last)
    return max(last + 1, now)
end

-- The number of an end by time.
local function number_of_end(version, at)
    return max(version + 1, at)
end

-- Whether a record may have this as its version, or as the end of a hold. NaN is less than no number.
local function is_version(number)
    return number >= 0 and number < 2 ^ 53
end

-- Other programs may write to the keys. This refuses a record that cannot be of Baton. Lua refuses a record
-- that is too short, and Redis a key of another type: see is_damage.
local function refuse_record()
    error('not a record of Baton')
end

-- The version that a record says, or the floor: Redis may have lost later records of this name. Whoever reads
-- a record goes by this, so that no version falls.
local function version_of(stored)
    return stored > floor and stored or floor
end

-- The version of a name without keys. Such a name has had no event for at least the retention. So the
-- start of the current retention period is greater than all its old numbers, and not greater than any
-- new one: the version never falls and never repeats, though Redis stores nothing. If the clock was
-- ahead once, the floor is its greatest time.
local function free_version()
    return version_of(now - now % retention)
end

-- Such records have the version of STATE, and have not changed since this one. Two bytes, the version and
-- LAYOUT, come first, then VERSION. A held name has EXPIRES, FENCE, SINCE, TTL, LIMIT and the texts of its
-- hold. The past follows, GENERATION to LAST_OWNER. At the end of an awaited name is who waits: WAITERS, TICK,
-- QUEUE_KEPT, and of the inline head (09-inline.lua) SINCE, TTL, CLAIM, KEEP, SERVER, its texts and LEASE_UNTIL.
local PLAIN_SINCE = mark_of(3)
local PAST_TYPES, FREE_TYPES, HELD_NUMBERS = '<ddddddsss', '<BBd', '<BBdddddI4'
local WAIT_NUMBERS = '<I4dddddds'
local FREE_PAST_TYPES, HELD_TYPES = FREE_TYPES .. PAST_TYPES, HELD_NUMBERS .. TEXTS

local HELD_HEAD = '<BBdd' -- to EXPIRES
local WAIT_TYPES = WAIT_NUMBERS .. TEXTS .. 'd'

-- Whether the record of a plain name says all of this hold, or of a waiter. It has WANTED; what else follows TTL must
-- be the default.
local function is_plain(format, hold)
    for i = AT_LEAST, format.last do
        local default = format.defaults[i]
        if default and hold[i] ~= default and i ~= WANTED then
            return false
        end
    end
    return true
end

-- Whether it has an AT_LEAST or a MAX_HELD.
local function has_terms(hold)
    return hold[AT_LEAST] + hold[MAX_HELD] > 0
end

local NO_PAST = '' -- of a name without a record
for _ = 1, 6 * 8 + 3 do
    NO_PAST = NO_PAST .. '\0'
end

-- FREE, HELD or AWAITED, or false if the record is no plain one.
local function plain_layout(packed)
    local mark, layout = byte(packed, 1, 2)
    local is_plain_record = layout and mark >= PLAIN_SINCE and mark <= STATE.mark and layout ~= WHOLE
    if is_plain_record and layout > AWAITED then
        refuse_record()
    end
    return is_plain_record and layout
end

-- The version to the last text of a plain name of this layout that is held, and the position of its past; nil if
-- it is none.
local function read_held(packed, layout)
    if not packed or plain_layout(packed) ~= layout then
        return nil
    end
    local _, _, version, expires, fence, since, ttl, limit, token, owner, mode, attempt, meta, behind =
        parse(HELD_TYPES, packed)
    if not is_version(version) or not is_version(expires) then
        return nil
    end
    return version_of(version), expires, fence, since, ttl, limit, token, owner, mode, attempt, meta, behind
end

local function write_held(layout, version, expires, fence, since, ttl, limit, texts, past)
    return pack(HELD_NUMBERS, STATE.mark, layout, version, expires, fence, since, ttl, limit) .. texts .. past
end

-- The end of the record of an awaited name.
local function write_wait(waiters, tick, kept, since, ttl, claim_ms, keep_ms, server, texts, lease_until)
    return pack(WAIT_NUMBERS, waiters, tick, kept, since, ttl, claim_ms, keep_ms, server) .. texts ..
           pack('<d', lease_until)
end

-- The last hold of a free name may have expired by a clock that was ahead. Its client still counts on
-- it, so nobody else gets the name before this time.
local function runs_until(reason, at, held_ms)
    return reason == 'expired' and now < at and now >= at - held_ms * 1000 and at or 0
end

local function write_free(version, ...)
    return pack(FREE_PAST_TYPES, STATE.mark, FREE, version, ...)
end

-- The version and the past of a plain name that is free and can be granted; nil if it is none. A hold that
-- ended ahead of the clock left a version that is ahead, too.
local function read_free(packed)
    if not packed then
        return free_version(), NO_PAST
    elseif plain_layout(packed) ~= FREE then
        return nil
    end
    local _, _, version, behind = parse(FREE_TYPES, packed)
    if not is_version(version) then
        return nil
    elseif version > now then
        local _, _, _, at, held_ms, _, reason = parse(PAST_TYPES, packed, behind)
        if now < runs_until(reason, at, held_ms) then
            return nil
        end
    end
    return version_of(version), sub(packed, behind)
end

-- Stores the main key. It outlives this time by the retention, rounded up to 10 ms: many keys end together
-- then, and have the same digits.
local last_kept, last_digits

local function set(packed, last)
    local kept_ms = round_down((last + retention) / 10000) * 10 + 10
    if kept_ms ~= last_kept then
        last_kept, last_digits = kept_ms, digits(kept_ms)
    end
    call('set', key, packed, 'pxat', last_digits)
end
