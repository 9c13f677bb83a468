-- renew, plain layout: counts the end of each hold anew.
--
-- KEYS     the main key of each request
-- ARGV     [2] on: for each request a token · ttl ms
-- answers  for each request 1: extended · 0: not held · error reason
local size = 2

-- include plain/holder.lua

local function serve(first)
  return redis.call('GET', main) == ARGV[first] and redis.call('PEXPIRE', main, ARGV[first + 1]) or 0
end

-- include batch.lua
