-- is_held: whether a token holds at this moment. Writes nothing.
--
-- KEYS     1-4 as in holders.lua
-- ARGV     [2] token
-- answers  yes · no · corrupt reason

-- include holders.lua

local token = ARGV[2]

local function answer(holds)
  return { echo, holds and 'yes' or 'no' }
end

local value = redis.call('GET', main)
if not value then
  return answer(false)
end
if string.sub(value, 1, 1) == '*' then
  local held = redis.call('ZSCORE', ends, token)
  return answer(held and tonumber(held) > millis(micros()))
end
local holder = single(value)
if not holder then
  return corrupt()
end
return answer(holder.holds and holder.token == token)
