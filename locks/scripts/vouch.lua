-- Vouch: the server still has its waiters and watchers of these names.
--
-- KEYS  1 the first of the names' main keys
-- ARGV  2 server, 3 its lease in ms, 4... all of the main keys
-- Returns the positions, from 1, of the names where the server is not in good standing: it is not
--         known there any more, or its waiters are passed over. It has to ask again there.
local server, lease = ARGV[2], ARGV[3] * 1000
local write, astray = even_if_full, {}
local tail = server .. '\0' -- what ends the record of a name with a front, before VOUCHED

-- Whether the server is in good standing for a name whose record this is.
local function vouch(name, record)
    local at, hash = #record - 8, name .. ':servers'
    if string.sub(record, at - #tail + 1, at) == tail then
        local ends = struct.unpack('<d', record, at + 1)
        if ends > now then
            write('setrange', name, at, struct.pack('<d', math.max(ends, now + lease)))
        end
        return ends > now
    end
    local packed = redis.pcall('hget', hash, server) -- in a Cluster it may be at another node
    local ends, suspect, watching = 0, 1, 0
    if type(packed) == 'string' then
        ends, suspect, watching = struct.unpack(STANDING, packed)
    end
    if ends > now then
        ends = math.max(ends, now + lease)
        write('hset', hash, server, struct.pack(STANDING, ends, suspect, watching))
    end
    return ends > now and suspect == 0
end

for i = 4, #ARGV do
    local record = redis.pcall('get', ARGV[i])
    -- A name whose main key was lost, by eviction or by hand, has no queue any more; and one that is
    -- on its way to another node, or has moved, is to be asked about there.
    if type(record) ~= 'string' or not vouch(ARGV[i], record) then
        astray[#astray + 1] = i - 3
    else
        write = call -- after the first, a full Redis takes all
    end
end
return astray
