-- A hold set: several holds of one name. A single hold is in the main key. When a second hold joins, both
-- move into three keys: `:holds`, a hash by token; `:expiries`, a sorted set of tokens by the end of the
-- hold; `:owners`, a hash that counts the holds of each owner. So no operation takes longer with more
-- holds. They stay there until the last hold has ended.
local hold_set = {}
local SOUGHT_MS = 10000

function hold_set.holds_key()
    return beside(':holds')
end

function hold_set.expiries_key()
    return beside(':expiries')
end

function hold_set.owners_key()
    return beside(':owners')
end

function hold_set.holds_of(tokens)
    local found = {}
    spent = spent + #tokens
    if #tokens > 0 then
        for _, packed in ipairs(call('hmget', hold_set.holds_key(), unpack(tokens))) do
            if packed then
                found[#found + 1] = read(HOLD, packed, 1)
            end
        end
    end
    return found
end

function hold_set.find(token)
    local packed = call('hget', hold_set.holds_key(), token)
    return packed and read(HOLD, packed, 1)
end

-- The hold with this fence, or nil. One call looks at a batch of holds, those that end soonest first. If
-- there may be more, it notes where the next call goes on, and returns nil and true: at the end of the last
-- hold, behind so many that end with it. A hold that is renewed meanwhile comes behind. The last call
-- removes the note, so that a search that comes soon begins anew.
function hold_set.find_fence(fence)
    local place = beside(':sought:' .. digits(fence))
    local noted = call('get', place)
    local from, skipped = match(noted or '-inf 0', '(.*) (.*)')
    local found = call('zrangebyscore', hold_set.expiries_key(), from, '+inf', 'withscores', 'limit', skipped,
                       BATCH)
    local tokens, last = {}, found[#found]
    skipped = last == from and skipped or 0
    for i = 1, #found, 2 do
        tokens[#tokens + 1] = found[i]
        skipped = skipped + (found[i + 1] == last and 1 or 0)
    end
    local sought = nil
    for _, hold in ipairs(hold_set.holds_of(tokens)) do
        sought = hold[FENCE] == fence and hold or sought
    end
    local goes_on = not sought and #tokens == BATCH
    if goes_on then
        call('set', place, last .. ' ' .. skipped, 'px', SOUGHT_MS)
    elseif noted then
        call('unlink', place)
    end
    return sought, goes_on
end

function hold_set.owned(owner)
    return tonumber(call('hget', hold_set.owners_key(), owner) or 0)
end

-- The first `limit` live holds, in the order of their ends.
function hold_set.first(limit)
    return hold_set.holds_of(call('zrangebyscore', hold_set.expiries_key(), '(' .. digits(now), '+inf',
                               'limit', 0, limit))
end

-- How many of the first `count` in the sorted set with this name have a score of at most `last`. ZCOUNT would
-- be one more command that batond's user in Redis needs.
function hold_set.count_up_to(name, last, count)
    local from, to = 0, count
    while from < to do
        local middle = round_down((from + to) / 2)
        local score = tonumber(call('zrange', name, middle, middle, 'withscores')[2])
        if score and score <= last then
            from = middle + 1
        else
            to = middle
        end
    end
    return from
end

-- How many of `count` holds have ended and are still here.
function hold_set.overdue(count)
    return hold_set.count_up_to(hold_set.expiries_key(), now, count)
end

function hold_set.ended_tokens()
    return call('zrangebyscore', hold_set.expiries_key(), '-inf', digits(now), 'limit', 0, BATCH)
end

-- The first holds that have ended, a batch at most.
function hold_set.ended()
    return hold_set.holds_of(hold_set.ended_tokens())
end

-- Removes ends before now whose holds are gone, because a call was cut off that removed them. They stay
-- counted until the hold set has ended, since nothing tells whether they were. Returns their number.
function hold_set.forget_ends()
    local tokens = hold_set.ended_tokens()
    return #tokens > 0 and call('zrem', hold_set.expiries_key(), unpack(tokens)) or 0
end

-- Writes a hold, and counts it if it is new. The keys live a little longer than they must, so that not
-- every hold moves their expiries. Each key gets its expiry right behind the write that may have made
-- it, since the call may be cut off.
function hold_set.put(state, hold, is_new)
    local kept = nil
    if hold[EXPIRES] > state[KEPT] then
        state[KEPT] = hold[EXPIRES] + retention / 10
        kept = digits((state[KEPT] + retention) / 1000 + 1)
    end
    if is_new then
        call('hincrby', hold_set.owners_key(), hold[OWNER], 1)
    end
    if kept then
        call('pexpireat', hold_set.owners_key(), kept)
    end
    call('hset', hold_set.holds_key(), hold[TOKEN], write(HOLD, hold))
    if kept then
        call('pexpireat', hold_set.holds_key(), kept)
    end
    call('zadd', hold_set.expiries_key(), digits(hold[EXPIRES]), hold[TOKEN])
    if kept then
        call('pexpireat', hold_set.expiries_key(), kept)
    end
    state[NEXT] = min(state[NEXT], hold[EXPIRES])
end

function hold_set.clear()
    call('unlink', hold_set.holds_key(), hold_set.expiries_key(), hold_set.owners_key())
end

-- The state's single hold becomes a hold set of one.
function hold_set.gather(state)
    hold_set.clear()
    state[KEPT] = 0
    hold_set.put(state, state[SINGLE], true)
    state[SINGLE] = false
end

-- Removes these holds. Returns whether they were counted: a call that made one may have been cut off.
function hold_set.remove(gone)
    local tokens, owners = {}, hold_set.owners_key()
    for i, hold in ipairs(gone) do
        tokens[i] = hold[TOKEN]
    end
    call('hdel', hold_set.holds_key(), unpack(tokens))
    local are_counted = call('zrem', hold_set.expiries_key(), unpack(tokens)) > 0
    for _, hold in ipairs(gone) do
        if call('hincrby', owners, hold[OWNER], -1) <= 0 then
            call('hdel', owners, hold[OWNER])
        end
    end
    return are_counted
end

-- When the next hold ends; nil where there is none.
function hold_set.next_end()
    return tonumber(call('zrange', hold_set.expiries_key(), 0, 0, 'withscores')[2])
end

-- Holds by their places in order of their ends, from 0; -1 is the last.
function hold_set.range(from, to)
    return hold_set.holds_of(call('zrange', hold_set.expiries_key(), from, to))
end

function hold_set.is_whole()
    return call('exists', hold_set.holds_key(), hold_set.expiries_key(), hold_set.owners_key()) == 3
end

-- Ends all holds, because a key of the hold set was evicted or deleted by hand. Otherwise the name would
-- stay locked, and a key that is written again would have no expiry.
function hold_set.give_up(state)
    hold_set.clear()
    state[COUNT], state[EXCLUSIVES], state[LIMIT], state[UNCLAIMED] = 0, 0, 0, 0
    state[RELEASED_HOLDS], state[EXTRA_PERMITS] = 0, 0
    state[VERSION] = next_number(state[VERSION])
end
