-- Acquire: a new hold, the hold that this token has already, a place in the queue, or a refusal.
--
-- ARGV  2 packed: a byte: 0 the token is new, 1 it may have been sent before: this request takes over its
--         place in the queue, and shares its hold, 2 this very request (by its attempt) looks again: it
--         yields to a later one; 4 more if it re-enters: the holds of its owner let it in; 16 more if
--         AT_LEAST and MAX_HELD follow the texts, 32 more if GROUP follows then, 64 more if PERMITS follow
--         then;
--         TTL in ms, limit (0: none), and the texts of the hold, each ended by a NUL: token, owner, mode,
--         attempt, meta; then AT_LEAST and MAX_HELD in ms (0: none), GROUP, and PERMITS,
--       and of a request that waits: 3 server, 4 its lease in ms, 5 claim window in ms,
--       6 how long to keep the place in ms, 7 how many may wait
-- Returns {'granted', fence, holds, other}, or for a single hold the fence alone, if it is as asked;
--         packed 'claimed' or 'holding', fence, ttl_ms, holds, version, limit, owner, mode, and more (see
--         more_of): the token has the hold, and this request is the first to be told, or not;
--         {'waiting', next_ms, other}, {'locked', view, other}; other, if there is one: the limit of a
--         shared hold that has another one than the request;
--         {'token_in_use', mode, limit, owner, 1 if for other names, PERMITS, 1 if it re-enters and this
--         request does not, -1 the other way round}: it was used for that,
--         {'too_many_waiters', length}, {'upgrade_conflict'}, {'released'}, {'superseded'}, or where
--         it would be granted if anything were now, {'quarantined', for how many ms, reason}.

local NUMBERS = '<Bdd'
local REQUEST = NUMBERS .. TEXTS
local REQUEST_HEAD = NUMBERS .. 'sss' -- to the mode
local NEW = 0 -- a value
local MAY_BE_OLD = 1 -- a value
local AGAIN = 2 -- a value
local KINDS = 4 -- a value
local REENTER = 4 -- a value
local TERMS_FOLLOW = 16 -- a value
local GROUP_FOLLOWS = 32 -- a value
local PERMITS_FOLLOW = 64 -- a value

local function has(flags, flag)
    return flags % (2 * flag) >= flag
end

-- The hold that is asked for, with what else the request says.
local function request_of(argv)
    local flags, ttl, limit, token, owner, mode, attempt, meta, behind = parse(REQUEST, argv[2])
    local request = hold_of(token, owner, mode, attempt, meta, 0, 0, 0, ttl)
    request[WANTED] = limit
    if has(flags, TERMS_FOLLOW) then
        request[AT_LEAST], request[MAX_HELD], behind = parse('<dd', argv[2], behind)
    end
    if has(flags, GROUP_FOLLOWS) then
        request[GROUP], behind = parse('<d', argv[2], behind)
    end
    if has(flags, PERMITS_FOLLOW) then
        request[PERMITS] = parse('<d', argv[2], behind)
    end
    request.sent, request.reenters, request.server = flags % KINDS, has(flags, REENTER), argv[3]
    if request.server then
        request.lease, request.claim = tonumber(argv[4]), tonumber(argv[5])
        request.keep, request.waiters_most = tonumber(argv[6]), tonumber(argv[7])
    end
    return request
end

-- Whether what the token has belongs to another request than this one.
local function is_anothers(hold, waiter, attempt)
    if hold and hold[ATTEMPT] ~= '' then
        return not others_reported(hold, attempt)
    end
    return waiter and waiter[ATTEMPT] ~= attempt and waiter[ATTEMPT] ~= ''
end

-- The reply if the token was used for something else, by its hold or waiter; else nil. What has a hold need
-- not enter it any more, and of a place that was made of a hold (see leave) nobody knows how it was asked for.
local function other_use(used, waiter, request)
    local reenters = request.reenters and 1 or 0
    local reentry = waiter and not queue.had_hold(waiter) and waiter[REENTERS] - reenters or 0
    if used[MODE] == request[MODE] and used[WANTED] == request[WANTED] and used[GROUP] == request[GROUP] and
       used[PERMITS] == request[PERMITS] and reentry == 0 and
       (used[OWNER] == request[OWNER] or byte(request[OWNER]) == MADE) then
        return nil
    end
    return {'token_in_use', used[MODE], used[WANTED], used[OWNER], used[GROUP] == request[GROUP] and 0 or 1,
            used[PERMITS], reentry}
end

-- The reply if what the token has, or had, refuses this request; else nil.
local function refuse_token(state, request, hold, waiter)
    local used = hold or waiter
    if not used then
        return holds.find_ended(state, request[TOKEN]) and {'released'} or nil
    elseif request.sent == AGAIN then
        return is_anothers(hold, waiter, request[ATTEMPT]) and {'superseded'} or nil
    end
    return other_use(used, waiter, request)
end

-- A waiter that came again: its place, owner and mode stay, the rest is this request's.
local function attach(state, waiter, request)
    waiter[META], waiter[TTL] = request[META], request[TTL]
    waiter[AT_LEAST], waiter[MAX_HELD] = request[AT_LEAST], request[MAX_HELD]
    if request.server then
        local before = waiter[ATTEMPT] ~= request[ATTEMPT] and servers.find(state, waiter[SERVER])
        if before then -- it looks again, and finds itself superseded
            servers.notify(state, before, 'g', waiter[ATTEMPT], request[TOKEN], '-1')
        end
        queue.take(state, request[TOKEN], waiter[SERVER], waiter)
        waiter[ATTEMPT], waiter[CLAIM], waiter[KEEP], waiter[MISSES] =
            request[ATTEMPT], request.claim, request.keep, 0
        queue.put(state, waiter, request.server)
    elseif waiter[SERVER] == '' then
        queue.take(state, request[TOKEN], '', waiter)
        queue.put(state, waiter, '', 'absent')
    else
        queue.write(state, waiter)
    end
end

-- The token has waited to enter its owner's holds, and may now.
local function grant_entry(state, waiter, attempt)
    queue.remove(state, waiter[TOKEN], waiter[SERVER], waiter)
    waiter[ATTEMPT] = attempt
    holds.grant(state, waiter, waiter[TTL], true)
    hand_over(state) -- it lets nobody in, but shows which servers have waiters left
    return report_hold(state, waiter, attempt)
end

local function wait(state, request, enters)
    local arrival = next_arrival(state[ARRIVAL])
    local waiter = waiter_of(request, arrival, enters and arrival - FRONT or arrival, request.claim, request.keep,
                             request.server)
    waiter[REENTERS], state[ARRIVAL], state.past = request.reenters and 1 or 0, arrival, false
    if not enters and inline.wait(state, waiter, request.lease) then
        holds.remember_last(state) -- rather than by the release that somebody waits for
        return
    end
    if not state.loaded then -- nobody has noticed yet that Redis has lost the record, and its version
        state[VERSION] = max(state[VERSION], least)
    end
    servers.enlist(state, request.server, request.lease, 0)
    queue.begin(state)
    queue.put(state, waiter, request.server)
    holds.remember_last(state)
end

-- The token has neither a hold nor a place in the queue.
local function ask_anew(state, request)
    local owner, mode, limit = request[OWNER], request[MODE], request[WANTED]
    local own = request.reenters and holds.owned(state, owner) or 0
    local is_of_owner = own > 0
    local other_limit = mode == 'shared' and state[COUNT] > state[EXCLUSIVES] and
                        state[LIMIT] ~= limit and state[LIMIT] or nil
    local is_admitted = holds.admits(state, own, mode, limit, request[PERMITS])
    local is_open = is_admitted and epoch.may_grant()
    if is_admitted and not is_open and (is_of_owner or not request.server) then
        return finish(state, epoch.refusal())
    end
    local is_granted = is_open and (is_of_owner or not state.next_line)
    if is_granted and is_full then
        return refuse_full(state)
    elseif is_granted then
        local asked = request[MAX_HELD]
        holds.grant(state, request, request[TTL], is_of_owner)
        if state[WAITERS] > 0 and not is_of_owner then
            queue.promote_entrants(state, owner)
        end
        if request[MAX_HELD] ~= asked then
            close(state)
            return answer(report_of(state, 'claimed', request))
        end
        return finish(state, state[SINGLE] and request[FENCE] or
                             {'granted', request[FENCE], holds.owned(state, owner), other_limit})
    end
    if is_of_owner and state[UPGRADER] ~= '' and
       (find_waiter(state, state[UPGRADER]) or {})[OWNER] ~= owner then
        return finish(state, {'upgrade_conflict'})
    elseif not request.server then
        return finish(state, {'locked', view.name(state, ''), other_limit})
    elseif state[WAITERS] >= request.waiters_most then
        return finish(state, {'too_many_waiters', state[WAITERS]})
    elseif is_full then
        return refuse_full(state)
    end
    wait(state, request, is_of_owner)
    if is_of_owner or not state.next_line then -- so that it is known who is next
        hand_over(state)
    end
    return answer({'waiting', close(state, request.server), other_limit})
end

-- The token waits already, and this is its request now.
local function ask_again(state, waiter, request)
    local is_admitted = holds.admits_waiter(state, waiter)
    local is_open = is_admitted and epoch.may_grant()
    if is_open and holds.own_of(state, waiter) > 0 then
        return grant_entry(state, waiter, request[ATTEMPT])
    elseif request.server then
        return answer({'waiting', close(state, request.server)})
    elseif is_admitted and not is_open then
        return finish(state, epoch.refusal())
    end
    return finish(state, {'locked', view.name(state, request[TOKEN])})
end

-- The common case: a plain name is free. Returns the fence, or nil.
local function grant_at_once(record, packed)
    local sent, ttl, limit, behind = parse(NUMBERS, packed)
    local version, past = read_free(record)
    if sent ~= NEW or limit > 0 or not version or is_full or not epoch.may_grant() then
        return nil
    end
    local fence, ends = next_number(version), now + ttl * 1000
    set(write_held(HELD, fence, ends, fence, now, ttl, 0, sub(packed, behind), past), max(fence, ends))
    return fence
end

-- The common case of a refusal: a plain name, and one of both is exclusive. Returns the reply, or nil.
local function refuse_at_once(record, packed)
    local version, expires, fence, since, _, limit, _, holder, held_mode, _, meta, behind = read_held(record, HELD)
    local sent, _, _, _, _, mode = parse(REQUEST_HEAD, packed)
    if not version or now >= expires or sent ~= NEW or not holds.excludes(mode, held_mode) then
        return nil
    end
    local _, _, last_fence, at, _, _, reason, _, last_owner = parse(PAST_TYPES, record, behind)
    return {'locked', view.head(version, 1, 0, limit, 0, 0, last_fence, at, reason, last_owner) ..
                      view.hold(fence, expires, since, holder, held_mode, meta)}
end

-- The common case of the first waiter: a plain name is held. Returns the reply, or nil.
local function wait_at_once(record, argv)
    local version, expires, fence, since, ttl, limit, token, owner, held_mode, attempt, meta, behind =
        read_held(record, HELD)
    if not version or now >= expires or moving or is_full then
        return nil
    end
    local sent, next_ttl, next_limit, texts_at = parse(NUMBERS, argv[2])
    local _, _, mode = parse('sss', argv[2], texts_at)
    if sent ~= NEW or next_limit > 0 or not holds.excludes(mode, held_mode) or tonumber(argv[7]) < 1 then
        return nil
    end
    local generation, arrival, last_fence, last_at, last_held, last_left, reason, last_token, last_owner =
        parse(PAST_TYPES, record, behind)
    if is_recent(last_token, last_at) then
        generation = holds.store_end(generation, last_token, last_fence, last_at, last_held, last_left)
        last_token = ''
    end
    arrival = next_arrival(arrival)
    local lease_ms = tonumber(argv[4])
    local kept = servers.kept_for(lease_ms)
    local past = pack(PAST_TYPES, generation, arrival, last_fence, last_at, last_held, last_left, reason, last_token,
                      last_owner)
    local waits = write_wait(1, expires, kept, arrival, next_ttl, tonumber(argv[5]), tonumber(argv[6]), argv[3],
                             sub(argv[2], texts_at), now + lease_ms * 1000)
    inline.set(waits, kept, version, expires, fence, since, ttl, limit,
              pack(TEXTS, token, owner, held_mode, attempt, meta), past)
    return {'waiting', ms_until(expires)}
end

-- The common case of a claim: the hold of an awaited name was handed over to this very request, nobody else
-- waits, and no tick is due or to be planned. Returns the reply, or nil.
local function claim_at_once(record, argv)
    if byte(argv[2]) % KINDS ~= AGAIN then
        return nil
    end
    local version, expires, fence, _, ttl, limit, token, owner, mode, attempt, meta, behind =
        read_held(record, AWAITED)
    if attempt ~= '' or now < opens or now >= expires then
        return nil
    end
    local _, _, _, _, _, _, _, _, _, at = parse(PAST_TYPES, record, behind)
    local waiters, tick, _, _, _, _, _, server, first, _, _, first_attempt = parse(WAIT_TYPES, record, at)
    local _, _, _, asking, _, _, asking_attempt = parse(REQUEST, argv[2])
    if waiters > 0 or now >= tick or tick > now + ttl * 1000 or asking ~= token or first ~= token or
       asking_attempt ~= first_attempt or argv[3] ~= server then
        return nil
    end
    expires = now + ttl * 1000
    set(write_held(HELD, version, expires, fence, now, ttl, limit,
                   pack(TEXTS, token, owner, mode, asking_attempt, meta), sub(record, behind, at - 1)),
        max(version, expires))
    return pack_report('claimed', fence, ttl, 1, version, limit, owner, mode)
end

-- The same where the waiter is in the queue. Returns whether it has claimed.
local function claim_plainly(state, request)
    local hold = state[SINGLE]
    if request.sent ~= AGAIN or now < opens or not hold or hold[TOKEN] ~= request[TOKEN] or
       hold[ATTEMPT] ~= '' or now >= hold[EXPIRES] or now >= state[TICK] or
       has_terms(hold) or state[TICK] > now + hold[TTL] * 1000 or state.inline then
        return false
    end
    local waiter = queue.find(state, request[TOKEN])
    if not waiter or waiter[ATTEMPT] ~= request[ATTEMPT] or waiter[SERVER] ~= request.server or
       state[WAITERS] == 0 and not servers.can_all_go(state) then
        return false
    end
    claim(state, hold, request[ATTEMPT])
    return true
end

-- The common case behind others, without a look at who is next: see queue.is_calm.
local function can_wait_among(state, request)
    local hold = state[SINGLE]
    return request.server and request.sent ~= AGAIN and not is_full and hold and state[SERVERS] > 0 and
           hold[TOKEN] ~= request[TOKEN] and not request.reenters and
           (state[EXCLUSIVES] == 1 or request[MODE] == 'exclusive') and
           state[WAITERS] < request.waiters_most and queue.is_calm(state) and
           servers.find(state, request.server) and
           not (request.sent == MAY_BE_OLD and
                (queue.find(state, request[TOKEN]) or holds.find_ended(state, request[TOKEN])))
end

local function acquire(argv)
    local record = call('get', key)
    local reply = grant_at_once(record, argv[2])
    if not reply and argv[3] then
        reply = wait_at_once(record, argv) or claim_at_once(record, argv)
    elseif not reply then
        reply = refuse_at_once(record, argv[2])
    end
    if reply then
        return reply
    end
    local request, state = request_of(argv), state_by(record)
    local token, server = request[TOKEN], request.server
    if can_wait_among(state, request) then
        wait(state, request, false)
        servers.notify_watchers(state)
        save(state)
        servers.send(state)
        return {'waiting', ms_until(state[TICK])}
    end
    if claim_plainly(state, request) then
        save(state)
        return report_of(state, 'claimed', state[SINGLE])
    end
    settle(state)
    if state.unfinished then
        return unfinished(state)
    end
    local hold, waiter
    if request.sent ~= NEW then
        hold, waiter = holds.find(state, token), find_waiter(state, token)
        local refusal = refuse_token(state, request, hold, waiter)
        if refusal then
            hand_over(state)
            return finish(state, refusal)
        elseif hold and hold[ATTEMPT] == '' and now < opens then
            queue.ungrant(state, hold)
            hold, waiter = nil, find_waiter(state, token)
        end
    end

    -- The server shows that it is there.
    local waits = waiter and not hold
    local listed = server and state[SERVERS] > 0 and not inline.is_calm(state) and servers.find(state, server)
    if server and waits or listed and listed[SUSPECT] == 1 then
        servers.enlist(state, server, request.lease, 0)
    end
    if waits then
        attach(state, waiter, request)
    end
    hand_over(state)

    hold = hold or waiter and holds.find(state, token)
    if hold then
        return report_hold(state, hold, request[ATTEMPT])
    elseif waiter then
        return ask_again(state, waiter, request)
    end
    return ask_anew(state, request)
end

register('acquire', acquire, KIND.NEEDS_MEMORY)
