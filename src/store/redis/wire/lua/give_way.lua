-- give_way: releases what a waiter was granted, and puts it back into the queue, at one moment.
--
-- KEYS     [1] main key, [2] as in fence.lua
-- ARGV     [2]-[5] the acquisition, as in attempt.lua, with a queue ticket, [6] as in fence.lua
-- answers  1 · corrupt reason

-- include time.lua
-- include fence.lua
-- include holders.lua
-- include admission.lua
-- include queue.lua
-- include attempt.lua
-- include releasing.lua

on(KEYS[1])
local request = request_at(2)
local state = settled(now, request.token)
if not state then
  return { ARGV[1], corrupt() }
end
anybody_waits(now)
local _
_, state = release(state, request.token, request.owner, open)
enqueue(request, state)
refresh(request)
hand_over(state, now)
return { ARGV[1], 1 }
