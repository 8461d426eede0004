-- Who may join the holds of a name, and who is next.

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
    state[VERSION] = math.max(state[VERSION] + 1, now)
    hold[FENCE] = state[VERSION]
    hold[SINCE] = now
    hold[EXPIRES] = now + ms * 1000
    if hold[MODE] == 'shared' then
        state[LIMIT] = limit
    end
    add(state, hold)
end

local function queue_keys()
    return key .. ':queue', key .. ':waiters'
end

local function leave(state, token)
    local queue, waiters = queue_keys()
    call('hdel', waiters, token)
    if call('zrem', queue, token) == 0 then
        return false
    end
    state[WAITERS] = state[WAITERS] - 1
    return true
end

-- Puts a waiter at the end of the queue, or renews the lease of one that is in it.
local function wait(state, waiter)
    local queue, waiters = queue_keys()
    if state[WAITERS] == 0 then -- those of a main key that was lost are not counted
        need_memory()
        call('unlink', queue, waiters)
    end
    local arrival = math.max(state[ARRIVAL] + 1, now)
    if call('zadd', queue, 'nx', digits(arrival), waiter[TOKEN]) == 1 then
        state[ARRIVAL] = arrival
        state[WAITERS] = state[WAITERS] + 1
    end
    call('hset', waiters, waiter[TOKEN], struct.pack(WAITER, unpack(waiter, 1, CLAIM)))
    local kept = digits((waiter[EXPIRES] + retention) / 1000 + 1)
    call('pexpireat', queue, kept)
    call('pexpireat', waiters, kept)
end

-- Grants to the head of the queue for as long as the holds admit it, for its claim window only;
-- waiters whose lease has ended leave. A run of shared waiters is granted together, and a waiting
-- exclusive one blocks the shared ones behind it, so that writers do not starve.
local function hand_over(state)
    while state[WAITERS] > 0 do
        local queue, waiters = queue_keys()
        local token = call('zrange', queue, 0, 0)[1]
        local packed = token and call('hget', waiters, token)
        local waiter = packed and {struct.unpack(WAITER, packed)}
        if not token then
            state[WAITERS] = 0
        elseif not waiter or waiter[EXPIRES] <= now then
            leave(state, token)
        elseif admits(state, waiter[OWNER], waiter[MODE], waiter[WANTED]) then
            leave(state, token)
            grant(state, waiter, waiter[WANTED], waiter[CLAIM])
        else
            return
        end
    end
end

-- The state of the name as of now: what has expired is gone, and whom that lets in is granted.
-- Also says whether that changed anything that must be saved.
local function open()
    local state = load()
    local changed = expire(state)
    if state[WAITERS] > 0 then
        hand_over(state)
        changed = true
    end
    return state, changed
end

-- What others may see of a name.
local function view(state, token)
    local holders = first(state, 10)
    for i, hold in ipairs(holders) do
        holders[i] = {hold[OWNER], hold[MODE], hold[FENCE],
                      math.floor((hold[EXPIRES] - now) / 1000),
                      math.floor((now - hold[SINCE]) / 1000), hold[META]}
    end
    local last = {}
    if state[LAST_FENCE] > 0 then
        last = {state[LAST_FENCE], state[LAST_REASON], math.floor((now - state[LAST_AT]) / 1000)}
    end
    return {state[VERSION], state[COUNT], state[LIMIT], state[WAITERS],
            token ~= '' and find(state, token) and 1 or 0, last, holders}
end

-- What the owner of a hold gets told.
local function told(state, status, hold)
    return {status, hold[FENCE], math.floor((hold[EXPIRES] - now) / 1000),
            owned(state, hold[OWNER]), state[VERSION], hold[OWNER], hold[MODE],
            hold[MODE] == 'shared' and state[LIMIT] or 0}
end
