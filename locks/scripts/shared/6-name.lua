-- How an operation begins and ends, and what its reply says.

-- Whether nothing has become of the front so far: who waits, waits for the hold that was found here,
-- or the only one has that and is to claim it.
local function is_calm(state)
    return state.lone and state[ONLY] and now < state.lone[VOUCHED]
end

-- Until when the last hold of a free name runs by this clock, though it has ended: the clock was
-- ahead then, and is not any more. Who had it counts on it; so nobody else gets the name before.
local function runs_on(state)
    local is_within = state[COUNT] == 0 and state[LAST_REASON] == 'expired' and
                      now < state[LAST_AT] and now >= state[LAST_AT] - state[LAST_HELD] * 1000
    return is_within and state[LAST_AT] or 0
end

-- The state of the name as of now: what has ended is gone. Nobody was let in for it yet. Where more
-- has ended than one script removes, since all else in Redis waits meanwhile, the state is
-- `unfinished`: nobody is let in, and the script ends by `unfinished` or goes on by a tick.
local function settle()
    local state = load()
    expire(state)
    opens = math.max(stamped, runs_on(state))
    if not is_calm(state) and
       (state[WAITERS] > 0 or state[SERVERS] > 0 or state.unclaimed) then
        queue(state).settle()
    end
    return state
end

local function hand_over(state)
    if state.unfinished then
        return
    elseif is_calm(state) then
        state.next = state[WAITERS] > 0 and state.lone or nil
    elseif state[WAITERS] > 0 then
        queue(state).hand_over()
    end
end

local function open()
    local state = settle()
    hand_over(state)
    return state
end

-- Whether the server of the front knows when the hold ends, or is told now.
local function has_tick(state, told)
    if told == state.lone[SERVER] then
        state[TICK] = state[NEXT]
        return true
    end
    return not told and now < state[TICK] and state[TICK] <= state[NEXT]
end

-- Stores what the operation changed, then tells the servers. `write` is redis.call, or
-- even_if_full; `told` the server that plans a tick by the reply. Returns in how many milliseconds
-- something ends next, -1 for never.
local function close(state, write, told)
    local next = -1
    if is_calm(state) and has_tick(state, told) then
        next = math.floor((state[NEXT] - now + 999) / 1000)
    elseif state[SERVERS] > 0 or told then
        next = queue(state).close(told)
    end
    save(state, write)
    if state.servers then
        state.servers.send()
    end
    return next
end

-- The end of a script whose name is unfinished: it is to be run again, behind what else there is.
local function unfinished(state)
    close(state, even_if_full)
    return {'unfinished'}
end

-- For scripts that go through all names: the state of this one as of now; nil where another node of
-- the Cluster has it. Where it is on its way from here or to here, it is shown as far as its main key
-- tells, and nothing of it is changed; if that tells too little, the script is `undecided`.
local undecided = false

local function look_at(name)
    key = name
    if not is_moving(name) then
        local state = open()
        close(state, even_if_full)
        if state.unfinished and state[COUNT] > 0 and not state[ONLY] then
            state[COUNT] = state[COUNT] - crowd().overdue(state[COUNT])
        end
        return state
    end
    local state = type(redis.pcall('get', name)) == 'string' and load()
    if not state or state[COUNT] > 0 and state[NEXT] <= now then
        return nil -- what has ended is noted by the next who may change it
    end
    local is_whole = state[COUNT] == (state[ONLY] and 1 or 0) and
                     (state[WAITERS] == 0 or state.lone and behind_front(state) == 0)
    undecided = undecided or not is_whole
    return is_whole and state or nil
end

-- The waiter of this token, or that of its unclaimed hold, or nil.
local function find_waiter(state, token)
    if state.lone and state.lone[TOKEN] ~= token and
       (behind_front(state) == 0 or not call('hget', key .. ':waiters', token)) then
        return nil
    end
    return state[WAITERS] + state[UNCLAIMED] > 0 and queue(state).find(token) or nil
end

-- An unclaimed hold becomes that of this request: its TTL begins.
local function claim(state, hold, attempt)
    queue(state).forget(hold[TOKEN])
    state[UNCLAIMED] = state[UNCLAIMED] - 1
    hold[ATTEMPT], hold[EXPIRES] = attempt, now + hold[TTL] * 1000
    update(state, hold, even_if_full)
end

-- To which requests but this one the hold was told; nil where this one was not told of it at all.
local function others_told(hold, attempt)
    local attempts = ' ' .. hold[ATTEMPT] .. ' '
    local from, to = string.find(attempts, ' ' .. attempt .. ' ', 1, true)
    return from and string.match(string.sub(attempts, 1, from) .. string.sub(attempts, to + 1),
                                 '^ *(.-) *$')
end

-- The connection that has the hold: the last that asked for it; nil where none has.
local function connection_of(hold)
    return string.match(hold[ATTEMPT], '.*(' .. CONNECTION .. '%x+)')
end

-- From now on a client is sure to know of the hold. A connection that has it keeps it.
local function make_known(hold)
    local connection = connection_of(hold)
    hold[ATTEMPT] = connection and KNOWN .. ' ' .. connection or KNOWN
end

-- What cannot be read of what is stored under names: {key, error, ...}.
local damaged = nil

-- Whether an error tells of that: Redis' own of a key of another type, or one of Lua's, which scripts
-- give for nothing else.
local function is_damage(reason)
    return string.find(reason, 'WRONGTYPE', 1, true) or string.find(reason, '^user_script:') or
           string.find(reason, 'hash value is not', 1, true)
end

-- Runs this for a name, and returns what it does; where what is stored there cannot be read, notes
-- that and returns nil. Any other error ends up in `failed`: the script is to answer it.
local failed = nil

local function try(name, run, ...)
    local is_well, found = pcall(run, ...)
    if is_well then
        return found
    end
    local reason = type(found) == 'table' and found.err or found
    if is_damage(reason) then
        damaged = damaged or {}
        damaged[#damaged + 1], damaged[#damaged + 2] = name, reason
    else
        failed = failed or {err = reason}
    end
    return nil
end

-- What a script returns: its reply, and where there is more to tell, {'beside', reply, what has expired,
-- what is due, what is damaged}.
local function answer(reply)
    return (expired or due or damaged) and {'beside', reply, expired or {}, due or {}, damaged} or reply
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

-- The end of a script whose request has the hold, whatever it was that granted it. It is taken back
-- once all whom it was told have said that it did not reach their clients.
local function tell_hold(state, hold, attempt, write)
    local status = 'claimed'
    if hold[ATTEMPT] == '' then
        claim(state, hold, attempt)
    elseif hold[ATTEMPT] ~= attempt then
        status = 'holding'
        local is_connection = string.sub(attempt, 1, 1) == CONNECTION
        if #hold[ATTEMPT] > TOLD_LONGEST then
            make_known(hold)
        end
        if not others_told(hold, attempt) and
           (is_connection or string.sub(hold[ATTEMPT], 1, #KNOWN) ~= KNOWN) then
            hold[ATTEMPT] = hold[ATTEMPT] .. ' ' .. attempt
        end
        update(state, hold, write)
    end
    close(state, write)
    return answer(told(state, status, hold))
end
