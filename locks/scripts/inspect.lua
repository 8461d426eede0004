-- Inspect: what others may see of a name.
--
-- ARGV  2 a token to look for among the holds, or ''
--       3 how many of those who wait to tell, or '' for as many as ever
-- Returns {name, {{owner, mode, waited_ms, since, client}, ...}}: the name as view.name packs it, and where somebody waits
--         the first in the queue.

local function inspect(argv)
    local state = open()
    if state.unfinished then
        return unfinished(state)
    end
    close(state)
    return answer(view.whole(state, argv[2], tonumber(argv[3])))
end

register('inspect', inspect)
