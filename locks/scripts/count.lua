-- Census: how many holds there are, a part of them at a time, by SCAN. Changes nothing.
--
-- ARGV  2 SCAN cursor to go on from, 3 pattern of the main keys, 4 how many keys to look at
-- Returns {cursor ('0' at the end), how many holds were found}.
local cursor, budget, holds = ARGV[2], tonumber(ARGV[4]), 0
local AT_ONCE = 100
local COUNT_AT = 9 -- where a packed state has its COUNT and its NEXT
local NEXT_AT = 37

-- Of a crowd some have ended, whom no operation has looked at since.
local function live_of_crowd(name, count)
    key = name
    return crowd().next_end() and count - crowd().overdue(count) or 0 -- without one, a lone hold has ended
end

local function live(name)
    local record = call('get', name)
    if not record then
        return 0
    end
    local count = struct.unpack('<I4', record, COUNT_AT)
    if count == 0 or now < struct.unpack('<d', record, NEXT_AT) or is_moving(name) then
        return count
    end
    return live_of_crowd(name, count)
end

repeat
    local reply = call('scan', cursor, 'match', ARGV[3], 'count', AT_ONCE)
    cursor, budget = reply[1], budget - AT_ONCE
    for _, name in ipairs(reply[2]) do
        holds = holds + (try(name, live, name) or 0)
    end
until cursor == '0' or budget <= 0
return failed or answer({cursor, holds})
