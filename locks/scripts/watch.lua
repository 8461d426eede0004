-- Watch: the server wants to hear of every new version of the name.
--
-- ARGV  2 server, 3 its lease in ms, 4 a token to look for among the holds, or ''
-- Returns {next_ms, view}, as tick and inspect do.
local state = settle()
if state.unfinished then
    return answer(unfinished(state))
end
make_room(state)
servers(state).enlist(ARGV[2], ARGV[3], 1)
hand_over(state)
return answer({close(state, even_if_full, ARGV[2]), whole_view(state, ARGV[4])})
