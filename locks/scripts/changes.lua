-- Changes: the names that are held, and those that were freed lately, by SCAN, a part at a time.
--
-- ARGV  2 SCAN cursor to go on from, 3 pattern of the main keys,
--       4 a free name is told if its version is not older than so many ms,
--       5 how many keys to look at, 6 how many names are enough
-- Returns {cursor ('' at the end), time in us, {{key, version, ms until a hold ends or -1}, ...}}.

local function change_of(name, since)
    local state = look_at(name)
    if state and state[COUNT] > 0 then
        return {name, state[VERSION], max(ms_between(now, state[NEXT]), 0)}
    end
    return state and state[VERSION] > since and {name, state[VERSION], -1}
end

local function changes(argv)
    local cursor, pattern, since = argv[2], argv[3], now - argv[4] * 1000
    local budget, enough, at_once = tonumber(argv[5]), tonumber(argv[6]), 20
    local found = {}
    repeat
        local reply = call('scan', cursor, 'match', pattern, 'count', at_once)
        cursor, budget = reply[1], budget - at_once
        for _, name in ipairs(reply[2]) do
            found[#found + 1] = try(name, change_of, name, since) or nil
        end
    until cursor == '0' or budget <= 0 or #found >= enough
    if failed or undecided then
        return failed or {err = TRY_AGAIN}
    end
    return answer({cursor ~= '0' and cursor or '', now, found})
end

register('changes', changes, KIND.ALONE)
