-- The inline head: the only waiter of a single hold. It is in the main key, with the lease of its server, and the
-- name has no other server. It stays there until it claims. It does not re-enter.
--
-- These functions do the same as those of the queue (08-queue.lua), with fewer calls of Redis. In any other case the
-- inline head spills: it moves into the queue, and the queue goes on. So does that of release 0.2: others may be
-- behind it, in the keys of the queue, or all of them; then its TOKEN is ''.

function inline.is_alone(state)
    return state.inline and state[WAITERS] < 2 and state.inline[TOKEN] ~= ''
end

-- Whether the inline head is as the call has found it: it waits for the single hold, or has been granted that
-- and is to claim it.
function inline.is_calm(state)
    return inline.is_alone(state) and state[SINGLE] and now < state.inline[LEASE_UNTIL]
end

-- Moves the inline head into the keys of the queue, and its server into the key of the servers. Anything else
-- in those keys is left of a main key that was lost.
function inline.spill(state)
    local first = state.inline
    local token, id = first[TOKEN], first[SERVER]
    local waiters, line = waiters_key(), line_key(id)
    call('unlink', servers_key(), ends_key(), entrants_key(), line_key('absent'), line_key('missed'))
    if inline.is_alone(state) then
        call('unlink', waiters, line)
    end
    local kept = digits(state[QUEUE_KEPT] / 1000 + 1)
    call('hset', servers_key(), id, write(STANDING, {STANDING.mark, first[LEASE_UNTIL], 0, 0}))
    call('pexpireat', servers_key(), kept)
    if token ~= '' then
        call('hset', waiters, token, write(WAITER, first))
    end
    call('pexpireat', waiters, kept)
    if token ~= '' and state[WAITERS] > 0 then
        call('zadd', line, digits(first[PLACE]), token)
    end
    call('pexpireat', line, kept)
    state.inline = false
end

-- The inline head has gone, and the name has no server any more.
function inline.vacate(state)
    state.inline, state[SERVERS] = false, 0
end

-- A new waiter. Returns whether it is the inline head now.
function inline.wait(state, waiter, lease_ms)
    local is_first = state[SINGLE] and waiter[REENTERS] == 0 and
                     state[WAITERS] + state[SERVERS] + state[UNCLAIMED] == 0 and
                     (state[EXCLUSIVES] == 1 or waiter[MODE] == 'exclusive')
    if is_first then
        stay_put()
        state[QUEUE_KEPT] = servers.kept_for(lease_ms)
        waiter[LEASE_UNTIL] = now + lease_ms * 1000
        state.inline, state[WAITERS], state[SERVERS] = waiter, 1, 1
    end
    return is_first
end

-- The single hold has ended. Hands over to an exclusive waiter. If its server has called, the grant counts as
-- claimed: see queue.claims_at_once. Else the waiter stays until it claims. Returns false if this is no
-- simple case.
function inline.hand_over(state)
    local first = state.inline
    if state[COUNT] > 0 or now >= first[LEASE_UNTIL] or first[MODE] ~= 'exclusive' or not epoch.may_grant() then
        return false
    end
    state[WAITERS] = 0
    if state.asks == first[SERVER] then
        inline.vacate(state)
        state.asks, state.claimed = nil, first
        holds.grant(state, first, first[TTL])
        return true
    end
    local ms, hold = ceil(first[CLAIM] / TURNS), {unpack(first, 1, HOLD.last)}
    hold[ATTEMPT] = ''
    holds.grant(state, hold, ms)
    state[TICK] = hold[EXPIRES]
    servers.expect(state, {first[SERVER]}, ms, 'g', first[ATTEMPT], first[TOKEN], digits(ms))
    return true
end

-- Stores an awaited name. The keys of its queue live until `kept`.
function inline.set(waits, kept, version, expires, ...)
    set(write_held(AWAITED, version, expires, ...) .. waits, max(version, expires, kept - retention))
end
