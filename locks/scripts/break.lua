-- Break: ends every hold of a name, whoever has it, or the one with a fence, and hands over. If every hold
-- is to end, what cannot be read is cleared.
--
-- ARGV  2 the fence, or '' for every hold
--       3 who breaks it, from where and why, as the reason has it (see BROKEN): the principal, the client's
--         address and the text, with a byte 31 between
-- Returns {holds ended, version, the first of them}; where the name was cleared, {0, version, '', 1}.

local LATEST_AHEAD = 86400000000 -- of this clock, that a number can be in a record that is damaged

local function end_these(state, gone, reason)
    holds.retire(state, gone, reason, false)
    if state.unclaimed then -- whose clients know of no hold
        queue.put_all_back(state, false)
    end
end

-- Ends the first holds, a batch at most.
local function end_some(state, reason)
    local gone = holds.first(state, BATCH)
    if #gone > 0 then
        end_these(state, gone, reason)
    else
        hold_set.give_up(state)
    end
end

-- Ends the hold with this fence, if it is there.
local function break_one(fence, reason)
    local state = open()
    if state.unfinished then
        return unfinished(state)
    end
    local hold, goes_on = holds.find_fence(state, fence)
    if hold then
        local seen = view.holds({hold})
        end_these(state, {hold}, reason)
        hand_over(state)
        return finish(state, {1, state[VERSION], seen})
    end
    return finish(state, goes_on and {'unfinished'} or {0, state[VERSION], ''})
end

-- Of a large hold set in which some are not claimed yet, whose waiters are to be looked after one by one,
-- a batch ends at a time. How many have ended so far is kept where a release has how many holds its
-- owner had left, for which a break has no use; what ends by itself between two batches, or what
-- another call ends, begins the count anew.
local function break_all(reason)
    local last = load()
    local goes_on = last[LAST_REASON] == reason and now - last[LAST_AT] < GENERATION_SPAN
    local so_far = goes_on and last[LAST_HOLDS] or 0
    local state = settle(last)
    if state.unfinished then
        return unfinished(state)
    end
    if so_far == 0 then
        hand_over(state)
    end
    local count, seen = so_far + state[COUNT], view.holds(holds.first(state, HOLDS_SHOWN))
    if state[COUNT] > BATCH and state[UNCLAIMED] == 0 then
        state.streams = holds.first(state, BATCH)
        holds.drop_first(state, state[COUNT] - 1)
    elseif state[COUNT] > BATCH then
        local before = state[COUNT]
        end_some(state, reason)
        state[LAST_HOLDS] = so_far + before - state[COUNT]
        return unfinished(state)
    end
    while state[COUNT] > 0 do
        end_some(state, reason)
    end
    state[LAST_HOLDS] = 0
    hand_over(state)
    return finish(state, {count, state[VERSION], seen})
end

-- The greatest number that may have been issued, by a record that is damaged. Its version stands behind
-- two bytes.
local function last_number(record)
    if type(record) ~= 'string' or #record < 10 then
        return least
    end
    local last = parse('<d', record, 3)
    return last < now + LATEST_AHEAD and last > least and last or least
end

-- Forgets all that is stored under the name but its last number, as far as that can be. Those who
-- wait are known to their servers, which are told to ask again; of one that is not found here, the
-- queue ends by itself, and it asks again at its next heartbeat.
local function clear(reason)
    local record, all = pcall_redis('get', key), pcall_redis('hgetall', servers_key())
    for _, suffix in ipairs({'', ':holds', ':expiries', ':owners', ':released:0', ':released:1', ':servers',
                             ':waiters', ':ends', ':entrants', ':queue:absent', ':queue:missed'}) do
        call('unlink', key .. suffix)
    end
    local state = load()
    state[VERSION] = round_down(max(state[VERSION], last_number(record))) + 1
    state[LAST_AT], state[LAST_REASON] = now, reason
    save(state)
    for i = 1, #all, 2 do
        call('unlink', line_key(all[i]))
        call('publish', servers.inbox(all[i]), servers.message('s'))
    end
    return {0, state[VERSION], '', 1}
end

local function break_name(argv)
    local fence, reason = tonumber(argv[2]), BROKEN .. argv[3]
    if fence then
        return break_one(fence, reason)
    end
    local reply = try(key, break_all, reason)
    if not reply and not failed and not foreign then
        damaged = nil
        reply = answer(clear(reason))
    end
    return failed or foreign and {err = foreign.err} or reply
end

register('break', break_name)
