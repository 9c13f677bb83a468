-- force_release: takes a resource away from all its holders.
--
-- KEYS     1-4 as in holders.lua
-- answers  opened holders-that-there-were · corrupt reason

-- include holders.lua

local value = redis.call('GET', main)
if not value then
  return { echo, 'opened', 0 }
end
if string.sub(value, 1, 1) ~= '*' then
  if not single(value) then
    return corrupt()
  end
  redis.call('DEL', main)
  return { echo, 'opened', 1 }
end
if not marker(value) then
  return corrupt()
end
if not purge(millis(micros())) then
  return { echo, 'opened', 0 }
end
local holders = redis.call('HLEN', records)
redis.call('DEL', main, ends, records, counts)
return { echo, 'opened', holders }
