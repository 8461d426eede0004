-- For wrk: every request runs the script of the blogs, SET NX PX, through webdis. The script's SHA-1
-- is the argument.
local seed = os.time()
local count = 0
local path

function init(arguments)
    path = '/EVALSHA/' .. arguments[1] .. '/1/'
end

function request()
    count = count + 1
    return wrk.format('GET', path .. seed .. '-' .. count .. '/a-token-of-22-letters/30000')
end
