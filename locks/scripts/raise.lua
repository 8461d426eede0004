-- Raise: brings a member of a quorum up to a number that another one has given: the name's version,
-- and the fence of one hold, so that all members that have it know it by the same one.
--
-- ARGV  2 the hold's token, or '' for the version alone, 3 the number,
--       4 of a hold: the fence by which the request knows it here,
--       5 'again' if each member has a fence that was proposed, and no majority has the same: then the greatest
--         stays. 'agreed' if a majority has the number: then it is the fence, whatever was issued here since, unless
--         this is a later hold, with a greater fence than that of 4. Without either, the first proposal stays
-- Returns {'raised', version, fence}; {'other', version, fence}: another proposal stays;
--         {'higher', version, fence}: a number as great was given to something else here;
--         {'gone', version}: the token has no hold.

local RAISED = ' ' -- begins the attempts of a hold whose fence was proposed

-- A client that knows its hold knows a fence that was agreed on.
local function is_raised(hold)
    return sub(hold[ATTEMPT], 1, 1) == RAISED or sub(hold[ATTEMPT], 1, #KNOWN) == KNOWN
end

-- Whether the hold keeps a fence that was proposed before, or is none that this number is for.
local function keeps_other(hold, number, known, step)
    if step == 'agreed' then
        return hold[FENCE] > number and hold[FENCE] ~= known
    elseif step == 'again' then
        return hold[FENCE] > number
    end
    return is_raised(hold)
end

-- A member gives a number to one hold only, so no two holds have it at a majority of the members.
local function raise_fence(state, hold, number, known, step)
    if hold[FENCE] ~= number and keeps_other(hold, number, known, step) then
        return 'other'
    elseif hold[FENCE] ~= number and step ~= 'agreed' and state[VERSION] >= number then
        return 'higher'
    end
    state[VERSION], hold[FENCE] = max(state[VERSION], number), number
    if not is_raised(hold) then
        hold[ATTEMPT] = RAISED .. hold[ATTEMPT]
    end
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
