-- inspect: tells the holders of a resource, those that end first, and its waiters, the first of the queue.
--
-- KEYS     [1] main key, [2] as in fence.lua
-- ARGV     [2] the most holders to tell of, and the most waiters (WAITERS_TOLD_AT_MOST in the contract)
-- answers  holders total waiting capacity micros told, then for each of the holders that are told: token-prefix state ms-left
--          record, then for each waiter: token-prefix arrival capacity record-without-its-fence
--          corrupt reason
--          micros is nothing on a node of a quorum, whose fences and arrivals come from several clocks

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
-- The counter of fences has no end on the nodes of a quorum, and nowhere else.
local time = redis.call('PTTL', KEYS[2] .. 'fence') == -1 and '' or micros()
local answer = { 'holders', total, waiting, state.number or '', time, 0 }

local function tell(a, b, c, d)
  for _, field in ipairs({ a, b, c, d }) do
    answer[#answer + 1] = field
  end
end

local function tell_holder(prefix, it_is, left, record)
  if answer[6] < limit then
    answer[6] = answer[6] + 1
    tell(prefix, it_is, left, record)
  end
end

-- Tells the first waiters whose tickets have not expired. A long record takes longer.
local function tell_waiters()
  local at, told, left = 0, 0, 500
  while told < limit and left > 0 do
    local page = redis.call('ZRANGE', queue, at, at + math.min(limit, 64) - 1)
    if not page[1] then
      return
    end
    at = at + #page
    for _, token in ipairs(page) do
      local expires = redis.call('ZSCORE', tickets, token)
      if told < limit and left > 0 and expires and tonumber(expires) > now then
        local waiter = redis.call('HGET', waiters, token) or ''
        local arrival, capacity, record = string.match(waiter, '^(%d+) [01] %S+ %d+ %d+ (%d*) [01] (.*)$')
        if arrival then
          tell(string.sub(token, 1, 8), arrival, capacity, ' ' .. record)
          told = told + 1
        end
        left = left - math.floor(#waiter / 1024)
      end
      left = left - 1
    end
  end
end

if holder then
  tell_holder(string.sub(holder.token, 1, 8), holder.holds and 'holding' or 'closed', holder.left, holder.record)
elseif state.kind then
  local told = {}
  -- A holder with a lock delay is listed there twice.
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', ends, '(' .. string.format('%.0f', now), '+inf', 'LIMIT', 0, 2 * limit + 1)) do
    local token = string.sub(member, -32)
    if not told[token] then
      told[token] = true
      local prefix, it_is, left, _, record = describe(member, now)
      tell_holder(prefix, it_is, left, record)
    end
  end
end
if waiting > 0 then
  tell_waiters()
end
return { ARGV[1], answer }
