-- How an operation on a name begins and ends.

-- The state of the name as of now, without what has ended. Nobody has been granted for it yet. If more
-- has ended than one call removes, the state is `unfinished`: nobody is granted, and the operation ends
-- by `unfinished`, or a tick goes on. `loaded` is the state if the caller has read it.
local function settle(loaded)
    local state = loaded or load()
    if state[WAITERS] + state[SERVERS] > 0 then
        stay_put()
    end
    holds.expire(state)
    opens = stamped
    if state[COUNT] == 0 then
        opens = max(opens, runs_until(state[LAST_REASON], state[LAST_AT], state[LAST_HELD]))
    end
    if not inline.is_calm(state) and (state[WAITERS] > 0 or state[SERVERS] > 0 or state.unclaimed) then
        queue.settle(state)
    end
    return state
end

local function hand_over(state)
    if state.unfinished then
        return
    elseif inline.is_calm(state) then
        state.next_line = state[WAITERS] > 0 and state.inline or nil
    elseif state[WAITERS] > 0 and not (state.inline and inline.hand_over(state)) then
        queue.hand_over(state)
    end
end

local function open(loaded)
    local state = settle(loaded)
    hand_over(state)
    return state
end

-- Whether the server of the inline head knows the end of the hold, or learns it by this reply.
local function has_tick(state, asking)
    if asking == state.inline[SERVER] then
        state[TICK] = state[NEXT]
        return true
    end
    return not asking and now < state[TICK] and state[TICK] <= state[NEXT]
end

-- Stores the changes of the operation, then sends the messages. `asking` is the server that plans a tick
-- by the reply. Returns in how many milliseconds the next end is, -1 for never.
local function close(state, asking)
    local next_ms = -1
    if inline.is_calm(state) and has_tick(state, asking) then
        next_ms = ms_until(state[NEXT])
    elseif state[SERVERS] > 0 or asking then
        next_ms = queue.close(state, asking)
    end
    save(state)
    servers.send(state)
    return next_ms
end

-- The reply of an operation. If there is more to tell, {'beside', reply, expired, due, damaged}.
local function answer(reply)
    return (expired or due or damaged) and {'beside', reply, expired or {}, due or {}, damaged} or reply
end

-- Ends an operation, and returns this reply.
local function finish(state, reply)
    close(state)
    return answer(reply)
end

-- Ends an operation on a name that is unfinished: batond makes the call again, behind other calls.
local function unfinished(state)
    return finish(state, {'unfinished'})
end

-- Ends an operation that would store something new in a full Redis.
local function refuse_full(state)
    close(state)
    return {err = FULL}
end

-- For operations over all names: the state of this name as of now; nil if another node of the Cluster
-- has it. Of a moving name the main key is read, and nothing is changed. If that does not tell enough,
-- the operation is `undecided`.
local function look_at(name)
    key = name
    if not is_moving(name) then
        local state = open()
        close(state)
        if state.unfinished and state[COUNT] > 0 and not state[SINGLE] then
            state[COUNT] = state[COUNT] - hold_set.overdue(state[COUNT])
        end
        return state
    end
    local state = type(pcall_redis('get', name)) == 'string' and load()
    if not state or state[COUNT] > 0 and state[NEXT] <= now then
        return nil -- what has ended is noted by the next who may change it
    end
    local is_whole = state[COUNT] == (state[SINGLE] and 1 or 0) and
                     (state[WAITERS] == 0 or inline.is_alone(state))
    undecided = undecided or not is_whole
    return is_whole and state or nil
end

-- The waiter of this token, or that of its unclaimed hold, or nil.
local function find_waiter(state, token)
    return state[WAITERS] + state[UNCLAIMED] > 0 and queue.find(state, token) or nil
end

-- An unclaimed hold becomes that of this request: its TTL begins, and with it what counts from its grant.
local function claim(state, hold, attempt)
    if has_terms(hold) then
        holds.bound_claimed_terms(hold, queue.find(state, hold[TOKEN]))
    end
    hold[SINCE] = now
    queue.forget(state, hold[TOKEN])
    state[UNCLAIMED] = state[UNCLAIMED] - 1
    hold[ATTEMPT] = attempt
    hold[EXPIRES] = holds.end_of(hold, hold[TTL])
    holds.update(state, hold)
end

-- The other requests that were told of the hold; nil if this request was not told of it. What stands in front of
-- all of them stays (RAISED).
local function others_reported(hold, attempt)
    local attempts = ' ' .. hold[ATTEMPT] .. ' '
    local from, to = find_text(attempts, ' ' .. attempt .. ' ', 1, true)
    return from and match(sub(attempts, 1, from) .. sub(attempts, to + 1), '^ (.-) *$')
end

-- The connection that has the hold of this attempt: the last one that asked for it; nil if none has.
local function connection_of(attempt)
    return find_text(attempt, CONNECTION, 1, true) and match(attempt, '.*(' .. CONNECTION .. '%x+)') or nil
end

-- The attempt of a hold that counts as known to a client. A connection that has it keeps it.
local function known_by(attempt)
    local connection = connection_of(attempt)
    return connection and KNOWN .. ' ' .. connection or KNOWN
end

-- Replies that are asked for most are packed: one text takes less time than a table. The first value is
-- the word that says which reply it is.

-- What a reply about a hold ends with: what is left of its AT_LEAST and of its MAX_HELD, if it has any, and its
-- PERMITS, if they are more than one. batond tells by the length what follows (reply_take_terms in
-- locks/calls/replies.c).
local function more_of(hold)
    if hold[PERMITS] > 1 then
        local at_least, max_held = holds.terms_of(hold)
        return pack('<ddd', at_least, max_held, hold[PERMITS])
    end
    return has_terms(hold) and pack('<dd', holds.terms_of(hold)) or ''
end

-- The reply about a hold to its owner.
local function pack_report(status, fence, ttl_ms, count, version, limit, owner, mode)
    return pack('<sdddddss', status, fence, ttl_ms, count, version, limit, owner, mode)
end

local function report_of(state, status, hold)
    return pack_report(status, hold[FENCE], ms_between(now, hold[EXPIRES]), holds.owned(state, hold[OWNER]),
                       state[VERSION], hold[WANTED], hold[OWNER], hold[MODE]) .. more_of(hold)
end

-- Ends an operation whose request has the hold. batond takes a grant back once all requests that were
-- told of it have failed to reach their clients.
local function report_hold(state, hold, attempt)
    local status = 'claimed'
    if hold[ATTEMPT] == '' then
        claim(state, hold, attempt)
    elseif hold[ATTEMPT] ~= attempt then
        status = 'holding'
        local is_connection = sub(attempt, 1, 1) == CONNECTION
        if #hold[ATTEMPT] > REPORTED_LONGEST then
            hold[ATTEMPT] = known_by(hold[ATTEMPT])
        end
        if not others_reported(hold, attempt) and
           (is_connection or sub(hold[ATTEMPT], 1, #KNOWN) ~= KNOWN) then
            hold[ATTEMPT] = hold[ATTEMPT] .. ' ' .. attempt
        end
        holds.update(state, hold)
    end
    close(state)
    return answer(report_of(state, status, hold))
end

-- Whether an error says that a record cannot be read: Redis' error about a key of another type, or an
-- error of Lua.
local function is_damage(reason)
    return find_text(reason, 'WRONGTYPE', 1, true) or find_text(reason, '^user_function:') or
           find_text(reason, 'hash value is not', 1, true)
end

-- The list as it was when it had `count` entries; nil if it was not there.
local function cut_to(list, count)
    for i = #(list or ''), count + 1, -1 do
        list[i] = nil
    end
    return count > 0 and list or nil
end

-- Runs a function for a name and returns its result. If that fails, what it has told of the name is
-- dropped, since nothing of it is stored. If a record cannot be read, notes that in `damaged`
-- ({key, error, ...}) and returns nil. If another release has written it, notes that in `foreign` ({key,
-- ..., err = the first error}). Any other error goes to `failed`, and the operation answers it.
local function try(name, run, ...)
    local expired_before, due_before = #(expired or ''), #(due or '')
    local is_well, found = pcall(run, ...)
    if is_well then
        return found
    end
    expired, due = cut_to(expired, expired_before), cut_to(due, due_before)
    local reason = type(found) == 'table' and found.err or found
    if is_damage(reason) then
        damaged = damaged or {}
        damaged[#damaged + 1], damaged[#damaged + 2] = name, reason
    elseif match(reason, '^FORMAT ') then
        foreign = foreign or {err = reason}
        foreign[#foreign + 1] = name
    else
        failed = failed or {err = reason}
    end
    return nil
end
