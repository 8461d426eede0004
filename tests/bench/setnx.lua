-- For wrk: every request runs the script of the blogs, SET NX PX, through webdis. The script's SHA-1
-- is the argument. Made in the same way as the requests of acquire.lua.
local head, tail
local count = os.time() * 1000000

function init(arguments)
    local target = '/EVALSHA/' .. arguments[1] .. '/1/NAME/a-token-of-22-letters/30000'
    head, tail = wrk.format('GET', target):match('^(.*)NAME(.*)$')
end

function request()
    count = count + 1
    return head .. string.format('%.0f', count) .. tail
end
