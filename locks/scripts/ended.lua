-- Ended: looks after names of which a hold may have expired, since nobody else need ask for them.
--
-- KEYS  1 the first of the names' main keys
-- ARGV  2... all of them
-- Returns for each in how many ms its next hold ends, -1 where there is none.

local AGAIN_MS = 1000 -- of a name that is on its way to another node of a Cluster

-- The common case: the hold of a plain name has ended. Returns whether that was noted.
local function expire_at_once(record)
    local version, expires, fence, since, _, _, token, owner, mode, _, _, behind = read_held(record, HELD)
    if not version then
        return false
    end
    holds.retire_plain(record, behind, number_of_end(version, expires), fence, since, expires, 'expired',
                       UNRELEASED .. token, owner)
    expired = expired or {}
    expired[#expired + 1] = holds.expiry(fence, expires, since, owner, mode)
    return true
end

local function next_hold_end(name)
    local record = pcall_redis('get', name)
    local held, next_end = 0, 0
    if type(record) == 'string' then
        held, next_end = read_holds(record)
    end
    if is_clustered and next_end <= now and is_moving(name) then
        return AGAIN_MS
    end
    if type(record) == 'table' then
        error(record.err, 0)
    end
    if held > 0 and next_end <= now then
        key = name
        if expire_at_once(record) then
            return nil
        end
        local state = open(read_state(record))
        close(state)
        held, next_end = state[COUNT], state[NEXT]
    end
    return held > 0 and max(ms_until(next_end), 0)
end

local function ended(argv)
    local ends = {}
    for i = 2, #argv do
        ends[i - 1] = try(argv[i], next_hold_end, argv[i]) or -1
    end
    return failed or answer(ends)
end

register('ended', ended, KIND.ALONE)
