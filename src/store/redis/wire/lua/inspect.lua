-- inspect: tells the holders of a resource, those that end first, and its waiters, the first of the queue.
--
-- KEYS     [1] main key, [2] as in fence.lua
-- ARGV     [2] the most holders to tell of, and the most waiters (TOLD_AT_MOST in the contract)
-- answers  holders total waiting micros told capacity, then for each of the holders that are told: token-prefix state ms-left
--          record, then for each waiter: token-prefix arrival record-without-its-fence
--          corrupt reason
--          capacity is the number of permits that was set, or nothing
--          micros is nothing on a node of a quorum, whose fences and arrivals come from several clocks

-- include time.lua
-- include holders.lua

on(KEYS[1])
local limit = tonumber(ARGV[2])
local now = millis(micros())

local state = settled(now)
if not state then
  return { ARGV[1], corrupt() }
end
local holder = state.holder
local total = state.kind and (holder and 1 or redis.call('HLEN', records)) or 0
if some_are_over then
  -- A hold that is over and not cleared away holds nothing; one that keeps the resource closed may be missing in the count.
  total = math.max(0, total - redis.call('ZCOUNT', ends, '-inf', now))
end
local waiting, gone = redis.call('ZCARD', queue), {}
local most = math.max(1, budget)
local expired = redis.call('ZRANGEBYSCORE', tickets, '-inf', now, 'LIMIT', 0, most)
for _, token in ipairs(expired) do
  -- Its ticket has expired, and is not cleared away yet.
  gone[token] = true
  if redis.call('ZSCORE', queue, token) then
    waiting = waiting - 1
  end
end
-- The counter of fences has no end on the nodes of a quorum, and nowhere else.
local time = redis.call('PTTL', KEYS[2] .. 'fence') == -1 and '' or micros()
local answer = { 'holders', total, waiting, time, 0, redis.call('GET', main .. ':c') or '' }
local size = #answer

local function tell_holder(token, it_is, left, record)
  if answer[5] < limit then
    answer[5] = answer[5] + 1
    answer[size + 1], answer[size + 2], answer[size + 3], answer[size + 4] = string.sub(token, 1, 8), it_is, left, record
    size = size + 4
  end
end

local function waits(token)
  if #expired == most and not gone[token] then
    -- There may be more than were looked at.
    return tonumber(redis.call('ZSCORE', tickets, token) or 0) > now
  end
  return not gone[token]
end

-- Tells the first waiters whose tickets have not expired. A long record takes longer.
local function tell_waiters()
  local at, told, left = 0, 0, 400
  while told < limit and left > 0 do
    local page = redis.call('ZRANGE', queue, at, at + math.min(limit, 64) - 1)
    if not page[1] then
      return
    end
    at = at + #page
    for _, token in ipairs(page) do
      if told < limit and left > 0 and waits(token) then
        local waiter = redis.call('HGET', waiters, token) or ''
        local arrival, record = string.match(waiter, '^(%d+) [01] %S+ %d+ %d+ [01] (.*)$')
        if arrival then
          answer[size + 1], answer[size + 2], answer[size + 3] = string.sub(token, 1, 8), arrival, bounded(' ' .. record)
          told, size = told + 1, size + 3
        end
        left = left - math.floor(#waiter / 1024)
      end
      left = left - 1
    end
  end
end

if holder then
  tell_holder(holder.token, holder.holds and 'holding' or 'closed', holder.left, holder.record)
elseif state.kind then
  local after, told = '(' .. string.format('%.0f', now), {}
  -- A holder with a lock delay is listed there twice, first by the end of its hold.
  local found = redis.call('ZRANGEBYSCORE', ends, after, '+inf', 'WITHSCORES', 'LIMIT', 0, 2 * limit + 1)
  for i = 1, #found, 2 do
    local member, token = found[i], string.sub(found[i], -32)
    if not told[token] then
      told[token] = true
      local it_is = member == token and 'holding' or 'closed'
      tell_holder(token, it_is, found[i + 1] - now, bounded(redis.call('HGET', records, token)))
    end
  end
end
if waiting > 0 then
  tell_waiters()
end
return { ARGV[1], answer }
