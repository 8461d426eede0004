-- Tick: nothing but what every operation does first. An expiry runs no code in Redis, so a server
-- that has waiters or watchers of a name runs this when something of it ends.
--
-- ARGV  2 the server that asks, which is told in the reply when to ask again
-- Returns {next_ms, version}; next_ms is -1 where nothing ends by itself.
local state = open()
return answer({close(state, even_if_full, ARGV[2] or ''), state[VERSION]})
