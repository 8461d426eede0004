-- For wrk: every request acquires a lock that nobody has. The requests are made beforehand, in one
-- piece but for the name, so that the load costs the two cores as little as can be.
local head, tail
local count = os.time() * 1000000

function init()
    head, tail = wrk.format('POST', '/locks/NAME?ttl=30s'):match('^(.*)NAME(.*)$')
end

function request()
    count = count + 1
    return head .. string.format('%.0f', count) .. tail
end
