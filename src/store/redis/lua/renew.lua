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

if string.sub(value, 1, 1) ~= '*' then
  local holder = single(value)
  if not holder then
    return corrupt()
  end
  if not holder.holds or holder.token ~= token then
    return { echo, 'not_held' }
  end
  redis.call('PEXPIRE', main, ttl + holder.delay)
  return { echo, 'extended' }
end
local now = millis(micros())
local held = redis.call('ZSCORE', ends, token)
if not held or tonumber(held) <= now then
  return { echo, 'not_held' }
end
extend(token, ttl, now)
return { echo, 'extended' }
