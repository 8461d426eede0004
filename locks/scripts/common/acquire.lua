-- The common case of acquire: nobody has the name or waits for it, and the token is a new one. Does
-- the same as acquire.lua, before anything is set up for the other cases: Redis makes a script's
-- functions anew at every run. Answers with the fence alone, since it is the owner's only hold.
do
    local packed, state
    if ARGV[5] == '0' or ARGV[5] == '1' and ARGV[6] then
        packed = call('get', key)
        state = packed and {struct.unpack(STATE, packed)}
    end
    if ARGV[5] == '0' and now >= opens then
        if not packed or (state[COUNT] == 0 and state[WAITERS] == 0 and state[SERVERS] == 0 and
                          state[LAST_AT] <= now) then
            local _, _, mode = struct.unpack(HOLD_TEXTS, ARGV[2])
            local ttl, exclusives, limit = tonumber(ARGV[4]), 1, 0
            if mode == 'shared' then
                exclusives, limit = 0, tonumber(ARGV[3])
            end
            local fence
            local expires = now + ttl * 1000
            if packed then
                fence = math.max(state[VERSION] + 1, least)
                state[VERSION], state[COUNT], state[EXCLUSIVES] = fence, 1, exclusives
                state[LIMIT], state[NEXT] = limit, expires
                packed = struct.pack(STATE, unpack(state, 1, LAST_TOKEN))
            else
                fence = math.max(math.max(floor, now - now % retention) + 1, least)
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
    if ARGV[6] and ARGV[5] ~= '2' and not moving then
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
        local servers, waiters, line
        local vouched, front = nil, '' -- where all wait at this server, as the record has it
        local standing                 -- of its server, which is one of several
        local moves_in = false         -- there is no other any more
        if is_common and not is_first then
            servers, waiters = key .. ':servers', key .. ':waiters'
            line = key .. ':queue:' .. ARGV[6]
            is_common = state[WAITERS] + state[UNCLAIMED] > 0 and now < state[TICK]
        end
        if is_common and not is_first and hold[AFTER] <= #packed then
            local first, first_owner, _, _, _, to = struct.unpack(HOLD_TEXTS, packed, hold[AFTER])
            local server
            server, vouched = struct.unpack('<sd', packed, to + LONE_SERVER_AFTER)
            front = first ~= '' and string.sub(packed, hold[AFTER], -9) or ''
            -- The next one behind it is not of its owner: see release.lua.
            is_common = state[UNCLAIMED] == 0 and server == ARGV[6] and now < vouched and
                        first ~= token and (state[WAITERS] > 1 or first_owner ~= owner)
        elseif is_common and not is_first then
            local all = call('hgetall', servers)
            for i = 1, #all, 2 do
                local ends, suspect, watching = struct.unpack(STANDING, all[i + 1])
                is_common = is_common and now < ends and suspect == 0
                if all[i] == ARGV[6] then
                    standing = struct.pack(STANDING, math.max(ends, now + lease), 0, watching)
                    moves_in = #all == 2 and watching + state[AWAY] + state[UNCLAIMED] == 0
                    vouched = moves_in and ends
                end
            end
            is_common = is_common and standing
        end
        if is_common and ARGV[5] == '1' then
            local generation = state[GENERATION]
            is_common = state[LAST_TOKEN] ~= token and
                        not (generation > 0 and
                             call('hget', key .. ':released:' .. generation % 2, token)) and
                        not (generation > 1 and
                             call('hget', key .. ':released:' .. (generation - 1) % 2, token))
        end
        local arrival = is_common and math.max(state[ARRIVAL] + 1, now)
        local record = is_common and ARGV[2] ..
                       struct.pack(WAITER_REST, 0, arrival, 0, ARGV[4], ARGV[3], ARGV[8], ARGV[9],
                                   arrival, ARGV[6])
        if is_common and front ~= '' and state[WAITERS] == 1 then
            call('setrange', key, 0, '') -- in a full Redis nothing is written at all
            call('unlink', waiters, line) -- what is left of a main key that was lost
        end
        -- Who is first in the line so far; where that is not known, its keys may be new.
        local heads = is_common and vouched and front == '' and call('zrange', line, 0, 1) or {}
        local found = heads[1] and call('hmget', waiters, heads[1], heads[2] or heads[1]) or {}
        local is_new = not (found[1] and found[2])
        -- Somewhat longer than it must be, so that it need not be moved each time.
        local queue_kept = now + math.max(2 * lease + KEPT_LEAST, retention)
        local is_kept = is_common and not is_first and queue_kept <= state[QUEUE_KEPT]
        if is_common and queue_kept > state[QUEUE_KEPT] then
            queue_kept = queue_kept + retention / 10
        end
        if is_common and not is_first then -- a full Redis refuses this, and a token that waits
            is_common = call('hsetnx', waiters, token, record) == 1
        end
        if is_common then
            -- Each key gets its expiry right behind the write that may have made it: the script may be
            -- cut off.
            local moves_keys = not is_first and (is_new or not is_kept)
            state[QUEUE_KEPT] = math.max(state[QUEUE_KEPT], queue_kept)
            local kept_ms = moves_keys and string.format('%d', state[QUEUE_KEPT] / 1000 + 1)
            if moves_keys then
                call('pexpireat', waiters, kept_ms)
            end
            -- Here, since somebody waits for the next release.
            if state[LAST_TOKEN] ~= '' and now - state[LAST_AT] < GENERATION_SPAN then
                local generation = math.floor(now / GENERATION_SPAN)
                local released = key .. ':released:' .. generation % 2
                local begins = generation ~= state[GENERATION]
                if begins then
                    call('setrange', key, 0, '') -- in a full Redis nothing is written at all
                    call('unlink', released)
                end
                call('hset', released, state[LAST_TOKEN],
                     struct.pack(RELEASE, unpack(state, LAST_FENCE, LAST_HOLDS)))
                if begins then
                    call('pexpire', released, 2 * GENERATION_SPAN / 1000)
                end
                state[GENERATION], state[LAST_TOKEN] = generation, ''
            end
            state[WAITERS], state[ARRIVAL] = state[WAITERS] + 1, arrival
            if is_first then
                state[SERVERS], state[TICK] = 1, state[NEXT]
                -- So that a release need not move it, if it is not held for long then.
                local held = math.min(ARGV[4] * 1000, retention / 10)
                state[QUEUE_KEPT] = math.max(state[QUEUE_KEPT],
                                             now + held + retention + retention / 10)
                front, vouched = record, now
            else
                call('zadd', line, string.format('%d', arrival), token)
                if moves_keys then
                    call('pexpireat', line, kept_ms)
                end
            end
            if vouched and front == '' then
                local first = heads[1] or token
                local next = heads[1] and not is_new and select(2, struct.unpack('<ss', found[1]))
                local behind = heads[2] and found[2] and select(2, struct.unpack('<ss', found[2])) or
                               owner
                if not heads[1] or next and next ~= behind then
                    front = found[1] or record
                    call('zrem', line, first)
                    call('hdel', waiters, first)
                end
            end
            if moves_in then
                call('unlink', servers)
            elseif standing then
                call('hset', servers, ARGV[6], standing)
                if not is_kept then
                    call('pexpireat', servers, string.format('%d', state[QUEUE_KEPT] / 1000 + 1))
                end
            end
            packed = struct.pack(STATE, unpack(state, 1, LAST_TOKEN)) ..
                     string.sub(packed, state[ONLY], hold[AFTER] - 1)
            if vouched then
                front = front ~= '' and front or string.rep('\0', NOBODY_BYTES) .. ARGV[6] .. '\0'
                packed = packed .. front .. struct.pack('<d', math.max(vouched, now + lease))
            end
            if is_kept then
                call('set', key, packed, 'keepttl')
            else
                local kept = math.max(hold[EXPIRES] + retention, state[VERSION] + retention,
                                      state[QUEUE_KEPT])
                call('set', key, packed, 'pxat', string.format('%d', kept / 1000 + 1))
            end
            return {'waiting', math.floor((state[TICK] - now + 999) / 1000)}
        end
    end
end

-- The common case of a claim: the name's only hold was handed over to this request, and every server
-- has a tick planned that is not due yet, and before the hold will end.
if ARGV[5] == '2' and now >= opens and not moving then
    local packed = call('get', key)
    local state = packed and {struct.unpack(STATE, packed)}
    local hold = packed and state[ONLY] <= #packed and {struct.unpack(HOLD, packed, state[ONLY])}
    local token, _, _, attempt = struct.unpack(HOLD_TEXTS, ARGV[2])
    local is_common = hold and hold[TOKEN] == token and hold[ATTEMPT] == '' and
                      now < hold[EXPIRES] and now < state[TICK] and
                      state[TICK] <= now + hold[TTL] * 1000
    local lone = is_common and hold[AFTER] <= #packed
    is_common = is_common and not (lone and state[WAITERS] > 0)
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
