-- Libraries: notes that batond still calls the functions of this library here, and finds libraries of other
-- releases that nobody has called for any more. A server of each release asks this about once an hour.
--
-- KEYS[1]  a hash: the name of a library, and when it was last called for, in us; the field of one that
--          is found leaves it, since its library is deleted then. It is kept for thirty times as long as
--          a library
-- ARGV  2 the name of the library of the server that asks, 3 after which time without such a call a library
--       is found, in ms
-- Returns the names of those that are found. What is not in the hash is not known here and is left alone.

local function libraries(argv)
    local own, kept_us, found = argv[2], argv[3] * 1000, {}
    call('hset', key, own, now)
    call('pexpire', key, 30 * argv[3])
    local all = call('hgetall', key)
    for i = 1, #all, 2 do
        if all[i] ~= own and now - (tonumber(all[i + 1]) or 0) > kept_us then
            call('hdel', key, all[i])
            insert(found, all[i])
        end
    end
    return found
end

register('libraries', libraries, KIND.UNSTAMPED)
