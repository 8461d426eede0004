-- Mark: changes a key of this server's own, so that it hears of that from Redis as of any change to
-- a lock. What was changed before, it has heard of by then.
--
-- KEYS[1]  the main key of the empty name, which no lock has
-- ARGV  2 what tells this mark from all others
-- Returns the time in microseconds.

local function mark(argv)
    call('set', key .. ':mark:' .. argv[2], '', 'px', 1000)
    return now
end

register('mark', mark, KIND.ALONE)
