-- inspect: who holds a resource, those that end first.
--
-- KEYS     1-4 as in holders.lua
-- ARGV     [2] the most holders to tell of
-- answers  holders total capacity, then for each: token-prefix state ms-left record
--          corrupt reason

-- include holders.lua

local limit = tonumber(ARGV[2])

local value = redis.call('GET', main)
if not value then
  return { echo, 'holders', 0, '' }
end
if string.sub(value, 1, 1) ~= '*' then
  local holder = single(value)
  if not holder then
    return corrupt()
  end
  if limit == 0 then
    return { echo, 'holders', 1, '' }
  end
  local state = holder.holds and 'holding' or 'closed'
  return { echo, 'holders', 1, '', string.sub(holder.token, 1, 8), state, holder.left, holder.record }
end

local now = millis(micros())
local kind, number = marker(value)
if not kind then
  return corrupt()
end
if not purge(now) then
  return { echo, 'holders', 0, '' }
end
local answer = { echo, 'holders', redis.call('HLEN', records), number }
local told = {}
-- A holder with a lock delay stands there twice.
for _, member in ipairs(redis.call('ZRANGE', ends, 0, 2 * limit)) do
  local token = string.sub(member, -32)
  if #answer - 4 < 4 * limit and not told[token] then
    told[token] = true
    local prefix, state, left, _, record = describe(member, now)
    answer[#answer + 1] = prefix
    answer[#answer + 1] = state
    answer[#answer + 1] = left
    answer[#answer + 1] = record
  end
end
return answer
