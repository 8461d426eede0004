-- Renew: sets what remains of a live hold. Never adds to it, never revives one, and never carries it
-- beyond its MAX_HELD.
--
-- ARGV  2 token, 3 TTL in ms, or '' for the TTL it was last given, 4 'server' where a server keeps
--       the hold alive for a client that need not know of it yet: it may still be taken back,
--       5 AT_LEAST and 6 MAX_HELD in ms (0: none), of a hold that was asked for without them, or with a longer
--       MAX_HELD: they count from now on
-- Returns packed 'renewed', fence, ttl_ms, holds, version, limit, owner, mode, and more (see more_of); the
--         same with 'final' if the hold ends with its MAX_HELD, as it did before; or {'not_held'} and
--         more (see view.not_held).

-- The common case: the hold of a plain name. Returns the reply, or nil.
local function renew_at_once(record, argv)
    local version, expires, fence, since, ttl, limit, token, owner, mode, attempt, meta, behind =
        read_held(record, HELD)
    if token ~= argv[2] or argv[4] == 'server' or now >= expires then
        return nil
    end
    ttl = tonumber(argv[3]) or ttl
    expires = now + ttl * 1000
    local texts = pack(TEXTS, token, owner, mode, known_by(attempt), meta)
    set(write_held(HELD, version, expires, fence, since, ttl, limit, texts, sub(record, behind)),
        max(version, expires))
    return pack_report('renewed', fence, ttl, 1, version, limit, owner, mode)
end

local function renew(argv)
    local record = call('get', key)
    local reply = renew_at_once(record, argv)
    if reply then
        return reply
    end
    local state = open(state_by(record))
    if state.unfinished then
        return unfinished(state)
    end
    local hold = holds.find(state, argv[2])
    if not hold or hold[ATTEMPT] == '' and now < opens then
        return finish(state, view.not_held(state, argv[2]))
    end
    hold[TTL] = tonumber(argv[3]) or hold[TTL]
    if argv[4] ~= 'server' then
        if hold[ATTEMPT] == '' then
            claim(state, hold, KNOWN)
        end
        hold[ATTEMPT] = known_by(hold[ATTEMPT])
    end
    local was_final = holds.is_final(hold)
    if argv[5] then
        holds.begin_terms(hold, tonumber(argv[5]), tonumber(argv[6]))
    end
    hold[EXPIRES] = holds.end_of(hold, hold[TTL])
    holds.update(state, hold)
    close(state)
    return answer(report_of(state, was_final and holds.is_final(hold) and 'final' or 'renewed', hold))
end

register('renew', renew)
