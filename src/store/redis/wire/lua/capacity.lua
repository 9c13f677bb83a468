-- capacity: sets the number of permits of a resource, which counts in place of those that requests name, and tells its waiters
-- to look again.
--
-- KEYS     [1] main key, [2] as in fence.lua
-- ARGV     [2] the number; nothing: those of the requests count
-- answers  set

-- include time.lua
local set, told = KEYS[1] .. ':c', redis.call('ZRANGE', KEYS[1] .. ':q', 0, 319)
-- Also what is removed already is written, so that replicas confirm it again.
redis.call('SET', set, ARGV[2])
if ARGV[2] == '' then
  redis.call('DEL', set)
end
-- It is set: whatever fails from here on must not look as if it were not.
for _, token in ipairs(told) do
  local waiter = redis.pcall('HGET', KEYS[1] .. ':w', token)
  local inbox = type(waiter) == 'string' and string.match(waiter, '^%d+ %d (%S+)')
  local gone = redis.pcall('ZSCORE', KEYS[1] .. ':p', token)
  if inbox and type(gone) == 'string' and tonumber(gone) > millis(micros()) then
    redis.pcall('PUBLISH', inbox, '!' .. token)
  end
end
return { ARGV[1], { 'set' } }
