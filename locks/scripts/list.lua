-- List: names that are held, a page at a time, by SCAN.
--
-- ARGV  2 SCAN cursor to go on from, '' for none (only the keys below), 3 pattern of the main keys,
--       4 at most so many names, 5 how many keys to look at,
--       6... keys that did not fit the page before
-- Returns {cursor ('' at the end), keys that did not fit, {{key, view}, ...}}.
--
-- SCAN can only be resumed where it stopped, which need not be where the page is full. So a page
-- that overflows hands the rest back to the caller, and it comes first on the next page: no name
-- that is held all the while is missed.
local cursor, pattern, limit, budget = ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local page, rest = {}, {}

local function visit(candidate)
    if #page == limit then
        rest[#rest + 1] = candidate
        return
    end
    key = candidate
    local state, changed = open()
    if changed then
        save_even_if_full(state)
    end
    if state[COUNT] > 0 then
        page[#page + 1] = {key, view(state, '')}
    end
end

for i = 6, #ARGV do
    visit(ARGV[i])
end
while cursor ~= '' and #page < limit and budget > 0 do
    local count = math.max(limit - #page, 10)
    local reply = call('scan', cursor, 'match', pattern, 'count', count)
    budget = budget - count
    cursor = reply[1] ~= '0' and reply[1] or ''
    for _, candidate in ipairs(reply[2]) do
        visit(candidate)
    end
end
return {cursor, rest, page}
