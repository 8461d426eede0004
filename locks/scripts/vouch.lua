-- Vouch: the server still has its waiters and watchers of these names.
--
-- KEYS  1 the first of the names' main keys
-- ARGV  2 server, 3 its lease in ms, 4... all of the main keys
-- Returns the positions, from 1, of the names where the server is not in good standing: it is not
--         known there any more, or its waiters are passed over. It has to ask again there.
local server, lease = ARGV[2], ARGV[3] * 1000
local write, astray = even_if_full, {}
-- A name whose main key was lost, by eviction or by hand, has no queue any more.
local are_whole = call('exists', unpack(ARGV, 4)) == #ARGV - 3
for i = 4, #ARGV do
    local name = ARGV[i] .. ':servers'
    local packed = call('hget', name, server)
    local ends, suspect, watching = 0, 1, 0
    if packed then
        ends, suspect, watching = struct.unpack(STANDING, packed)
    end
    if ends > now and (are_whole or call('exists', ARGV[i]) == 1) then
        ends = math.max(ends, now + lease)
        write('hset', name, server, struct.pack(STANDING, ends, suspect, watching))
        write = call -- after the first, a full Redis takes all
    else
        suspect = 1
    end
    if suspect == 1 then
        astray[#astray + 1] = i - 3
    end
end
return astray
