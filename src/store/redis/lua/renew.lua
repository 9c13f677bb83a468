-- renew: counts the end of a live hold anew.
--
-- KEYS     1-4 as in holders.lua
-- ARGV     [2] token, [3] ttl ms
-- answers  extended · not_held · corrupt reason
local token, ttl = ARGV[2], tonumber(ARGV[3])

local value = redis.call('GET', KEYS[1])
if not value then
  return { ARGV[1], 'not_held' }
end
if string.sub(value, 1, 33) == token .. '-' then
  redis.call('PEXPIRE', KEYS[1], ttl)
  return { ARGV[1], 'extended' }
end

-- include holders.lua

local state = read(value)
if not state then
  return corrupt()
end
local now = millis(micros())
local held = holds(state, token)
-- One of several may be over and not cleared away yet.
if not held or not state.holder and tonumber(held) <= now then
  return { echo, 'not_held' }
end
extend(state, token, ttl, now)
return { echo, 'extended' }
