-- force_release: takes a resource away from all its holders, and gives it to those who wait.
--
-- KEYS     1-4 as in holders.lua, 5 as in fence.lua, 6-8 as in queue.lua
-- ARGV     [2] fence retention ms
-- answers  opened holders-that-there-were · corrupt reason

-- include fence.lua
-- include holders.lua
-- include admission.lua
-- include queue.lua

local time = micros()
local now = millis(time)

local state = settled(redis.call('GET', main), now)
if not state then
  return corrupt()
end
local holders = 0
if state.kind then
  holders = state.holder and 1 or redis.call('HLEN', records)
  clear()
end
if anybody_waits(now) then
  hand_over({}, time)
end
return { echo, 'opened', holders }
