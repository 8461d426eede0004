-- List: names that are held, a page at a time, by SCAN.
--
-- ARGV  2 SCAN cursor to go on from, '' for none (only the keys below), 3 pattern of the main keys,
--       4 at most so many names, 5 how many keys to look at,
--       6... keys that did not fit the page before
-- Returns {cursor ('' at the end), keys that did not fit, {{key, view}, ...}, keys that cannot be read}.
--
-- SCAN can only be resumed where it stopped, which need not be where the page is full. So a page
-- that overflows hands the rest back to the caller, and it comes first on the next page: no name
-- that is held all the while is missed.
local cursor, pattern, limit, budget = ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local page, rest, shown = {}, {}, 0

-- All else in Redis waits meanwhile, so a page ends early where much is on it: a lock shows up to
-- ten holders, each with up to a kilobyte of meta, and ten who wait, and a queue in keys of its own
-- takes five times as long to look up as a plain lock. Plain locks fit by the thousand.
local SHOWN_MOST = 100000 -- bytes, roughly, or what takes as long as these
local HOLDER_BYTES = 100  -- of them without the meta
local WAITER_BYTES = 100
local QUEUE_BYTES = 400

-- At most so many keys are looked at before the page is known to be full: what is handed back has
-- to fit a cursor.
local SCANNED_MOST = 20

local function is_full()
    return #page == limit or shown >= SHOWN_MOST
end

local function seen_of(candidate)
    local state = look_at(candidate)
    return state and state[COUNT] > 0 and {state, whole_view(state, '')}
end

local function visit(candidate)
    if is_full() then
        rest[#rest + 1] = candidate
        return
    end
    local found = try(candidate, seen_of, candidate)
    if found then
        local state, seen = found[1], found[2]
        page[#page + 1] = {key, seen}
        for _, holder in ipairs(seen[7]) do
            shown = shown + HOLDER_BYTES + #holder[6]
        end
        shown = shown + WAITER_BYTES * #(seen[8] or {}) + (state[WAITERS] > 1 and QUEUE_BYTES or 0)
    end
end

for i = 6, #ARGV do
    visit(ARGV[i])
end
while cursor ~= '' and not is_full() and budget > 0 do
    local count = math.min(math.max(limit - #page, 10), SCANNED_MOST)
    local reply = call('scan', cursor, 'match', pattern, 'count', count)
    budget = budget - count
    cursor = reply[1] ~= '0' and reply[1] or ''
    for _, candidate in ipairs(reply[2]) do
        visit(candidate)
    end
end
local left_out = {}
for i = 1, #(damaged or {}), 2 do
    left_out[#left_out + 1] = damaged[i]
end
return failed or undecided and {err = TRY_AGAIN} or answer({cursor, rest, page, left_out})
