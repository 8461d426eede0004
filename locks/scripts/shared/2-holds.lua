-- The holds of a name. A lone hold lives in the state itself. Once a second one joins, all move
-- into three keys of their own, so that no operation grows with their number, and they stay there
-- until the last is gone: a hash of holds by token, a sorted set of tokens by expiry, and a hash
-- that counts the holds of each owner.

if moving then
    return {err = TRY_AGAIN}
end

-- The same for a name that a script has come by otherwise: it may be another node's altogether.
local function is_moving(name)
    return is_clustered and type(redis.pcall('exists', name .. ':none', name .. ':never')) == 'table'
end

-- Writes a number as digits. Redis would print it as a floating point number, which takes longer
-- than storing it.
local function digits(number)
    return string.format('%d', number)
end

-- Redis refuses a script's first write if it may need memory, but none after another write. So what
-- frees or keeps what is there already can be written in a full Redis as well...
local function even_if_full(...)
    local reply = redis.pcall(...)
    if type(reply) == 'table' and reply.err then
        call('unlink', key .. ':none')
        reply = call(...)
    end
    return reply
end

-- ... and what is new is to be refused before anything was removed: this fails in a full Redis, and
-- changes nothing elsewhere.
local function need_memory()
    call('setrange', key, 0, '')
end

-- Whoever writes to Redis by other ways can have written anything. What cannot be of Baton is refused
-- by this error, as Lua refuses what is too short and Redis a key of another type: see is_damage.
local ENDS = {[''] = true, released = true, expired = true, forced = true}

local function check_record(state, hold)
    local version = state[VERSION]
    local is_ours = version >= 0 and version < 2 ^ 53 and ENDS[state[LAST_REASON]] and
                    (not hold or state[COUNT] == 1 and hold[TOKEN] ~= '')
    if not is_ours then
        error('not a record of Baton')
    end
end

-- A name without keys has had no event for the retention at least, so the start of the running
-- retention period is greater than all its old numbers and not greater than any new one: such a
-- name has a version that never goes back and never repeats, though nothing is stored. Where the
-- clock was ahead once, its greatest time is that number.
local function load()
    local packed = call('get', key)
    local state
    if packed then
        state = {struct.unpack(STATE, packed)}
        local rest = state[ONLY] -- where the lone hold begins
        local hold = rest <= #packed and {struct.unpack(HOLD, packed, rest)}
        check_record(state, hold)
        state[ONLY] = hold
        if hold and hold[AFTER] <= #packed then
            state.lone = {struct.unpack(LONE, packed, hold[AFTER])}
        end
    else
        state = {math.max(floor, now - now % retention), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                 '', '', '', false}
    end
    state.loaded, state.version = packed, state[VERSION]
    return state
end

-- Writes what has changed. `write` is redis.call, or even_if_full.
local function save(state, write)
    local packed, kept = struct.pack(STATE, unpack(state, 1, LAST_TOKEN)), now
    if state[ONLY] then
        packed = packed .. struct.pack(HOLD, unpack(state[ONLY], 1, TTL))
        if state.lone then
            packed = packed .. struct.pack(LONE, unpack(state.lone, 1, VOUCHED))
        end
        kept = state[ONLY][EXPIRES]
    elseif state[COUNT] > 0 then
        kept = state[KEPT]
    end
    local is_new = not state.loaded and (state[VERSION] ~= state.version or state[SERVERS] > 0 or
                                         state[GENERATION] > 0)
    if is_new or state.loaded and packed ~= state.loaded then
        kept = math.max(kept, state[VERSION]) + retention -- the version may be ahead of time
        if state[WAITERS] + state[UNCLAIMED] + state[SERVERS] > 0 then
            kept = math.max(kept, state[QUEUE_KEPT])
        end
        write('set', key, packed, 'pxat', digits(kept / 1000 + 1))
    end
end

-- Holds that are read or removed at once: well below what Lua can unpack onto its stack.
local BATCH = 1000

-- The crowd's functions are made only where a crowd is: making a function costs Redis time, too.
local function crowd()
    local holds, expiries, owners = key .. ':holds', key .. ':expiries', key .. ':owners'
    local self = {}

    local function unpacked(packed)
        local found = {}
        for i = 1, #packed do
            if packed[i] then
                found[#found + 1] = {struct.unpack(HOLD, packed[i])}
            end
        end
        return found
    end

    local function by_tokens(tokens)
        if #tokens == 0 then
            return {}
        end
        return unpacked(call('hmget', holds, unpack(tokens)))
    end

    function self.find(token)
        local packed = call('hget', holds, token)
        return packed and {struct.unpack(HOLD, packed)}
    end

    function self.owned(owner)
        return tonumber(call('hget', owners, owner) or 0)
    end

    -- The first `limit` holds by expiry, of those that live.
    function self.first(limit)
        return by_tokens(call('zrangebyscore', expiries, '(' .. digits(now), '+inf', 'limit', 0, limit))
    end

    -- How many of `count` have ended and are here still. Not by ZCOUNT, which is one command more that
    -- batond's user of Redis would have to be allowed.
    function self.overdue(count)
        local from, to = 0, count
        while from < to do
            local middle = math.floor((from + to) / 2)
            local ends = tonumber(call('zrange', expiries, middle, middle, 'withscores')[2])
            if ends and ends <= now then
                from = middle + 1
            else
                to = middle
            end
        end
        return from
    end

    -- Some of the holds that ended before `limit`, a batch at most.
    function self.ended(limit)
        return by_tokens(call('zrangebyscore', expiries, '-inf', digits(limit), 'limit', 0, BATCH))
    end

    -- Forgets some of the ends before now whose holds are not there: a script was cut off that removed
    -- them. They stay counted until the crowd is gone, since nobody knows whether they were. Returns how
    -- many.
    function self.forget_ends()
        local tokens = call('zrangebyscore', expiries, '-inf', digits(now), 'limit', 0, BATCH)
        return #tokens > 0 and call('zrem', expiries, unpack(tokens)) or 0
    end

    -- Writes a hold that is new or has changed, and for a new one counts it. The keys are kept a
    -- little longer than they must be, so that their expiries need not be moved with every hold. Each
    -- gets its expiry right behind the write that may have made it: the script may be cut off.
    function self.put(state, hold, write, is_new)
        local kept = nil
        if hold[EXPIRES] > state[KEPT] then
            state[KEPT] = hold[EXPIRES] + retention / 10
            kept = digits((state[KEPT] + retention) / 1000 + 1)
        end
        local function keep(name)
            if kept then
                call('pexpireat', name, kept)
            end
        end
        if is_new then
            write('hincrby', owners, hold[OWNER], 1)
            write = call
        end
        keep(owners)
        write('hset', holds, hold[TOKEN], struct.pack(HOLD, unpack(hold, 1, TTL)))
        keep(holds)
        call('zadd', expiries, digits(hold[EXPIRES]), hold[TOKEN])
        keep(expiries)
        state[NEXT] = math.min(state[NEXT], hold[EXPIRES])
    end

    function self.add(state, hold)
        self.put(state, hold, call, true)
    end

    -- The state's lone hold becomes a crowd of one.
    function self.gather(state)
        need_memory()
        call('unlink', holds, expiries, owners)
        state[KEPT] = 0
        self.add(state, state[ONLY])
        state[ONLY] = false
    end

    -- Returns whether they are counted: not so where the script that made one was cut off.
    function self.remove(gone)
        local tokens = {}
        for i, hold in ipairs(gone) do
            tokens[i] = hold[TOKEN]
        end
        call('hdel', holds, unpack(tokens)) -- first, since a full Redis does not mind it
        local counted = call('zrem', expiries, unpack(tokens)) > 0
        for _, hold in ipairs(gone) do
            if call('hincrby', owners, hold[OWNER], -1) <= 0 then
                call('hdel', owners, hold[OWNER])
            end
        end
        return counted
    end

    -- When the next hold ends; nil where there is none.
    function self.next_end()
        return tonumber(call('zrange', expiries, 0, 0, 'withscores')[2])
    end

    -- Holds by their places in order of their ends, from 0; -1 is the last.
    function self.range(from, to)
        return by_tokens(call('zrange', expiries, from, to))
    end

    function self.is_whole()
        return call('exists', holds, expiries, owners) == 3
    end

    -- Where keys of the crowd were lost (evicted, or deleted by hand), no hold can be proved any
    -- more: all end, or the name would stay locked, and a key written anew would have no expiry.
    function self.give_up(state)
        call('unlink', holds, expiries, owners)
        state[COUNT], state[EXCLUSIVES], state[LIMIT], state[UNCLAIMED] = 0, 0, 0, 0
        state[VERSION] = math.max(state[VERSION] + 1, least)
    end

    return self
end

-- The live hold of this token, or nil.
local function find(state, token)
    local only = state[ONLY]
    if only then
        return only[TOKEN] == token and only or nil
    end
    return state[COUNT] > 0 and crowd().find(token) or nil
end

-- How many holds this owner has.
local function owned(state, owner)
    if state[ONLY] then
        return state[ONLY][OWNER] == owner and 1 or 0
    end
    return state[COUNT] > 0 and crowd().owned(owner) or 0
end

-- The first `limit` holds, the one that ends soonest first.
local function first(state, limit)
    if state[ONLY] then
        return {state[ONLY]}
    end
    return state[COUNT] > 0 and crowd().first(limit) or {}
end

local function add(state, hold)
    state[COUNT] = state[COUNT] + 1
    if hold[MODE] == 'exclusive' then
        state[EXCLUSIVES] = state[EXCLUSIVES] + 1
    end
    if state[COUNT] == 1 then
        state[ONLY] = hold
        state[NEXT] = hold[EXPIRES]
        return
    end
    local all = crowd()
    if state[ONLY] then
        all.gather(state)
    end
    all.add(state, hold)
end

-- Takes the first `gone` of a large crowd away at once, and makes a new one of the others, which are a
-- batch at most. What is known of a name afterwards is the end of its last hold: of those that end, the
-- last is to be left. Returns how many it took.
local function drop_first(state, gone)
    local all, version, limit = crowd(), state[VERSION] + gone, state[LIMIT]
    local left = all.range(gone, -1)
    all.give_up(state)
    if #left == 0 then
        return 0
    end
    state[VERSION], state[LIMIT] = version, limit
    for _, hold in ipairs(left) do
        add(state, hold)
    end
    return gone
end

-- Stores what was changed in a hold that `find` returned. Its NEXT stays a lower bound.
local function update(state, hold, write)
    if state[ONLY] then
        state[NEXT] = hold[EXPIRES]
    else
        crowd().put(state, hold, write)
    end
end

local function generation_key(generation)
    return key .. ':released:' .. generation % 2
end

-- The tokens that the state has no room for go into a hash; two hashes take turns, so each is known
-- for 30 to 60 s, however busy the name is, and memory stays bounded. What is packed is the end of
-- the token's hold: {fence, at, held_ms, holds}, the fence 0 where it was cancelled as a waiter.
local function remember(state, token, ...)
    local generation = math.floor(now / GENERATION_SPAN)
    local released = generation_key(generation)
    local begins = state[GENERATION] ~= generation
    if begins then
        state[GENERATION] = generation
        call('unlink', released)
    end
    even_if_full('hset', released, token, struct.pack(RELEASE, ...))
    if begins then
        call('pexpire', released, 2 * GENERATION_SPAN / 1000)
    end
end

-- The last release makes room for the next one, if it was not long ago.
local function remember_last(state)
    if state[LAST_TOKEN] ~= '' and now - state[LAST_AT] < GENERATION_SPAN then
        remember(state, state[LAST_TOKEN], unpack(state, LAST_FENCE, LAST_HOLDS))
        state[LAST_TOKEN] = ''
    end
end

-- The end of this token's hold, if it is remembered, else nil.
local function find_released(state, token)
    if state[LAST_TOKEN] == token then
        return {unpack(state, LAST_FENCE, LAST_HOLDS)}
    end
    for generation = state[GENERATION], math.max(state[GENERATION] - 1, 1), -1 do
        local packed = call('hget', generation_key(generation), token)
        if packed then
            return {struct.unpack(RELEASE, packed)}
        end
    end
    return nil
end

-- Ends these holds. Each end takes a number; the last one stays known, by its token too if its
-- release may be asked for again. Those whose waiters have not claimed them, and did not give them
-- back either, are left in state.unclaimed: see 5-queue.lua.
local function retire(state, gone, reason, repeatable)
    local counted = true
    if state[ONLY] then
        state[ONLY] = false
    else
        counted = crowd().remove(gone)
    end
    for _, hold in ipairs(gone) do
        remember_last(state)
        if hold[ATTEMPT] == '' then
            state[UNCLAIMED] = state[UNCLAIMED] - 1
            if reason ~= 'released' then
                state.unclaimed = state.unclaimed or {}
                table.insert(state.unclaimed, hold)
            end
        end
        local is_expired = reason == 'expired'
        local at = is_expired and hold[EXPIRES] or now
        state[VERSION] = math.max(state[VERSION] + 1, is_expired and at or least, floor)
        if counted then
            state[COUNT] = math.max(state[COUNT] - 1, 0)
        end
        if counted and hold[MODE] == 'exclusive' then
            state[EXCLUSIVES] = math.max(state[EXCLUSIVES] - 1, 0)
        end
        state[LAST_FENCE], state[LAST_AT] = hold[FENCE], at
        state[LAST_HELD], state[LAST_HOLDS] = math.floor((at - hold[SINCE]) / 1000), 0
        state[LAST_REASON], state[LAST_TOKEN] = reason, repeatable and hold[TOKEN] or ''
    end
    if state[COUNT] == state[EXCLUSIVES] then
        state[LIMIT] = 0
    end
end

-- The holds that this run ends as expired, for whoever counts them: {key, fence, held_ms, owner, mode}
-- each, and {key, how many more} of a crowd of which so many ended at once. Those that were never
-- claimed are left out: nobody was told of them.
local TOLD_MOST = 100
local expired = nil

local function note_more(count)
    if count > 0 then
        expired = expired or {}
        expired[#expired + 1] = {key, count}
    end
end

local function note_expired(state, gone)
    local more = 0
    for _, hold in ipairs(gone) do
        local noted = state.noted or 0
        if hold[ATTEMPT] ~= '' and noted < TOLD_MOST then
            expired, state.noted = expired or {}, noted + 1
            expired[#expired + 1] = {key, hold[FENCE], math.floor((hold[EXPIRES] - hold[SINCE]) / 1000),
                                     hold[OWNER], hold[MODE]}
        elseif hold[ATTEMPT] ~= '' then
            more = more + 1
        end
    end
    note_more(more)
end

-- Whether very many have ended, but it is known of each that nobody waits for what becomes of it, and
-- the others are not many.
local function few_of_many_are_left(state)
    local overdue = state[COUNT] > BATCH and state[UNCLAIMED] == 0 and
                    crowd().overdue(state[COUNT]) or 0
    return overdue > BATCH and state[COUNT] - overdue < BATCH
end

-- Ends what has expired. An expiry is an event of its own time, however late it is noticed. Of very
-- many that have, a batch: then the state is `unfinished`, for it counts holds that live no more, and
-- nothing is to be told or decided by it (see 6-name.lua).
local function expire(state)
    if state[COUNT] > 0 and not state[ONLY] and not crowd().is_whole() then
        crowd().give_up(state)
    end
    while state[COUNT] > 0 and state[NEXT] <= now do
        if state[ONLY] then
            note_expired(state, {state[ONLY]})
            retire(state, {state[ONLY]}, 'expired', false)
        elseif few_of_many_are_left(state) then
            local all = crowd()
            note_expired(state, all.range(0, TOLD_MOST - 1))
            note_more(drop_first(state, all.overdue(state[COUNT]) - 1) - TOLD_MOST)
        else
            local all = crowd()
            local ended = all.ended(now)
            if #ended > 0 then
                note_expired(state, ended)
                retire(state, ended, 'expired', false)
            end
            state[NEXT] = all.next_end() or 0
            if #ended == 0 and state[NEXT] <= now then
                if all.forget_ends() == 0 then
                    all.give_up(state)
                end
            elseif #ended == BATCH and state[NEXT] <= now then
                state.unfinished = true
                return
            end
        end
    end
end
