-- renew, plain layout: counts the end of each hold anew.
--
-- KEYS     the main key of each request
-- ARGV     [2] on: for each request a token · ttl ms; behind them 1 if the keys are to be read at the end
-- answers  for each request 1: extended · 0: not held · corrupt reason · error reason
local size = 2

-- include plain/holder.lua

local function serve(first)
  local value = stored()
  if value == nil then
    return corrupt()
  end
  local renewed = value == ARGV[first] and redis.call('PEXPIRE', main, ARGV[first + 1]) or 0
  if ARGV[2 + size * #KEYS] then
    redis.call('GET', main)
  end
  return renewed
end

-- include batch.lua
