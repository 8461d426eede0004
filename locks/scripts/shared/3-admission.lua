-- Who may join the holds of a name.

-- Whether these holds admit another: holds of one owner always go together; otherwise an exclusive
-- hold excludes all, and shared ones admit one another up to the limit, which counts each of them.
local function admits(state, owner, mode, limit)
    local others = state[COUNT] - owned(state, owner)
    if mode == 'exclusive' then
        return others == 0
    end
    local shared = state[COUNT] - state[EXCLUSIVES]
    if shared > 0 and limit ~= state[LIMIT] then
        return false
    end
    -- Where there is an exclusive hold, all holds are of its owner.
    return (state[EXCLUSIVES] == 0 or others == 0) and (limit == 0 or shared < limit)
end

-- Makes a hold that ends after `ms`, and gives it the next number as its fence.
local function grant(state, hold, limit, ms)
    state[VERSION] = math.max(state[VERSION] + 1, least)
    hold[FENCE] = state[VERSION]
    hold[SINCE] = now
    hold[EXPIRES] = now + ms * 1000
    if hold[MODE] == 'shared' then
        state[LIMIT] = limit
    end
    if hold[ATTEMPT] == '' then
        state[UNCLAIMED] = state[UNCLAIMED] + 1
    end
    add(state, hold)
end
