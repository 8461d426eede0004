-- Changes: the names that are held, and the free ones that have changed since, by SCAN, a part at a
-- time.
--
-- ARGV  2 SCAN cursor to go on from, 3 pattern of the main keys,
--       4 a free name is told if its version is greater; '' for none,
--       5 how many keys to look at, 6 how many names are enough
-- Returns {cursor ('' at the end), time in us, {{key, version, ms until a hold ends or -1}, ...}}.
local cursor, since, budget, enough = ARGV[2], tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local AT_ONCE = 20
local found = {}

local function visit(candidate)
    local state = try(candidate, look_at, candidate)
    if not state then
        return
    end
    if state[COUNT] > 0 then
        found[#found + 1] = {key, state[VERSION], math.max(math.floor((state[NEXT] - now) / 1000), 0)}
    elseif since and state[VERSION] > since then
        found[#found + 1] = {key, state[VERSION], -1}
    end
end

repeat
    local reply = call('scan', cursor, 'match', ARGV[3], 'count', AT_ONCE)
    cursor, budget = reply[1], budget - AT_ONCE
    for _, candidate in ipairs(reply[2]) do
        visit(candidate)
    end
until cursor == '0' or budget <= 0 or #found >= enough
if failed or undecided then
    return failed or {err = TRY_AGAIN}
end
return answer({cursor ~= '0' and cursor or '', now, found})
