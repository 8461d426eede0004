-- Count: how many holds there are, a part of them at a time, by SCAN. Changes nothing.
--
-- ARGV  2 SCAN cursor to go on from, 3 pattern of the main keys, 4 how many keys to look at
-- Returns {cursor ('0' at the end), how many holds were found}.

local function count_of(name)
    local record = call('get', name)
    if not record then
        return 0
    end
    local held, next_end = read_holds(record)
    if held == 0 or now < next_end or is_moving(name) then
        return held
    end
    -- Of a hold set some have ended, whom no operation has looked at since. Without one, a single hold has.
    key = name
    return hold_set.next_end() and held - hold_set.overdue(held) or 0
end

local function count(argv)
    local cursor, pattern, budget, at_once = argv[2], argv[3], tonumber(argv[4]), 100
    local total = 0
    repeat
        local reply = call('scan', cursor, 'match', pattern, 'count', at_once)
        cursor, budget = reply[1], budget - at_once
        for _, name in ipairs(reply[2]) do
            total = total + (try(name, count_of, name) or 0)
        end
    until cursor == '0' or budget <= 0
    return failed or answer({cursor, total})
end

register('count', count, KIND.READS)
