-- Ready: whether a grant could be stored now; fails as a grant would on a replica or a full Redis.
--
-- KEYS[1]  a key that nothing else uses
-- Returns 1.
redis.call('set', KEYS[1], '1', 'px', 1000)
return 1
