-- release, plain layout: releases each hold.
--
-- KEYS     the main key of each request
-- ARGV     [2] on: for each request a token · ms for which the resource stays closed
-- answers  for each request 1: freed · 0: not held · corrupt reason · error reason
local size = 2

-- include plain/holder.lua

local function serve(first)
  local token, cooldown = ARGV[first], ARGV[first + 1]
  local value = stored()
  if value ~= token then
    return value == nil and corrupt() or 0
  end
  if cooldown == '0' then
    return redis.call('DEL', main)
  end
  -- First a write that takes no memory: after it a full server lets a script go on.
  redis.call('PEXPIRE', main, cooldown)
  redis.call('SET', main, token .. '~', 'PX', cooldown)
  return 1
end

-- include batch.lua
