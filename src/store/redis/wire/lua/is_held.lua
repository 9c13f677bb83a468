-- is_held: tells if a token holds at this moment. Writes nothing.
--
-- KEYS     [1] main key, [2] as in fence.lua
-- ARGV     [2] token
-- answers  yes · no · corrupt reason

-- include time.lua
-- include holders.lua

on(KEYS[1])
local token = ARGV[2]

local state = read(stored())
if not state then
  return { ARGV[1], corrupt() }
end
local held = holds(state, token)
if held and not state.holder then
  -- It may be over and not cleared away yet.
  held = tonumber(held) > millis(micros())
end
return { ARGV[1], { held and 'yes' or 'no' } }
