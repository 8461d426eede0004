-- Ready: whether a grant could be stored now; fails as a grant would on a replica or a full Redis.
--
-- KEYS[1]  the main key of the empty name, which no lock has
-- Returns 1.
call('set', key .. ':ready', '1', 'px', 1000)
return 1
