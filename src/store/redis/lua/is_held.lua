-- is_held: whether a token holds at this moment. Writes nothing.
--
-- KEYS     1-4 as in holders.lua
-- ARGV     [2] token
-- answers  yes · no · corrupt reason

-- include holders.lua

local token = ARGV[2]

local state = read(redis.call('GET', main))
if not state then
  return corrupt()
end
local held = holds(state, token)
if held and not state.holder then
  -- It may be over and not cleared away yet.
  held = tonumber(held) > millis(micros())
end
return { echo, held and 'yes' or 'no' }
