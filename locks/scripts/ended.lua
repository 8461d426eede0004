-- Ended: looks after names of which a hold may have expired, since nobody else need ask for them.
--
-- KEYS  1 the first of the names' main keys
-- ARGV  2... all of them
-- Returns for each in how many ms its next hold ends, -1 where there is none.
local ends = {}
local AGAIN_MS = 1000 -- of a name that is on its way to another node of a Cluster
local BEGINNING = '<dI4I4I4I4I4I4I4d' -- of a state, to NEXT

local function next_end(name)
    local record = redis.pcall('get', name)
    local state = type(record) == 'string' and {struct.unpack(BEGINNING, record)}
    if is_clustered and not (state and state[NEXT] > now) and is_moving(name) then
        return AGAIN_MS
    end
    if type(record) == 'table' then
        error(record.err, 0)
    end
    if state and state[COUNT] > 0 and state[NEXT] <= now then
        key = name
        state = open()
        close(state, even_if_full)
    end
    return state and state[COUNT] > 0 and math.max(math.floor((state[NEXT] - now + 999) / 1000), 0)
end

for i = 2, #ARGV do
    ends[i - 1] = try(ARGV[i], next_end, ARGV[i]) or -1
end
return failed or answer(ends)
