-- A crowd: several holds of one name. A lone hold is in the main key. When a second hold joins, both
-- move into three keys: `:holds`, a hash by token; `:expiries`, a sorted set of tokens by the end of the
-- hold; `:owners`, a hash that counts the holds of each owner. So no operation takes longer with more
-- holds. They stay there until the last hold has ended.
local crowd = {}
local SOUGHT_MS = 10000

function crowd.holds_key()
    return beside(':holds')
end

function crowd.expiries_key()
    return beside(':expiries')
end

function crowd.owners_key()
    return beside(':owners')
end

function crowd.holds_of(tokens)
    local found = {}
    spent = spent + #tokens
    if #tokens > 0 then
        for _, packed in ipairs(call('hmget', crowd.holds_key(), unpack(tokens))) do
            if packed then
                found[#found + 1] = read(HOLD, packed, 1)
            end
        end
    end
    return found
end

function crowd.find(token)
    local packed = call('hget', crowd.holds_key(), token)
    return packed and read(HOLD, packed, 1)
end

-- The hold with this fence, or nil. One call looks at a batch of holds, those that end soonest first. If
-- there may be more, it notes where the next call goes on, and returns nil and true: at the end of the last
-- hold, behind so many that end with it. A hold that is renewed meanwhile comes behind. The last call
-- removes the note, so that a search that comes soon begins anew.
function crowd.find_fence(fence)
    local place = beside(':sought:' .. digits(fence))
    local noted = call('get', place)
    local from, skipped = match(noted or '-inf 0', '(.*) (.*)')
    local found = call('zrangebyscore', crowd.expiries_key(), from, '+inf', 'withscores', 'limit', skipped,
                       BATCH)
    local tokens, last = {}, found[#found]
    skipped = last == from and skipped or 0
    for i = 1, #found, 2 do
        tokens[#tokens + 1] = found[i]
        skipped = skipped + (found[i + 1] == last and 1 or 0)
    end
    local sought = nil
    for _, hold in ipairs(crowd.holds_of(tokens)) do
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

function crowd.owned(owner)
    return tonumber(call('hget', crowd.owners_key(), owner) or 0)
end

-- The first `limit` live holds, in the order of their ends.
function crowd.first(limit)
    return crowd.holds_of(call('zrangebyscore', crowd.expiries_key(), '(' .. digits(now), '+inf',
                               'limit', 0, limit))
end

-- How many of the first `count` in the sorted set with this name have a score of at most `last`. ZCOUNT would
-- be one more command that batond's user in Redis needs.
function crowd.count_up_to(name, last, count)
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
function crowd.overdue(count)
    return crowd.count_up_to(crowd.expiries_key(), now, count)
end

function crowd.ended_tokens()
    return call('zrangebyscore', crowd.expiries_key(), '-inf', digits(now), 'limit', 0, BATCH)
end

-- The first holds that have ended, a batch at most.
function crowd.ended()
    return crowd.holds_of(crowd.ended_tokens())
end

-- Removes ends before now whose holds are gone, because a call was cut off that removed them. They stay
-- counted until the crowd has ended, since nothing tells whether they were. Returns their number.
function crowd.forget_ends()
    local tokens = crowd.ended_tokens()
    return #tokens > 0 and call('zrem', crowd.expiries_key(), unpack(tokens)) or 0
end

-- Writes a hold, and counts it if it is new. The keys live a little longer than they must, so that not
-- every hold moves their expiries. Each key gets its expiry right behind the write that may have made
-- it, since the call may be cut off.
function crowd.put(state, hold, is_new)
    local kept = nil
    if hold[EXPIRES] > state[KEPT] then
        state[KEPT] = hold[EXPIRES] + retention / 10
        kept = digits((state[KEPT] + retention) / 1000 + 1)
    end
    if is_new then
        call('hincrby', crowd.owners_key(), hold[OWNER], 1)
    end
    if kept then
        call('pexpireat', crowd.owners_key(), kept)
    end
    call('hset', crowd.holds_key(), hold[TOKEN], write(HOLD, hold))
    if kept then
        call('pexpireat', crowd.holds_key(), kept)
    end
    call('zadd', crowd.expiries_key(), digits(hold[EXPIRES]), hold[TOKEN])
    if kept then
        call('pexpireat', crowd.expiries_key(), kept)
    end
    state[NEXT] = min(state[NEXT], hold[EXPIRES])
end

function crowd.clear()
    call('unlink', crowd.holds_key(), crowd.expiries_key(), crowd.owners_key())
end

-- The state's lone hold becomes a crowd of one.
function crowd.gather(state)
    crowd.clear()
    state[KEPT] = 0
    crowd.put(state, state[ONLY], true)
    state[ONLY] = false
end

-- Removes these holds. Returns whether they were counted: a call that made one may have been cut off.
function crowd.remove(gone)
    local tokens, owners = {}, crowd.owners_key()
    for i, hold in ipairs(gone) do
        tokens[i] = hold[TOKEN]
    end
    call('hdel', crowd.holds_key(), unpack(tokens))
    local are_counted = call('zrem', crowd.expiries_key(), unpack(tokens)) > 0
    for _, hold in ipairs(gone) do
        if call('hincrby', owners, hold[OWNER], -1) <= 0 then
            call('hdel', owners, hold[OWNER])
        end
    end
    return are_counted
end

-- When the next hold ends; nil where there is none.
function crowd.next_end()
    return tonumber(call('zrange', crowd.expiries_key(), 0, 0, 'withscores')[2])
end

-- Holds by their places in order of their ends, from 0; -1 is the last.
function crowd.range(from, to)
    return crowd.holds_of(call('zrange', crowd.expiries_key(), from, to))
end

function crowd.is_whole()
    return call('exists', crowd.holds_key(), crowd.expiries_key(), crowd.owners_key()) == 3
end

-- Ends all holds, because a key of the crowd was evicted or deleted by hand. Otherwise the name would
-- stay locked, and a key that is written again would have no expiry.
function crowd.give_up(state)
    crowd.clear()
    state[COUNT], state[EXCLUSIVES], state[LIMIT], state[UNCLAIMED] = 0, 0, 0, 0
    state[RELEASED_HOLDS], state[EXTRA_PERMITS] = 0, 0
    state[VERSION] = next_number(state[VERSION])
end
