-- The front. If all waiters of a lone hold are parked at one server, the first waiter is in the main
-- key, with the lease of its server, and the name has no other server. A waiter that was alone stays
-- there until it claims. The other waiters are in the keys of the queue. If all of them are, the front
-- is vacant: its TOKEN is ''. The state counts all of them. None of them re-enters, since it might be granted
-- with the front otherwise.
--
-- These functions do the same as those of the queue (7-queue.lua), with fewer calls of Redis. In any
-- other case the front lines up: it moves into the queue, and the queue goes on.

-- How many wait behind the front, in the keys of the queue.
function front.behind(state)
    return max(state[WAITERS] - (state.front[TOKEN] ~= '' and 1 or 0), 0)
end

-- Whether the front is as the call has found it: it waits for the lone hold, or has been granted that
-- and is to claim it.
function front.is_calm(state)
    return state.front and state[ONLY] and now < state.front[VOUCHED]
end

-- Moves the front into the keys of the queue, and its server into the key of the servers. Anything else
-- in those keys is left of a main key that was lost.
function front.line_up(state)
    local first = state.front
    local token, id = first[TOKEN], first[SERVER]
    local waiters, line = waiters_key(), line_key(id)
    call('unlink', servers_key(), ends_key(), entrants_key(), line_key('absent'), line_key('missed'))
    if front.behind(state) == 0 then
        call('unlink', waiters, line)
    end
    local kept = digits(state[QUEUE_KEPT] / 1000 + 1)
    call('hset', servers_key(), id, write(STANDING, {STANDING.mark, first[VOUCHED], 0, 0}))
    call('pexpireat', servers_key(), kept)
    if token ~= '' then
        call('hset', waiters, token, write(WAITER, first))
    end
    call('pexpireat', waiters, kept)
    if token ~= '' and state[WAITERS] > 0 then
        call('zadd', line, digits(first[PLACE]), token)
    end
    call('pexpireat', line, kept)
    state.front = false
end

function front.nobody(server, vouched)
    local nobody = waiter_of('', '', '', '', '', 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, server, 0)
    nobody[VOUCHED] = vouched
    return nobody
end

-- The front has gone. If nobody waits, the name has no server any more.
function front.vacate(state)
    if state[WAITERS] == 0 then
        state.front, state[SERVERS] = false, 0
    else
        state.front = front.nobody(state.front[SERVER], state.front[VOUCHED])
    end
end

-- The first waiter in the line of this server; nil if there is none.
function front.first_behind(server)
    local head = call('zrange', line_key(server), 0, 0)[1]
    local packed = head and call('hget', waiters_key(), head)
    return packed and read(WAITER, packed, 1) or nil
end

function front.take_out(server, token)
    call('zrem', line_key(server), token)
    call('hdel', waiters_key(), token)
end

-- Whether the lone hold admits this waiter, so that it is to be granted at once, or at the end of a
-- quarantine. The front, and the first in the queue behind a vacant one, wait for the end of the hold.
function front.goes_with_hold(state, waiter)
    return holds.admits_waiter(state, waiter)
end

-- Makes the keys of the queue live long enough, and a little longer, so that not every waiter moves
-- their expiries. Returns until when they live.
function front.kept_for(lease_ms, kept)
    local least_kept = now + max(2 * lease_ms * 1000 + KEPT_LEAST, retention)
    return least_kept <= kept and kept or least_kept + retention / 10
end

-- Returns whether the expiries have to be moved now.
function front.keep_queue(state, lease_ms)
    local kept = state[QUEUE_KEPT]
    state[QUEUE_KEPT] = front.kept_for(lease_ms, kept)
    return state[QUEUE_KEPT] > kept
end

-- Writes a new waiter into the keys of the queue. Keys that may be new get their expiry right behind the
-- write that may have made them, since the call may be cut off. Returns false if the token waits
-- already.
function front.put_behind(state, waiter, are_new)
    local kept = are_new and digits(state[QUEUE_KEPT] / 1000 + 1)
    local waiters, line = waiters_key(), line_key(waiter[SERVER])
    if call('hsetnx', waiters, waiter[TOKEN], write(WAITER, waiter)) == 0 then
        return false
    end
    if kept then
        call('pexpireat', waiters, kept)
    end
    call('zadd', line, digits(waiter[PLACE]), waiter[TOKEN])
    if kept then
        call('pexpireat', line, kept)
    end
    state[WAITERS], state[ARRIVAL] = state[WAITERS] + 1, waiter[PLACE]
    return true
end

-- The first waiter of a lone hold.
function front.wait_first(state, waiter, lease_ms)
    stay_put()
    front.keep_queue(state, lease_ms)
    state.front = waiter
    waiter[VOUCHED] = now + lease_ms * 1000
    state[WAITERS], state[SERVERS], state[ARRIVAL] = 1, 1, waiter[PLACE]
end

-- The front is vacant. The first in the queue moves there.
function front.move_up(state, one)
    local vacant = state.front
    if one then
        front.take_out(vacant[SERVER], one[TOKEN])
        one[VOUCHED] = vacant[VOUCHED]
        state.front = one
    end
end

-- One more waiter at the server where all wait. It fills a vacant front from the queue. Returns false if
-- this is no simple case.
function front.wait_behind(state, waiter, lease_ms)
    local first = state.front
    local is_vacant, one = first[TOKEN] == '', nil
    if is_vacant then
        one = front.first_behind(first[SERVER])
    elseif front.behind(state) == 0 then
        call('unlink', waiters_key(), line_key(first[SERVER])) -- what is left of a lost main key
    end
    local are_new = front.keep_queue(state, lease_ms) or not one
    if not front.put_behind(state, waiter, are_new) then
        return false
    end
    first[VOUCHED] = max(first[VOUCHED], now + lease_ms * 1000)
    if is_vacant then
        front.move_up(state, one)
    end
    return true
end

-- A new waiter that the lone hold does not admit. Returns false if this is no simple case.
function front.wait(state, waiter, lease_ms)
    local hold, first = state[ONLY], state.front
    local is_simple = hold and waiter[REENTERS] == 0 and state[UNCLAIMED] == 0 and
                      (state[EXCLUSIVES] == 1 or waiter[MODE] == 'exclusive')
    if is_simple and state[WAITERS] + state[SERVERS] == 0 then
        front.wait_first(state, waiter, lease_ms)
        return true
    end
    return is_simple and first and first[SERVER] == waiter[SERVER] and front.is_calm(state) and
           front.wait_behind(state, waiter, lease_ms)
end

-- A new waiter behind others at several servers, none of whom can be granted. If they are at one server
-- by now, the first becomes the front. Returns false if this is no simple case.
function front.wait_among(state, waiter, lease_ms)
    local all, server = servers.of(state), servers.find(state, waiter[SERVER])
    if not server then
        return false
    end
    local one
    if #all == 1 and server[WATCHING] == 0 and state[AWAY] + state[UNCLAIMED] == 0 and state[ENTERING] == '' and
       not queue.has_entrants(state) then
        one = front.first_behind(server[ID])
    end
    local is_only = one and not front.goes_with_hold(state, one)
    local is_moved = front.keep_queue(state, lease_ms)
    if not front.put_behind(state, waiter, is_moved or not one) then
        return false
    end
    server[UNTIL] = max(server[UNTIL], now + lease_ms * 1000)
    if is_only then
        call('unlink', servers_key())
        state.front = front.nobody(server[ID], server[UNTIL])
        front.move_up(state, one)
        return true
    end
    servers.write(server)
    if is_moved then
        servers.keep_until(state, 0, servers_key())
    end
    return true
end

-- Grants to the first waiter, whose server has called: the grant counts as claimed, see
-- queue.claims_at_once.
function front.grant_claimed(state, waiter)
    state[WAITERS] = state[WAITERS] - 1
    if waiter ~= state.front then
        front.take_out(waiter[SERVER], waiter[TOKEN])
    end
    front.vacate(state)
    state.asks, state.claimed = nil, waiter
    holds.grant(state, waiter, waiter[TTL])
    state[TICK] = min(state[TICK], waiter[EXPIRES]) -- the server plans that by the reply
end

-- Grants to the only waiter, which stays in front until it claims.
function front.grant_unclaimed(state, first)
    local ms = ceil(first[CLAIM] / TURNS)
    local hold = {unpack(first, 1, HOLD.last)}
    state[WAITERS], hold[ATTEMPT] = 0, ''
    holds.grant(state, hold, ms)
    state[TICK] = hold[EXPIRES]
    servers.expect(state, {first[SERVER]}, ms, 'g', first[ATTEMPT], first[TOKEN], digits(ms))
end

-- Whether the first of these waiters may be granted without a look at the others. `asks`: its server has called.
function front.goes_alone(mode, waiters, tick, asks)
    return mode == 'exclusive' and (waiters == 1 or asks and now < tick)
end

-- The lone hold has ended. Hands over to an exclusive waiter. Returns false if this is no simple case.
function front.hand_over(state)
    local first = state.front
    if state[COUNT] > 0 or state[WAITERS] == 0 or now >= first[VOUCHED] or not epoch.may_grant() then
        return false
    end
    local waiter, asks = first, state.asks == first[SERVER]
    if first[TOKEN] == '' and asks then
        waiter = front.first_behind(first[SERVER])
    end
    if not waiter or waiter[TOKEN] == '' or
       not front.goes_alone(waiter[MODE], state[WAITERS], state[TICK], asks) then
        return false
    elseif asks then
        front.grant_claimed(state, waiter)
    else
        front.grant_unclaimed(state, first)
    end
    return true
end

-- Stores an awaited name. The keys of its queue live until `kept`.
function front.set(waits, kept, version, expires, ...)
    set(write_held(AWAITED, version, expires, ...) .. waits, max(version, expires, kept - retention))
end

-- The waiter goes for good. If another one is the first then, it must not go with the hold. Returns false if this
-- is no simple case.
function front.leave(state, waiter)
    local first = state.front
    local server, is_first = first[SERVER], waiter == first
    local may_be_first = (is_first or first[TOKEN] == '') and front.behind(state) > 0
    local heads = may_be_first and call('zrange', line_key(server), 0, 1) or {}
    local next_token = is_first and heads[1] or heads[1] == waiter[TOKEN] and heads[2]
    local behind = next_token and queue.find(state, next_token)
    if next_token and (not behind or front.goes_with_hold(state, behind)) then
        return false
    end
    state[WAITERS] = state[WAITERS] - 1
    if not is_first then
        front.take_out(server, waiter[TOKEN])
    end
    if is_first or state[WAITERS] == 0 then
        front.vacate(state)
    end
    return true
end
