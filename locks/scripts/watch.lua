-- Watch: the server wants to hear of every new version of the name.
--
-- ARGV  2 server, 3 its lease in ms, 4 a token to look for among the holds, or ''
-- Returns {next_ms, view}, as tick and inspect do.

local function watch(argv)
    local state = settle()
    if state.unfinished then
        return unfinished(state)
    end
    if is_full and (state.inline or not servers.find(state, argv[2])) then
        return refuse_full(state)
    end
    servers.enlist(state, argv[2], tonumber(argv[3]), 1)
    hand_over(state)
    local next_ms = close(state, argv[2])
    return answer({next_ms, view.whole(state, argv[4])})
end

register('watch', watch, KIND.NEEDS_MEMORY)
