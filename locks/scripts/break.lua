-- Break: ends every hold of a name, whoever has it, and hands over.
--
-- Returns {holds ended, version}.
local state, changed = open()
local count = state[COUNT]
if count > BATCH then
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
if count > 0 then
    hand_over(state)
end
if count > 0 or changed then
    save_even_if_full(state)
end
return {count, state[VERSION]}
