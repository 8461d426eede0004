-- Raise: brings a member of a quorum up to a number that another one has given: the name's version,
-- and the fence of one hold, so that all members that have it know it by the same one.
--
-- ARGV  2 the hold's token, or '' for the version alone, 3 the number,
--       4 of a hold: the fence that this request has given it here, or 0,
--       5 'all' if a majority of the members has the number as the hold's fence already, so that it is the one whatever
--         was issued here since; 'some' if fewer have it. A greater one stays, unless it is that of 4
-- Returns {'raised', version, fence}; {'other', version, fence}: another request has raised the fence of the hold,
--         or may have; {'higher', version, fence}: a number as great was given to something else here;
--         {'gone', version}: the token has no hold.

-- A fence that was raised is less than the version: so it is not taken for one that is as it was granted.
local function may_be_raised(state, hold, known)
    return hold[FENCE] ~= known and hold[FENCE] ~= state[VERSION]
end

-- A member gives a number to one hold only, so no two holds have it at a majority of the members.
local function raise_fence(state, hold, number, known, others)
    local is_taken = hold[FENCE] > number and hold[FENCE] ~= known
    if hold[FENCE] == number then
        return 'raised'
    elseif others and is_taken or not others and may_be_raised(state, hold, known) then
        return 'other'
    elseif others ~= 'all' and state[VERSION] >= number then
        return 'higher'
    end
    state[VERSION], hold[FENCE] = max(state[VERSION], number + 1), number
    holds.update(state, hold)
    return 'raised'
end

local function raise(argv)
    local token, number = argv[2], tonumber(argv[3])
    local state = open()
    if state.unfinished then
        return unfinished(state)
    end
    local hold, status = token ~= '' and holds.find(state, token), 'gone'
    if hold then
        status = raise_fence(state, hold, number, tonumber(argv[4]), argv[5])
    elseif token == '' then
        state[VERSION], status = max(state[VERSION], number), 'raised'
    end
    return finish(state, {status, state[VERSION], hold and hold[FENCE] or nil})
end

register('raise', raise)
