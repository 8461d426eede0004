-- Raise: brings a member of a quorum up to a number that another one has given: the name's version,
-- and the fence of one hold, so that all members that have it know it by the same one.
--
-- ARGV  2 the hold's token, or '' for the version alone, 3 the number,
--       4 where a majority has the number as the hold's fence already: the fence that this member has
--         told of it. So it is, whatever was issued here since; but a later hold of the token, if there
--         is one by now, keeps what is above
-- Returns {'raised', version}; {'higher', version}: a number as great was given to something else
--         here; {'gone', version}: the token has no hold.

local function raise(argv)
    local token, number, known = argv[2], tonumber(argv[3]), tonumber(argv[4])
    local state = open()
    if state.unfinished then
        return unfinished(state)
    end
    local hold = token ~= '' and holds.find(state, token)
    local status = 'raised'
    if token ~= '' and not hold then
        status = 'gone'
    elseif state[VERSION] < number or
           hold and known and (hold[FENCE] < number or hold[FENCE] == known) then
        state[VERSION] = max(state[VERSION], number)
        if hold then
            hold[FENCE] = number
            holds.update(state, hold)
        end
    elseif hold and hold[FENCE] ~= number then
        status = 'higher'
    end
    return finish(state, {status, state[VERSION]})
end

register('raise', raise)
