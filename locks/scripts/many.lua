-- Many: the calls that a batond makes in one turn of its loop, each for another name, as one command. So they
-- share what a command costs: its function, its stamp, the clock and the epoch.
--
-- KEYS  the main key of each call; none is there twice
-- ARGV  1 the stamp, then of each call its function, how many arguments it has, and these, from ARGV[2] on
-- Returns the reply of each call, or its error. A call ends nothing of the others. Once they have done about as
-- much as a call alone may, the others are `unfinished`, so that Redis is not blocked for longer.

local SPENT_MOST = 100 -- a value

-- An error says that it comes from within a script, as Redis has it for a call alone: see redis/wire/errors.c.
local function reply_of(is_well, found)
    if is_well then
        return found
    end
    return {err = (type(found) == 'table' and found.err or found) .. ' script: many'}
end

local function many(argv, keys)
    local replies, at = {}, 2
    for i = 1, #keys do
        local run, behind = gathered[argv[at]], at + 2 + tonumber(argv[at + 1])
        if spent < SPENT_MOST then
            begin_call(keys[i], false)
            replies[i] = reply_of(pcall(run, {argv[1], unpack(argv, at + 2, behind - 1)}))
        else
            replies[i] = {'unfinished'}
        end
        at = behind
    end
    return replies
end

register('many', many, KIND.GATHERS)
