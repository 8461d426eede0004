-- Release: ends the hold of this token and hands over, or takes its waiter out of the queue. A hold
-- that was handed over and not claimed is a waiter's: its client knows of no hold. The name stays taken
-- until the AT_LEAST of the hold is over.
--
-- ARGV  2 token, 3 the server that asks, 4 '1' at a member of a quorum: the token is remembered even if
--       it has nothing here, so that what was sent before and comes late is not granted; else '',
--       5 the attempt of a connection that has ended: nothing is done unless it has the hold, for its
--         client may have come again by another one
-- Returns packed 'released', fence, held_ms, holds, version, owner; {'cancelled', version}; or {'not_held'} and
--         more (see view.not_held). For a repeated release, as long as it is remembered, packed 'repeated',
--         fence, held_ms, holds, version, '', or 'cancelled' again. Three more may follow on 'released': the attempt of a
--         request parked at that server which has got an exclusive hold, with `version` as its fence,
--         the owner, the TTL in ms, and more (see more_of). Or one number: for how many ms the name stays
--         taken.

local function pack_end(status, fence, held_ms, left, version, owner)
    return pack('<sdddds', status, fence, held_ms, left, version, owner)
end

-- The client of a connection has come again by another one.
local function release_connection(state, hold, attempt)
    local others = hold and others_reported(hold, attempt)
    if others then
        hold[ATTEMPT] = others
        holds.update(state, hold)
    end
    return finish(state, {'not_held'})
end

-- The same where the name may stay taken.
local function pack_free(state, status, fence, ...)
    local free_in, report = holds.free_in(state, fence), pack_end(status, fence, ...)
    return free_in > 0 and report .. pack('<d', free_in) or report
end

-- The hold of the next waiter.
local function pack_claimed(attempt, owner, expires)
    return pack('<ssd', attempt, owner, ms_until(expires))
end

local function release_hold(state, hold, server, connection)
    local limit = state[LIMIT]
    holds.release(state, hold, true)
    hold[ATTEMPT] = connection and others_reported(hold, connection) or hold[ATTEMPT]
    holds.stay_taken(state, hold, limit)
    local held, left = state[LAST_HELD], state[LAST_HOLDS]
    state.asks = server
    hand_over(state)
    close(state)
    local reply = pack_free(state, 'released', hold[FENCE], held, left, state[VERSION], hold[OWNER])
    local next_hold = state.claimed
    return answer(next_hold and reply .. pack_claimed(next_hold[ATTEMPT], next_hold[OWNER], next_hold[EXPIRES]) ..
                  more_of(next_hold) or reply)
end

-- The token waits, or has a hold that it has not claimed.
local function cancel(state, hold, waiter, token)
    if waiter then
        local server = waiter[SERVER] ~= '' and servers.find(state, waiter[SERVER])
        if server then
            servers.notify(state, server, 'x', waiter[ATTEMPT])
        end
        queue.remove(state, token, waiter[SERVER], waiter)
    end
    if hold then
        holds.release(state, hold, false)
    end
    holds.remember(state, token, 0, now, 0, 0)
    hand_over(state)
    close(state)
    return answer({'cancelled', state[VERSION]})
end

-- The token has nothing.
local function repeat_release(state, token, is_member)
    local last = holds.find_ended(state, token)
    if not last and is_member then
        holds.remember(state, token, NOTHING, now, 0, 0)
    end
    close(state)
    if not last or last[ENDED_FENCE] == NOTHING then
        return answer(view.not_held(state, token))
    elseif last[ENDED_FENCE] == 0 then
        return answer({'cancelled', state[VERSION]})
    end
    return answer(pack_free(state, 'repeated', last[ENDED_FENCE], last[ENDED_HELD], last[ENDED_HOLDS],
                            state[VERSION], ''))
end

-- The common case: the hold of a plain name. Returns the reply, or nil.
local function release_at_once(record, token, connection)
    local version, expires, fence, since, _, _, own, owner, _, attempt, _, behind = read_held(record, HELD)
    if own ~= token or connection or now >= expires or connection_of(attempt) then
        return nil
    end
    version = next_number(version)
    local held_ms = holds.retire_plain(record, behind, version, fence, since, now, 'released', token,
                                        owner)
    return pack_end('released', fence, held_ms, 0, version, owner)
end

-- The common case of a hand-over: the first waiter of an awaited name gets the hold, by this reply if its server
-- asks. Returns the reply, or nil.
local function hand_over_at_once(record, token, asks, connection)
    local version, expires, fence, since, _, _, own, owner, _, attempt, _, behind = read_held(record, AWAITED)
    if own ~= token or connection or moving or now >= expires or attempt == '' or connection_of(attempt) then
        return nil
    end
    local generation, arrival, last_fence, last_at, last_held, last_left, _, last_token, _, at =
        parse(PAST_TYPES, record, behind)
    local waiters, _, kept, waits_since, ttl, claim_ms, keep_ms, server, next_token, next_owner, mode, next_attempt,
          meta, lease_until = parse(WAIT_TYPES, record, at)
    if waiters ~= 1 or next_token == '' or now >= lease_until or mode ~= 'exclusive' or not epoch.may_grant() then
        return nil
    end
    local past = pack(PAST_TYPES, holds.past_with(fence, since, now, 'released', token, owner, generation, arrival,
                                                  last_fence, last_at, last_held, last_left, '', last_token))
    version = next_number(next_number(version)) -- of the end, and of the grant
    local report = pack_end('released', fence, ms_between(since, now), 0, version, owner)
    local texts = pack(TEXTS, next_token, next_owner, mode, next_attempt, meta)
    if asks ~= server then
        local ms = ceil(claim_ms / TURNS)
        expires = now + ms * 1000
        inline.set(write_wait(0, expires, kept, waits_since, ttl, claim_ms, keep_ms, server, texts, lease_until), kept,
                  version, expires, version, now, ttl, 0, pack(TEXTS, next_token, next_owner, mode, '', meta), past)
        call('publish', servers.inbox(server), servers.message('g', next_attempt, next_token, digits(ms)))
        due = {key, ms}
        return answer(report)
    end
    expires = now + ttl * 1000
    set(write_held(HELD, version, expires, version, now, ttl, 0, texts, past), max(version, expires))
    return report .. pack_claimed(next_attempt, next_owner, expires)
end

local function release(argv)
    local token, connection = argv[2], argv[5]
    local record = call('get', key)
    local reply = release_at_once(record, token, connection) or
                  hand_over_at_once(record, token, argv[3], connection)
    if reply then
        return reply
    end
    local state = open(state_by(record))
    if state.unfinished then
        return unfinished(state)
    end
    local hold = holds.find(state, token)
    if connection and not (hold and connection_of(hold[ATTEMPT]) == connection) then
        return release_connection(state, hold, connection)
    elseif hold and hold[ATTEMPT] ~= '' then
        return release_hold(state, hold, argv[3], connection)
    end
    local waiter = find_waiter(state, token)
    if hold or waiter then
        return cancel(state, hold, waiter, token)
    end
    return repeat_release(state, token, argv[4] == '1')
end

register('release', release)
