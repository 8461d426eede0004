-- Ended: looks after names of which a hold may have expired, since nobody else need ask for them.
--
-- KEYS  1 the first of the names' main keys
-- ARGV  2... all of them
-- Returns for each in how many ms its next hold ends, -1 where there is none.
local ends = {}
local AGAIN_MS = 1000 -- of a name that is on its way to another node of a Cluster
local BEGINNING = '<dI4I4I4I4I4I4I4d' -- of a state, to NEXT
local BEGINNING_BYTES = 44

for i = 2, #ARGV do
    local record = redis.pcall('get', ARGV[i]) -- a key that is none of ours must not end it for all
    local is_ours = type(record) == 'string' and #record >= BEGINNING_BYTES
    local state = is_ours and {struct.unpack(BEGINNING, record)}
    local is_away = is_clustered and (not is_ours or state[NEXT] <= now) and is_moving(ARGV[i])
    if not is_away and state and state[COUNT] > 0 and state[NEXT] <= now then
        key = ARGV[i]
        state = open()
        close(state, even_if_full)
    end
    local is_held = not is_away and state and state[COUNT] > 0
    ends[i - 1] = is_away and AGAIN_MS or is_held and math.floor((state[NEXT] - now + 999) / 1000) or -1
end
return answer(ends)
