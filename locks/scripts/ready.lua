-- Ready: whether a grant could be stored now; fails as a grant would on a replica or a full Redis. Tries
-- each command that scripts use, on keys of its own, for the rights of batond's user in Redis.
--
-- KEYS[1]  the main key of a name that no lock has
-- Returns 1, or the error COMMANDS with the names of those that Redis does not have, or else RIGHTS with
-- the rules of Redis (ACL) that the user lacks, such as +zadd.

-- What ends a key comes first: where that is refused, nothing is made that would stay.
local function ending_commands(all)
    return {
        {'set', all.key, '1', 'px', 1000},
        {'pexpire', all.key, 1000},
        {'pexpireat', all.key, 1},
        {'unlink', all.hash, all.line, all.other},
    }
end

local function other_commands(all)
    local hash, line = all.hash, all.line
    return {
        {'exists', all.key},
        {'get', all.key},
        {'setrange', all.key, 0, ''},
        {'time'},
        {'scan', 0, 'count', 1},
        {'publish', all.inbox, ''},
        {'hset', hash, 'a', 1},
        {'hincrby', hash, 'a', 1},
        {'hget', hash, 'a'},
        {'hmget', hash, 'a', 'b'},
        {'hgetall', hash},
        {'hdel', hash, 'b'},
        {'zadd', line, 1, 'a'},
        {'zcard', line},
        {'zrange', line, 0, 0},
        {'zrangebyscore', line, 1, 1},
        {'zunionstore', all.other, 1, line},
        {'zrem', line, 'a'},
        {'unlink', hash, line, all.other},
    }
end

-- What Redis 7.0, and then Redis 7.2 and newer and Valkey, say of a command, of a key and of a channel that
-- the user may not use, and how the rule begins that allows it.
local REFUSALS = {
    {"can't run this command", '+'}, {'no permissions to run', '+'},
    {'the keys mentioned', '~'}, {'access a key', '~'},
    {'the channel mentioned', '&'}, {'access a channel', '&'}, {'noperm', '+'},
}

-- Returns nil for any other error. `prefix` begins all keys and channels of batond.
local function lacking_rule(reason, command, prefix)
    for _, refusal in ipairs(REFUSALS) do
        if find_text(reason, refusal[1], 1, true) then
            return refusal[2] .. (refusal[2] == '+' and command or prefix .. '*')
        end
    end
    return nil
end

-- Adds to `missing` the rules that the user lacks, and to `unknown` the commands that Redis does not have.
-- Returns any other error.
local function try_commands(commands, prefix, missing, unknown)
    for _, command in ipairs(commands) do
        local reply = pcall_redis(unpack(command))
        local reason = type(reply) == 'table' and reply.err
        local rule = reason and lacking_rule(lower(reason), command[1], prefix)
        if reason and find_text(lower(reason), 'unknown', 1, true) then
            insert(unknown, command[1])
        elseif rule and not missing[rule] then
            missing[rule] = true
            insert(missing, rule)
        elseif reason and not rule then
            return {err = reason}
        end
    end
    return nil
end

local function ready(keys)
    local name = keys[1] .. ':ready'
    local prefix = match(name, '^[^{]*')
    local all = {key = name, hash = name .. ':hash', line = name .. ':line', other = name .. ':other',
                 inbox = prefix .. 'inbox:ready'}
    local missing, unknown = {}, {}
    local failure = try_commands(ending_commands(all), prefix, missing, unknown)
    if not failure and #missing == 0 and #unknown == 0 then
        failure = try_commands(other_commands(all), prefix, missing, unknown)
    end
    if failure then
        return failure
    elseif #unknown > 0 then
        return {err = 'COMMANDS ' .. concat(unknown, ' ')}
    elseif #missing > 0 then
        return {err = 'RIGHTS ' .. concat(missing, ' ')}
    end
    return 1
end

register('ready', ready, KIND.FAILS_WHEN_FULL)
