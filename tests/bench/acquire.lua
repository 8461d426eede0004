-- For wrk: every request acquires a lock that nobody has.
local seed = os.time()
local count = 0

function request()
    count = count + 1
    return wrk.format('POST', '/locks/' .. seed .. '-' .. count .. '?ttl=30s')
end
