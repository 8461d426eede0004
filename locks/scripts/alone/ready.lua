-- Ready: whether a grant could be stored now; fails as a grant would on a replica or a full Redis. Tries
-- each command that scripts use, on keys of its own, for the rights of batond's user in Redis. Stands
-- alone, since a script that may not even tell the time could not say so.
--
-- KEYS[1]  the main key of a name that no lock has
-- Returns 1, or the error RIGHTS with the names of the commands that are refused.
local key, inbox = KEYS[1] .. ':ready', string.match(KEYS[1], '^[^{]*') .. 'inbox:ready'
local hash, line, other, missing = key .. ':hash', key .. ':line', key .. ':other', {}

-- What ends a key comes first: where that is refused, nothing is made that would stay.
local ENDING = {
    {'set', key, '1', 'px', 1000},
    {'pexpire', key, 1000},
    {'pexpireat', key, 1},
    {'unlink', hash, line, other},
}
local OTHERS = {
    {'exists', key},
    {'get', key},
    {'setrange', key, 0, ''},
    {'time'},
    {'scan', 0, 'count', 1},
    {'publish', inbox, ''},
    {'hset', hash, 'a', 1},
    {'hsetnx', hash, 'b', 1},
    {'hincrby', hash, 'a', 1},
    {'hget', hash, 'a'},
    {'hmget', hash, 'a', 'b'},
    {'hgetall', hash},
    {'hdel', hash, 'b'},
    {'zadd', line, 1, 'a'},
    {'zcard', line},
    {'zrange', line, 0, 0},
    {'zrangebyscore', line, 1, 1},
    {'zunionstore', other, 1, line},
    {'zrem', line, 'a'},
    {'unlink', hash, line, other},
}

-- What Redis 7.0, Redis 7.2 and newer, and Valkey say of a command that the user may not run, and
-- each of one that it does not have.
local REFUSALS = {"can't run this command", 'no permissions to run', 'noperm', 'unknown'}

local function is_refused(reason)
    for _, words in ipairs(REFUSALS) do
        if string.find(string.lower(reason), words, 1, true) then
            return true
        end
    end
    return false
end

-- Returns any other error.
local function try(commands)
    for _, command in ipairs(commands) do
        local reply = redis.pcall(unpack(command))
        local reason = type(reply) == 'table' and reply.err
        if reason and is_refused(reason) then
            missing[#missing + 1] = command[1]
        elseif reason then
            return {err = reason}
        end
    end
    return nil
end

local failure = try(ENDING)
if not failure and #missing == 0 then
    failure = try(OTHERS)
end
if failure then
    return failure
elseif #missing > 0 then
    return {err = 'RIGHTS ' .. table.concat(missing, ' ')}
end
return 1
