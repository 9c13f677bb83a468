-- force_release: takes a resource away from all its holders, and hands it over to the waiters.
--
-- KEYS     [1] main key, [2] as in fence.lua
-- ARGV     [2] as in notices.lua; the last as in fence.lua
-- answers  opened holders-that-there-were · corrupt reason

-- include time.lua
-- include fence.lua
-- include holders.lua
-- include admission.lua
-- include queue.lua
-- include notices.lua

on(KEYS[1])
local now = millis(micros())

local state = settled(now)
if not state then
  return { ARGV[1], corrupt() }
end
local holders = 0
if state.kind then
  holders = state.holder and 1 or redis.call('HLEN', records)
  local told = holding(state, now)
  if told[1] then
    -- Without the right to publish it is taken all the same.
    redis.pcall('PUBLISH', ARGV[2], message('taken', told))
  end
  clear()
end
if anybody_waits(now) then
  hand_over({}, now)
end
return { ARGV[1], { 'opened', holders } }
