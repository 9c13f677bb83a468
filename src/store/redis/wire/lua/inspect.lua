-- inspect: tells the holders of a resource, those that end first, and the number of its waiters.
--
-- KEYS     [1] main key, [2] as in fence.lua
-- ARGV     [2] the most holders to tell of
-- answers  holders total waiting capacity, then for each: token-prefix state ms-left record
--          corrupt reason

-- include time.lua
-- include holders.lua

on(KEYS[1])
local limit = tonumber(ARGV[2])
local now = millis(micros())

local state = settled(redis.call('GET', main), now)
if not state then
  return { ARGV[1], corrupt() }
end
local holder = state.holder
local total = state.kind and (holder and 1 or redis.call('HLEN', records)) or 0
if some_are_over then
  -- A hold that is over and not cleared away holds nothing; one that keeps the resource closed may be missing in the count.
  total = math.max(0, total - redis.call('ZCOUNT', ends, '-inf', now))
end
local waiting = redis.call('ZCARD', queue)
for _, token in ipairs(redis.call('ZRANGEBYSCORE', tickets, '-inf', now, 'LIMIT', 0, math.max(1, budget))) do
  -- Its ticket has expired, and is not cleared away yet.
  if redis.call('ZSCORE', queue, token) then
    waiting = waiting - 1
  end
end
local answer = { 'holders', total, waiting, state.number or '' }
local before = #answer

local function tell(prefix, it_is, left, record)
  if #answer - before < 4 * limit then
    for _, field in ipairs({ prefix, it_is, left, record }) do
      answer[#answer + 1] = field
    end
  end
end

if holder then
  tell(string.sub(holder.token, 1, 8), holder.holds and 'holding' or 'closed', holder.left, holder.record)
elseif state.kind then
  local told = {}
  -- A holder with a lock delay is listed there twice.
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', ends, '(' .. string.format('%.0f', now), '+inf', 'LIMIT', 0, 2 * limit + 1)) do
    local token = string.sub(member, -32)
    if not told[token] then
      told[token] = true
      local prefix, it_is, left, _, record = describe(member, now)
      tell(prefix, it_is, left, record)
    end
  end
end
return { ARGV[1], answer }
