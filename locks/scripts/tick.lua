-- Tick: nothing but what every operation does first. An expiry runs no code in Redis, so a server
-- that has waiters or watchers of a name calls this when something of it ends.
--
-- ARGV  2 the server that asks, which is told in the reply when to ask again
-- Returns {next_ms, version}; next_ms is -1 where nothing ends by itself.

local function tick(argv)
    local state = open()
    local next_ms = close(state, argv[2] or '')
    return answer({next_ms, state[VERSION]})
end

register('tick', tick)
