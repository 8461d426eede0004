-- The common cases of release: the hold is the name's only one, and nobody waits, or the one who is
-- next wants the lock for itself and is parked at a server in good standing, and nobody watches.
-- Does the same as release.lua, before anything is set up for the other cases - and one thing more:
-- where the next one's request is parked at the very server that asks, its hold is claimed at once,
-- since that server learns of it by this reply. It looks after its client then.
do
    local packed = not ARGV[5] and call('get', key)

    -- The commonest: all who wait are parked at the server that asks, and the first of them is in
    -- front. What follows would do the same, but somebody waits for this very answer: only what
    -- changes is read and written.
    do
        local upgrader, _, last, at, token, holder, attempt, fence, since, ends, from
        local goes_on = packed and ARGV[3] and now >= opens and not moving and
                        string.sub(packed, COUNTS_FROM + 4, COUNTS_TO) == COUNTS_AT_ONE
        if goes_on then
            upgrader, _, last, at = struct.unpack('<sss', packed, TEXTS_FROM)
            goes_on = at <= #packed and upgrader == ''
        end
        if goes_on then
            token, holder, _, attempt, _, fence, since, ends, _, from = struct.unpack(HOLD, packed, at)
            goes_on = token == ARGV[2] and attempt ~= '' and now < ends and from <= #packed
        end

        -- Whose turn it is, and where else to go on.
        local first, owner, mode, next_attempt, to, ttl, server, vouched
        local waiters = goes_on and struct.unpack('<I4', packed, COUNTS_FROM) - 1
        if goes_on then
            first, owner, mode, next_attempt, _, to = struct.unpack(HOLD_TEXTS, packed, from)
            server, vouched = struct.unpack('<sd', packed, to + LONE_SERVER_AFTER)
            goes_on = server == ARGV[3] and now < vouched
        end
        local tail = goes_on and waiters > 0 and string.rep('\0', NOBODY_BYTES) ..
                                                string.sub(packed, to + LONE_SERVER_AFTER)
        local record, is_front, line = packed, first ~= '', nil
        if goes_on and not is_front then
            line = key .. ':queue:' .. ARGV[3]
            local heads = call('zrange', line, 0, 1)
            local found = heads[1] and
                          call('hmget', key .. ':waiters', heads[1], heads[2] or heads[1])
            goes_on = found and found[1] and found[2]
            if goes_on then
                record, from = found[1], 1
                first, owner, mode, next_attempt, _, to = struct.unpack(HOLD_TEXTS, record)
                -- Its owner's next request would be let in with it.
                local _, behind = struct.unpack('<ss', found[2])
                goes_on = not heads[2] or behind ~= owner
            end
        end

        -- The release before this one is to be remembered, if it was not long ago.
        local remembers = goes_on and last ~= '' and
                          now - struct.unpack('<d', packed, LAST_AT_FROM) < GENERATION_SPAN
        local generation = remembers and math.floor(now / GENERATION_SPAN)
        if remembers then
            goes_on = struct.unpack('<d', packed, GENERATION_FROM) == generation
        end
        local expires
        local tick = tail and struct.unpack('<d', packed, TICK_FROM) or math.huge
        if goes_on then
            _, _, _, ttl = struct.unpack(HOLD_NUMBERS, record, to)
            expires, goes_on = now + ttl * 1000, mode == 'exclusive' and now < tick
        end

        if goes_on then
            local version = math.max(struct.unpack('<d', packed) + 1, least) + 1
            local held = math.floor((now - since) / 1000)
            local plans = string.sub(packed, KEPT_FROM, QUEUE_KEPT_FROM + 7)
            if tail and expires < tick then -- the server plans that by the reply
                plans = string.sub(packed, KEPT_FROM, TICK_FROM - 1) .. struct.pack('<d', expires) ..
                        string.sub(packed, QUEUE_KEPT_FROM, QUEUE_KEPT_FROM + 7)
            end
            local text = struct.pack(STATE_FRONT, version, 1, 1, 0, waiters, 0, 0, tail and 1 or 0,
                                     expires) ..
                         plans ..
                         struct.pack(STATE_LAST, fence, now, held, 0, '', 'released', token) ..
                         string.sub(record, from, to - 1) ..
                         struct.pack(HOLD_NUMBERS, version, now, expires, ttl) .. (tail or '')
            local kept, write, reply = math.max(expires, version) + retention, redis.pcall, nil
            if not is_front then -- the first write frees memory, so a full Redis takes the others, too
                call('zrem', line, first)
                call('hdel', key .. ':waiters', first)
                write = call
            end
            if remembers then
                reply = write('hset', key .. ':released:' .. generation % 2, last,
                              string.sub(packed, LAST_FENCE_FROM, TEXTS_FROM - 1))
            end
            if type(reply) ~= 'table' then
                write = reply and call or write
                local queue_kept = struct.unpack('<d', packed, QUEUE_KEPT_FROM)
                -- Until then the record is kept already, and no longer but for the hold that ends now.
                if math.max(kept, ends + retention) <= queue_kept then
                    reply = write('set', key, text, 'keepttl')
                else
                    kept = tail and math.max(kept, queue_kept) or kept
                    reply = write('set', key, text, 'pxat', string.format('%d', kept / 1000 + 1))
                end
            end
            if not reply.err then
                return {'released', fence, held, 0, version, holder, next_attempt, owner, ttl}
            end
        end
    end

    local state = packed and {struct.unpack(STATE, packed)}
    local hold = packed and state[ONLY] <= #packed and {struct.unpack(HOLD, packed, state[ONLY])}
    local lone = hold and hold[AFTER] <= #packed and
                 {struct.unpack(LONE, packed, hold[AFTER])}
    local is_common = hold and hold[TOKEN] == ARGV[2] and hold[ATTEMPT] ~= '' and
                      now < hold[EXPIRES] and state[AWAY] == 0 and state[UPGRADER] == '' and
                      (now >= opens or state[WAITERS] == 0) and
                      not (lone and (state[WAITERS] > 1 or lone[TOKEN] == ''))

    -- The release before this one is to be remembered, if it was not long ago.
    local generation = math.floor(now / GENERATION_SPAN)
    local remembers = is_common and state[LAST_TOKEN] ~= '' and
                      now - state[LAST_AT] < GENERATION_SPAN
    is_common = is_common and (not remembers or state[GENERATION] == generation) and
                not (moving and (remembers or state[SERVERS] + state[WAITERS] > 0))

    local servers = is_common and not lone and state[SERVERS] > 0 and
                    call('hgetall', key .. ':servers')
    local server, token, second = nil, nil, nil
    local place, second_place, dies = math.huge, math.huge, math.huge
    if lone then
        server, token, dies = lone[SERVER], lone[TOKEN], lone[VOUCHED]
    end
    for i = 1, servers and #servers or 0, 2 do
        local ends, suspect, watching = struct.unpack(STANDING, servers[i + 1])
        is_common, dies = is_common and suspect + watching == 0, math.min(dies, ends)
        local line = is_common and call('zrange', key .. ':queue:' .. servers[i], 0, 1, 'withscores')
        for j = 1, line and #line or 0, 2 do
            local at = tonumber(line[j + 1])
            if at < place then
                server, second, second_place = servers[i], token, place
                token, place = line[j], at
            elseif at < second_place then
                second, second_place = line[j], at
            end
        end
    end
    local waiter = lone
    is_common = is_common and now < dies and (not lone or lone[MODE] == 'exclusive')
    if is_common and not lone and state[WAITERS] > 0 then
        local found = token and call('hmget', key .. ':waiters', token, second or token) or {}
        waiter = found[1] and {struct.unpack(WAITER, found[1])}
        local behind = second and found[2] and {struct.unpack(WAITER, found[2])}
        -- Its owner's next request would be let in with it.
        is_common = waiter and waiter[MODE] == 'exclusive' and
                    not (behind and behind[OWNER] == waiter[OWNER])
    end

    if is_common then
        local version = math.max(state[VERSION] + 1, least)
        local held, kept, granted = math.floor((now - hold[SINCE]) / 1000), version, ''
        local write, tick, direct = redis.pcall, nil, nil
        local past = remembers and struct.pack(RELEASE, unpack(state, LAST_FENCE, LAST_HOLDS))
        local past_token = state[LAST_TOKEN]
        if waiter then
            version, direct = version + 1, server == ARGV[3]
            if not lone then -- the first write frees memory, so a full Redis takes the others, too
                call('zrem', key .. ':queue:' .. server, token)
                write = call
            end
            local expires = now + (direct and waiter[TTL] or math.ceil(waiter[CLAIM] / TURNS)) * 1000
            granted = struct.pack(HOLD, token, waiter[OWNER], waiter[MODE],
                                  direct and waiter[ATTEMPT] or '', waiter[META],
                                  version, now, expires, waiter[TTL])
            state[WAITERS], state[UNCLAIMED] = state[WAITERS] - 1, direct and 0 or 1
            state[NEXT], kept = expires, math.max(version, expires)
            if lone then
                servers = {server}
                granted = direct and granted or granted .. string.sub(packed, hold[AFTER])
            elseif direct then
                call('hdel', key .. ':waiters', token)
            end
            if direct and state[WAITERS] == 0 then -- no server has to do with the name any more
                if not lone then
                    call('unlink', key .. ':servers')
                end
                state[SERVERS], servers = 0, nil
            end
            -- A server that dies concerns only those who wait at another one.
            local next = servers and #servers > 2 and math.min(expires, dies) or expires
            tick = servers and (next < state[TICK] or state[TICK] <= now) and next
            state[TICK] = tick or state[TICK]
        end
        state[VERSION], state[LIMIT] = version, 0
        state[COUNT], state[EXCLUSIVES] = waiter and 1 or 0, waiter and 1 or 0
        state[LAST_FENCE], state[LAST_AT], state[LAST_HELD] = hold[FENCE], now, held
        state[LAST_HOLDS], state[LAST_REASON], state[LAST_TOKEN] = 0, 'released', hold[TOKEN]
        kept = kept + retention
        if state[SERVERS] > 0 then
            kept = math.max(kept, state[QUEUE_KEPT])
        end
        local reply = past and write('hset', key .. ':released:' .. generation % 2, past_token, past)
        if type(reply) ~= 'table' then
            write = reply and call or write
            reply = write('set', key,
                          struct.pack(STATE, unpack(state, 1, LAST_TOKEN)) .. granted,
                          'pxat', string.format('%d', kept / 1000 + 1))
        end
        if not reply.err then -- a full Redis refuses, and then release.lua finds another way
            local inbox = waiter and string.match(key, '^[^{]*') .. 'inbox:'
            local due = waiter and (tick or not direct) and
                        math.floor(((tick or state[NEXT]) - now + 999) / 1000)
            local ends_in = due and string.format('%d', due)
            if waiter and not direct then
                call('publish', inbox .. server, 'g ' .. waiter[ATTEMPT] .. ' ' .. token .. ' ' ..
                     ends_in .. ' ' .. key)
            end
            for i = 1, tick and #servers or 0, 2 do
                if servers[i] ~= ARGV[3] and (direct or servers[i] ~= server) then
                    call('publish', inbox .. servers[i], 'n ' .. ends_in .. ' ' .. key)
                end
            end
            local told = {'released', hold[FENCE], held, 0, version, hold[OWNER]}
            if direct then
                told[7], told[8], told[9] = waiter[ATTEMPT], waiter[OWNER], waiter[TTL]
            end
            return due and {'beside', told, {}, {key, due}} or told
        end
    end
end
