-- The common case of acquire: nobody has the name or waits for it, and the token is a new one. Does
-- the same as acquire.lua, before anything is set up for the other cases: Redis makes a script's
-- functions anew at every run. Answers with the fence alone, since it is the owner's only hold.
do
    local packed, state
    if ARGV[5] == '0' or ARGV[5] == '1' and ARGV[6] then
        packed = call('get', key)
        state = packed and {struct.unpack(STATE, packed)}
    end
    if ARGV[5] == '0' then
        if not packed or (state[COUNT] == 0 and state[WAITERS] == 0 and state[SERVERS] == 0) then
            local _, _, mode = struct.unpack(HOLD_TEXTS, ARGV[2])
            local ttl, exclusives, limit = tonumber(ARGV[4]), 1, 0
            if mode == 'shared' then
                exclusives, limit = 0, tonumber(ARGV[3])
            end
            local expires, fence = now + ttl * 1000, math.max(now - now % retention + 1, now)
            if packed then
                fence = math.max(state[VERSION] + 1, now)
                state[VERSION], state[COUNT], state[EXCLUSIVES] = fence, 1, exclusives
                state[LIMIT], state[NEXT] = limit, expires
                packed = struct.pack(STATE, unpack(state, 1, LAST_TOKEN))
            else
                packed = struct.pack(STATE, fence, 1, exclusives, limit, 0, 0, 0, 0, expires,
                                     0, 0, 0, 0, 0, 0, 0, 0, 0, '', '', '')
            end
            call('set', key,
                 packed .. ARGV[2] .. struct.pack(HOLD_NUMBERS, fence, now, expires, ttl),
                 'pxat', string.format('%d', (math.max(expires, fence) + retention) / 1000 + 1))
            return fence
        end
    end

    -- The common cases of waiting: the name has one hold, which does not let this request in, and
    -- nobody waits or watches, or this request comes behind others, who were let in if they could
    -- be, since nothing has ended by itself after the last operation: no tick is due, and all their
    -- servers live and are in good standing.
    if ARGV[6] and ARGV[5] ~= '2' then
        local hold = packed and state[ONLY] <= #packed and
                     {struct.unpack(HOLD, packed, state[ONLY])}
        local token, owner, mode = struct.unpack(HOLD_TEXTS, ARGV[2])
        local is_common = hold and now < hold[EXPIRES] and hold[TOKEN] ~= token and
                          hold[OWNER] ~= owner and
                          (state[EXCLUSIVES] == 1 or mode == 'exclusive') and
                          state[WAITERS] < tonumber(ARGV[10])
        local lease = ARGV[7] * 1000
        local is_first = is_common and
                         state[SERVERS] + state[WAITERS] + state[UNCLAIMED] == 0
        local standing -- of its server, which is one of them already
        if is_common and not is_first then
            is_common = state[WAITERS] + state[UNCLAIMED] > 0 and hold[AFTER] > #packed and
                        now < state[TICK]
            local servers = is_common and call('hgetall', key .. ':servers') or {}
            for i = 1, #servers, 2 do
                local ends, suspect, watching = struct.unpack(STANDING, servers[i + 1])
                is_common = is_common and now < ends and suspect == 0
                if servers[i] == ARGV[6] then
                    standing = struct.pack(STANDING, math.max(ends, now + lease), 0, watching)
                end
            end
            is_common = is_common and standing
        end
        if is_common and ARGV[5] == '1' then
            local generation = state[GENERATION]
            is_common = state[LAST_TOKEN] ~= token and
                        not (not is_first and call('hget', key .. ':waiters', token)) and
                        not (generation > 0 and
                             call('hget', key .. ':released:' .. generation % 2, token)) and
                        not (generation > 1 and
                             call('hget', key .. ':released:' .. (generation - 1) % 2, token))
        end
        local remembers = is_common and state[LAST_TOKEN] ~= '' and
                          now - state[LAST_AT] < GENERATION_SPAN
        if is_common then
            if remembers then -- here, since somebody waits for the next release
                local generation = math.floor(now / GENERATION_SPAN)
                local released = key .. ':released:' .. generation % 2
                local begins = generation ~= state[GENERATION]
                if begins then
                    call('append', key, '') -- in a full Redis nothing is written at all
                    call('unlink', released)
                end
                call('hset', released, state[LAST_TOKEN],
                     struct.pack(RELEASE, unpack(state, LAST_FENCE, LAST_HOLDS)))
                if begins then
                    call('pexpire', released, 2 * GENERATION_SPAN / 1000)
                end
                state[GENERATION], state[LAST_TOKEN] = generation, ''
            end
            local arrival, tail = math.max(state[ARRIVAL] + 1, now), ''
            -- Somewhat longer than it must be, so that it need not be moved each time.
            local queue_kept = now + math.max(2 * lease + KEPT_LEAST, retention)
            local is_short = queue_kept > state[QUEUE_KEPT]
            if is_short then
                state[QUEUE_KEPT] = queue_kept + retention / 10
            end
            state[WAITERS], state[ARRIVAL] = state[WAITERS] + 1, arrival
            if is_first then
                state[SERVERS], state[TICK] = 1, state[NEXT]
                -- So that a release need not move it, if it is not held for long then.
                local held = math.min(ARGV[4] * 1000, retention / 10)
                state[QUEUE_KEPT] = math.max(state[QUEUE_KEPT],
                                             now + held + retention + retention / 10)
                tail = ARGV[2] .. struct.pack(LONE_REST, 0, arrival, 0, ARGV[4], ARGV[3], ARGV[8],
                                              ARGV[9], arrival, ARGV[6], now + lease)
            else
                local servers, waiters, line = key .. ':servers', key .. ':waiters',
                                               key .. ':queue:' .. ARGV[6]
                local kept = string.format('%d', state[QUEUE_KEPT] / 1000 + 1)
                call('hset', waiters, token,
                     ARGV[2] .. struct.pack(WAITER_REST, 0, arrival, 0, ARGV[4], ARGV[3], ARGV[8],
                                            ARGV[9], arrival, ARGV[6]))
                call('hset', servers, ARGV[6], standing)
                call('zadd', line, string.format('%d', arrival), token)
                call('pexpireat', waiters, kept) -- the queues may be new
                call('pexpireat', line, kept)
                if is_short then
                    call('pexpireat', servers, kept)
                end
            end
            local kept = math.max(hold[EXPIRES] + retention, state[VERSION] + retention,
                                  state[QUEUE_KEPT])
            call('set', key,
                 struct.pack(STATE, unpack(state, 1, LAST_TOKEN)) ..
                 string.sub(packed, state[ONLY]) .. tail,
                 'pxat', string.format('%d', kept / 1000 + 1))
            return {'waiting', math.floor((state[TICK] - now + 999) / 1000)}
        end
    end
end

-- The common case of a claim: the name's only hold was handed over to this request, and every server
-- has a tick planned that is not due yet, and before the hold will end.
if ARGV[5] == '2' then
    local packed = call('get', key)
    local state = packed and {struct.unpack(STATE, packed)}
    local hold = packed and state[ONLY] <= #packed and {struct.unpack(HOLD, packed, state[ONLY])}
    local token, _, _, attempt = struct.unpack(HOLD_TEXTS, ARGV[2])
    local is_common = hold and hold[TOKEN] == token and hold[ATTEMPT] == '' and
                      now < hold[EXPIRES] and now < state[TICK] and
                      state[TICK] <= now + hold[TTL] * 1000
    local lone = is_common and hold[AFTER] <= #packed
    if is_common and not lone then
        packed = call('hget', key .. ':waiters', token)
    end
    local waiter = is_common and packed and
                   {struct.unpack(WAITER, packed, lone and hold[AFTER] or 1)}
    if waiter and waiter[ATTEMPT] == attempt and waiter[SERVER] == ARGV[6] then
        local servers = not lone and state[WAITERS] == 0 and call('hgetall', key .. ':servers') or
                        {}
        for i = 2, #servers, 2 do
            local _, _, watching = struct.unpack(STANDING, servers[i])
            is_common = is_common and watching == 0
        end
        if is_common then
            if not lone then
                call('hdel', key .. ':waiters', token)
            end
            if state[WAITERS] == 0 then -- no server has to do with the name any more
                if not lone then
                    call('unlink', key .. ':servers')
                end
                state[SERVERS] = 0
            end
            local expires = now + hold[TTL] * 1000
            hold[ATTEMPT], hold[EXPIRES], state[NEXT], state[UNCLAIMED] = attempt, expires, expires, 0
            local kept = math.max(expires, state[VERSION]) + retention
            if state[WAITERS] + state[SERVERS] > 0 then
                kept = math.max(kept, state[QUEUE_KEPT])
            end
            local write = lone and redis.pcall or call -- the lone waiter's is the first write
            local reply = write('set', key, struct.pack(STATE, unpack(state, 1, LAST_TOKEN)) ..
                                            struct.pack(HOLD, unpack(hold, 1, TTL)),
                                'pxat', string.format('%d', kept / 1000 + 1))
            if not reply.err then -- a full Redis refuses, and then acquire.lua finds another way
                return {'claimed', hold[FENCE], hold[TTL], 1, state[VERSION], hold[OWNER],
                        hold[MODE], hold[MODE] == 'shared' and state[LIMIT] or 0}
            end
        end
    end
end
