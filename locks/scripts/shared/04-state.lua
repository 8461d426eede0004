-- Reading and writing the main key of a name.

local ENDS = {[''] = true, released = true, expired = true, forced = true}

local function check_record(state, hold)
    local reason = state[LAST_REASON]
    local is_ours = is_version(state[VERSION]) and
                    (ENDS[reason] or sub(reason, 1, #BROKEN) == BROKEN) and
                    (not hold or state[COUNT] == 1 and hold[TOKEN] ~= '' and is_version(hold[EXPIRES]))
    if not is_ours then
        refuse_record()
    end
end

-- The inline head is a waiter, with the time until which its server lives: see 09-inline.lua.
local function read_inline(packed, at)
    local first = read(WAITER, packed, at)
    first[LEASE_UNTIL] = parse('<d', packed, first[LEASE_UNTIL]) -- in place of the end of the record
    return first
end

-- The state of a name, with notes of the current call. The constructor names the notes, so that the
-- table need not grow for each of them.
--   loaded       the record as it was read; false if there was none
--   version      its VERSION, which may be below the floor
--   past         the past as it was read; false once it may have changed
--   hold_packed  the record of the single hold; false once the hold may have changed
--   had_waiters  whether somebody waited as it was read
--   inline       the inline head, or false: see 09-inline.lua
--   next_line    the line of the next waiter, or false: see 08-queue.lua
--   servers      all servers, once they were read
--   outbox       the messages for them
--   asks         the server that asks for a release
--   bounds       of each owner that a hold has entered, what that left of MAX_HELD: see holds.bound_by_entered
local function state_of(packed, past, version, ...)
    return {loaded = packed, version = version, past = past, hold_packed = false, had_waiters = false,
            inline = false, next_line = false, servers = false, outbox = false, asks = false, bounds = false,
            STATE.mark, WHOLE, version, ...}
end

-- A plain name: its record, its past, its version and its hold, or false, and the values of the past.
local function plain_state_of(packed, past, version, limit, hold, ...)
    if not hold then
        return state_of(packed, past, version, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, '', ...)
    end
    local exclusives = hold[MODE] == 'exclusive' and 1 or 0
    return state_of(packed, past, version, 1, exclusives, limit, 0, 0, 0, 0, 0, 0, hold[EXPIRES], 0, 0, 0, '',
                    ...)
end

-- Adds who waits, from this position of the record.
local function read_wait(state, hold, packed, at)
    local waiters, tick, kept, since, ttl, claim_ms, keep_ms, server, token, owner, mode, attempt, meta, lease_until =
        parse(WAIT_TYPES, packed, at)
    local first = waiter_of(hold_of(token, owner, mode, attempt, meta, 0, 0, 0, ttl), since, since, claim_ms, keep_ms,
                            server)
    first[LEASE_UNTIL] = lease_until
    state.inline, state.had_waiters = first, waiters > 0
    state[WAITERS], state[TICK], state[QUEUE_KEPT], state[SERVERS] = waiters, tick, kept, 1
    state[UNCLAIMED] = hold[ATTEMPT] == '' and 1 or 0
end

local function read_plain(packed, layout)
    local hold, limit = false, 0
    local _, version, expires, fence, since, ttl, token, owner, mode, attempt, meta, behind
    if layout == FREE then
        _, _, version, behind = parse(FREE_TYPES, packed)
    else
        _, _, version, expires, fence, since, ttl, limit, token, owner, mode, attempt, meta, behind =
            parse(HELD_TYPES, packed)
        hold = hold_of(token, owner, mode, attempt, meta, fence, since, expires, ttl)
        hold[WANTED] = limit
    end
    local state = plain_state_of(packed, layout ~= AWAITED and sub(packed, behind), version, limit, hold,
                                 parse(PAST_TYPES, packed, behind))
    if layout == AWAITED then
        read_wait(state, hold, packed, state[LAST_OWNER + 1])
    end
    state[SINGLE] = hold -- in place of the position behind the past
    check_record(state, hold)
    return state
end

local function read_whole(packed)
    local state
    if byte(packed) == STATE.mark then
        state = state_of(packed, false, select(3, parse(STATE.types, packed)))
    else
        state = state_of(packed, false, unpack(read(STATE, packed, 1), VERSION, SINGLE))
    end
    local at = state[SINGLE]
    local hold = at <= #packed and read(HOLD, packed, at)
    check_record(state, hold)
    state[SINGLE] = hold
    local behind = hold and hold[HOLD.last + 1]
    state.hold_packed = hold and hold[1] == byte(packed, at) and sub(packed, at, behind - 1)
    if behind and behind <= #packed then
        state.inline = read_inline(packed, behind)
    end
    state.had_waiters = state[WAITERS] > 0
    return state
end

local function read_state(packed)
    local layout = plain_layout(packed)
    local state = layout and read_plain(packed, layout) or read_whole(packed)
    state[VERSION] = version_of(state[VERSION])
    return state
end

-- How many holds a record counts, and the time before which none of them ends.
local function read_holds(packed)
    local layout = plain_layout(packed)
    if layout == FREE then
        return 0, 0
    elseif layout then
        local _, _, _, expires = parse(HELD_HEAD, packed)
        if not is_version(expires) then
            refuse_record()
        end
        return 1, expires
    end
    local head = {read_head(STATE, packed, NEXT)}
    return head[COUNT], head[NEXT]
end

-- The state that a record says; false: there is none.
local function state_by(packed)
    if packed then
        return read_state(packed)
    end
    return plain_state_of(false, NO_PAST, free_version(), 0, false, 0, 0, 0, 0, 0, 0, '', '', '', false)
end

local function load()
    return state_by(call('get', key))
end

-- Whether the record of an awaited name says all of this inline head.
local function is_plain_inline(first)
    return is_plain(WAITER, first) and first[PLACE] == first[SINCE] and
           first[MISSES] + first[EXPIRES] + first[WANTED] == 0
end

-- The layout in which the state is written.
local function layout_of(state)
    local hold, first = state[SINGLE], state.inline
    if hold and not is_plain(HOLD, hold) then
        return WHOLE
    elseif state[COUNT] + state[WAITERS] + state[SERVERS] + state[UNCLAIMED] == (hold and 1 or 0) then
        return hold and HELD or FREE
    end
    local is_awaited = hold and first and is_plain_inline(first) and state[SERVERS] == 1 and
                       state[UNCLAIMED] == (hold[ATTEMPT] == '' and 1 or 0) and state[AWAY] == 0 and
                       state[UPGRADER] == ''
    return is_awaited and AWAITED or WHOLE
end

local function write_plain(state, layout)
    local hold, first = state[SINGLE], state.inline
    if layout == FREE then
        return write_free(state[VERSION], unpack(state, GENERATION, LAST_OWNER))
    end
    local past = state.past or pack(PAST_TYPES, unpack(state, GENERATION, LAST_OWNER))
    local packed = write_held(layout, state[VERSION], hold[EXPIRES], hold[FENCE], hold[SINCE], hold[TTL],
                              hold[WANTED], pack(TEXTS, unpack(hold, TOKEN, META)), past)
    if layout == HELD then
        return packed
    end
    return packed .. write_wait(state[WAITERS], state[TICK], state[QUEUE_KEPT], first[SINCE], first[TTL],
                                first[CLAIM], first[KEEP], first[SERVER],
                                pack(TEXTS, unpack(first, TOKEN, META)), first[LEASE_UNTIL])
end

local function write_state(state)
    local hold, first, layout = state[SINGLE], state.inline, layout_of(state)
    if layout ~= WHOLE then
        return write_plain(state, layout)
    end
    local packed = write(STATE, state)
    if not hold then
        return packed
    end
    local packed_hold = state.hold_packed or write(HOLD, hold)
    return packed .. packed_hold .. (first and write(WAITER, first) .. pack('<d', first[LEASE_UNTIL]) or '')
end

-- The time that the main key outlives by the retention. The version may be ahead of the clock.
local function end_of_state(state)
    local last = now
    if state[SINGLE] then
        last = state[SINGLE][EXPIRES]
    elseif state[COUNT] > 0 then
        last = state[KEPT]
    end
    last = max(last, state[VERSION])
    if state[WAITERS] + state[UNCLAIMED] + state[SERVERS] > 0 then
        return max(last, state[QUEUE_KEPT] - retention)
    end
    return last
end

-- Writes the main key if it has changed.
local function save(state)
    local is_new = state[VERSION] ~= state.version or state[SERVERS] + state[GENERATION] > 0
    if not state.loaded and not is_new then
        return
    end
    local packed = write_state(state)
    if packed ~= state.loaded then
        set(packed, end_of_state(state))
    end
end
