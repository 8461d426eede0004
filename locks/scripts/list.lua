-- List: names that are held, a page at a time, by SCAN.
--
-- ARGV  2 SCAN cursor to go on from, '' for none (only the keys below), 3 pattern of the main keys,
--       4 at most so many names, 5 how many keys to look at,
--       6 only names with a hold of this owner, whatever its realm, '' for any, 7 that is held for so many
--         ms at least: of those names only such holds are told,
--       8... keys that did not fit the page before
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
local LOOK_BYTES = 100 -- for a hold, or a name, that is looked at and not told
local QUEUE_BYTES = 400

-- At most so many keys are looked at before the page is known to be full: what is handed back has
-- to fit a cursor.
local SCANNED_MOST = 20

local function is_full_page(page)
    return #page.names == page.limit or page.shown >= SHOWN_MOST
end

-- Of a name so many holds are looked at for one that fits, those that end soonest first.
local SOUGHT_MOST = 1000

local function fits(hold, page)
    local owner = holds.owner_of(hold)
    return (page.owner == '' or owner == page.owner or sub(owner, -#page.owner - 1) == '\31' .. page.owner) and
           now - hold[SINCE] >= page.held_for
end

-- The first holds that fit.
local function fitting(state, page)
    local all, found = holds.first(state, SOUGHT_MOST), {}
    for _, hold in ipairs(all) do
        if #found < HOLDS_SHOWN and fits(hold, page) then
            found[#found + 1] = hold
        end
    end
    page.shown = page.shown + LOOK_BYTES * #all
    return found
end

local function seen_of(name, page)
    local state, shown = look_at(name), nil
    if not state or state[COUNT] == 0 then
        return nil
    elseif page.is_filtered then
        shown = fitting(state, page)
    end
    return not (shown and #shown == 0) and {state, view.whole(state, '', nil, shown)} or nil
end

local function put_on_page(page, name)
    if is_full_page(page) then
        insert(page.rest, name)
        return
    end
    local found = try(name, seen_of, name, page)
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
    local page = {names = {}, rest = {}, shown = 0, limit = tonumber(argv[4]), owner = argv[6],
                  held_for = argv[7] * 1000}
    page.is_filtered = page.owner ~= '' or page.held_for > 0
    for i = 8, #argv do
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

register('list', list, KIND.ALONE)
