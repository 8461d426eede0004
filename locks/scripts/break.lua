-- Break: ends every hold of a name, whoever has it, and hands over.
--
-- Returns {holds ended, version}.
local state = open()
local count = state[COUNT]
if count > BATCH and state[UNCLAIMED] == 0 then
    crowd().leave_last(state)
end
while state[COUNT] > 0 do
    local gone = first(state, BATCH)
    if #gone > 0 then
        retire(state, gone, 'forced', false)
    else
        crowd().give_up(state)
    end
end
if state.unclaimed then -- whose clients know of no hold
    queue(state).take_back(false)
end
hand_over(state)
close(state, even_if_full)
return answer({count, state[VERSION]})
