-- What others may see of those who wait for a name.

local SHOWN = 10 -- of them, where nobody asks for more

-- The lines that a waiter may stand in, and whether it is passed over there for now.
local function lines(state)
    if state.lone then
        return behind_front(state) > 0 and {{key .. ':queue:' .. state.lone[SERVER], 0}} or {}
    end
    local found = {}
    for _, server in ipairs(servers(state)) do
        found[#found + 1] = {key .. ':queue:' .. server[ID], server[SUSPECT]}
    end
    if state[AWAY] > 0 then
        found[#found + 1] = {key .. ':queue:absent', 0}
        found[#found + 1] = {key .. ':queue:missed', 1}
    end
    return found
end

local function stands_before(one, other)
    for i = 1, 2 do
        if one[i] ~= other[i] then
            return one[i] < other[i]
        end
    end
    return one[3] < other[3]
end

-- The tokens of the first in all lines together: {1 if passed over, place, token}.
local function merge(all, most)
    local merged = {}
    for _, line in ipairs(all) do
        local some = call('zrange', line[1], 0, most - 1, 'withscores')
        for i = 1, #some, 2 do
            merged[#merged + 1] = {line[2], tonumber(some[i + 1]), some[i]}
        end
    end
    table.sort(merged, stands_before)
    return merged
end

local function represent(waiter)
    local waited = math.max(now - waiter[SINCE], 0) -- arrivals may be a little ahead of time
    return {waiter[OWNER], waiter[MODE], math.floor(waited / 1000)}
end

-- The first of those who wait, in the order in which they would be granted, those who are passed
-- over now behind the others: {{owner, mode, waited_ms}, ...}. To be asked when all that is due has
-- been done.
local function line_of(state, most)
    if state[WAITERS] == 0 then
        return {}
    end
    local tokens, line = {}, {}
    if state.lone and state.lone[TOKEN] ~= '' then
        line[1] = represent(state.lone)
    end
    for i, place in ipairs(merge(lines(state), most)) do
        tokens[i] = i <= most - #line and place[3] or nil
    end
    local found = tokens[1] and call('hmget', key .. ':waiters', unpack(tokens)) or {}
    for _, packed in ipairs(found) do
        if packed then -- a record may have been lost
            line[#line + 1] = represent({struct.unpack(WAITER, packed)})
        end
    end
    return line
end

-- What others may see of a name and of those who wait for it: of so many, where `most` says it.
local function whole_view(state, token, most)
    local seen = view(state, token)
    if state[WAITERS] > 0 then
        seen[8] = line_of(state, most or SHOWN)
    end
    return seen
end
