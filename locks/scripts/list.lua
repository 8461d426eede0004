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

-- All else in Redis waits meanwhile, so a page ends early where much is on it: a lock shows up to
-- ten holders, each with up to a kilobyte of meta, and ten who wait, and a queue in keys of its own
-- takes five times as long to look up as a plain lock. Plain locks fit by the thousand.
local SHOWN_MOST = 100000 -- bytes, roughly, or what takes as long as these
local WAITER_BYTES = 100
local QUEUE_BYTES = 400

-- At most so many keys are looked at before the page is known to be full: what is handed back has
-- to fit a cursor.
local SCANNED_MOST = 20

local function is_full_page(page)
    return #page.names == page.limit or page.shown >= SHOWN_MOST
end

local function seen_of(name)
    local state = look_at(name)
    return state and state[COUNT] > 0 and {state, view.whole(state, '')}
end

local function put_on_page(page, name)
    if is_full_page(page) then
        insert(page.rest, name)
        return
    end
    local found = try(name, seen_of, name)
    if not found then
        return
    end
    local state, seen = found[1], found[2]
    insert(page.names, {name, seen})
    page.shown = page.shown + #seen[1] + WAITER_BYTES * #(seen[2] or {}) +
                 (state[WAITERS] > 1 and QUEUE_BYTES or 0)
end

-- The names that are damaged, or that another release has written.
local function unreadable()
    local names = foreign or {}
    for i = 1, #(damaged or {}), 2 do
        insert(names, damaged[i])
    end
    return {unpack(names)}
end

local function list(argv)
    local cursor, pattern, budget = argv[2], argv[3], tonumber(argv[5])
    local page = {names = {}, rest = {}, shown = 0, limit = tonumber(argv[4])}
    for i = 6, #argv do
        put_on_page(page, argv[i])
    end
    while cursor ~= '' and not is_full_page(page) and budget > 0 do
        local at_once = min(max(page.limit - #page.names, 10), SCANNED_MOST)
        local reply = call('scan', cursor, 'match', pattern, 'count', at_once)
        budget = budget - at_once
        cursor = reply[1] ~= '0' and reply[1] or ''
        for _, name in ipairs(reply[2]) do
            put_on_page(page, name)
        end
    end
    if failed or undecided then
        return failed or {err = TRY_AGAIN}
    end
    return answer({cursor, page.rest, page.names, unreadable()})
end

register('list', list)
