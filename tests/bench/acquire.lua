-- For wrk: every request acquires a lock that nobody has. The requests are made beforehand, in one
-- piece but for the name, so that the load costs the two cores as little as can be.
-- Arguments: the target, with NAME where the name goes, the method, and a body of JSON, if there is one.
local head, tail
local count = os.time() * 1000000

function init(arguments)
    local target, method = arguments[1] or '/locks/NAME?ttl=30s', arguments[2] or 'POST'
    local headers = arguments[3] and {['Content-Type'] = 'application/json'}
    head, tail = wrk.format(method, target, headers, arguments[3]):match('^(.*)NAME(.*)$')
end

function request()
    count = count + 1
    return head .. string.format('%.0f', count) .. tail
end
