-- The check of a request against the holders, and its admission to them. Every script that grants has this text where it
-- says `include admission.lua`, below holders.lua and fence.lua.
--
-- request: token, mode, reentrant, permits, capacity, owner, record (without its fence), ttl, delay (the lock delay that
--          counts from the start), mark (of the string form)

-- Checks a request against the holders; the queue is not checked.
--   fits              passes: it fits, and waiters do not matter
--   in_the_way        a holder is, and has to be waited for
--   deadlock, mismatch: waiting would not help; with mode and permits of what is held, of permits also /capacity
local function check(request, state)
  local mode, kind = request.mode, state.kind
  local set = mode == 'p' and tonumber(string.match(redis.call('GET', main .. ':c') or '', '^[1-9]%d*$'))
  if set and set < tonumber(request.permits) then
    return 'mismatch', 'p', set .. '/' .. set
  end
  if not kind then
    return 'fits'
  end
  -- While some holders that are over still count, no request is told that waiting would not help.
  if not some_are_over and holds_of(state, request.owner) > 0 then
    if kind == 'x' and mode == 'x' and request.reentrant or kind == 's' and mode == 's' then
      return 'passes'
    elseif kind == 'x' then
      return 'deadlock', 'x', 1
    elseif mode == 'x' then
      local permits = redis.call('HGET', counts, 'p' .. request.owner)
      return 'deadlock', kind, permits and permits .. '/' .. math.max(permits, (capacities(state))) or 1
    end
  end
  if mode == 'x' or kind == 'x' then
    return 'in_the_way'
  end
  if mode ~= kind then
    local first = first_of_all(millis(micros()))
    local used = string.match(redis.call('HGET', records, string.sub(first, -32)), '^%d+ %a (%S+)')
    return 'mismatch', kind, string.sub(used, 1, 21)
  end
  if kind == 's' then
    return 'fits'
  end
  local capacity, least, first, other = request.capacity, capacities(state)
  if other and capacity ~= first and capacity ~= other
    and not (set and tonumber(request.permits) <= math.max(first, other)) then
    return 'in_the_way'
  end
  local used = redis.call('HGET', counts, 'used') or 0
  return used + request.permits <= (set or math.min(capacity, least)) and 'fits' or 'in_the_way'
end

-- Returns the fence of a request that fits; nil if there is none to give.
local function fence_for(state)
  local fence = state.fence or next_fence()
  return fence and (state.fence or string.format('%.0f', fence))
end

local function no_fence()
  return corrupt('the fence counter is not a number that can grow')
end

-- Removes what is left of holders after the main key is gone, which only another program can leave.
local function clear_leftovers()
  local left = redis.call('ZCARD', ends) + redis.call('HLEN', records) + redis.call('HLEN', counts)
  if left + redis.call('ZCARD', numbers) > 0 then
    redis.call('UNLINK', ends, records, counts, numbers)
  end
end

-- Makes one exclusive holder the first of several.
local function convert(holder, now)
  clear_leftovers()
  redis.call('SET', main, '*x' .. holder.fence, 'PX', holder.opens)
  redis.call('HSET', records, holder.token, holder.record)
  keep(holder.token, now + holder.left, holder.delay)
  count('o' .. holder.owner, 1)
end

local function enter_alone(request, fence)
  local ttl, delay, record = request.ttl, request.delay, fence .. ' ' .. request.record
  redis.call('SET', main, request.token .. request.mark .. record, 'PX', ttl + delay)
  local holder = {
    token = request.token, closed = false, mark = request.mark, record = record, fence = fence, delay = delay,
    owner = request.owner, holds = true, opens = ttl + delay, left = ttl,
  }
  return { kind = 'x', number = '', holder = holder, fence = fence }
end

-- Counts one more record of the request's capacity, which may be another than that of the records before. Returns the number
-- of the marker after it.
local function note_capacity(request, state)
  local capacity, _, first, other = request.capacity, capacities(state)
  if other and capacity ~= first and capacity ~= other then
    -- Another number is set, so it was let in: the record names the larger of the two.
    capacity = '' .. math.max(first, other)
    request.record = string.gsub(request.record, '/%d+', '/' .. capacity, 1)
  end
  if capacity ~= first then
    other = capacity
  end
  local number = other and first .. '/' .. other or first
  if number ~= state.number then
    redis.call('SET', main, '*p' .. number, 'KEEPTTL')
  end
  if capacity ~= first then
    count('c' .. capacity, 1)
  end
  return number
end

-- Gives a token that has permits the lowest number that no other of them has. The lowest ones are taken up to some place, and
-- so is in order of the numbers each that is its own place: log2 of all of them are looked at.
local function give_number(token)
  local low, high = 0, redis.call('ZCARD', numbers)
  if high >= redis.call('HLEN', records) then
    -- An older version has cleared some away without their numbers.
    for _, other in ipairs(redis.call('ZRANGE', numbers, 0, 99)) do
      if not redis.call('HGET', records, other) then
        redis.call('ZREM', numbers, other)
        high = high - 1
      end
    end
  end
  while low < high do
    local middle = math.floor((low + high) / 2)
    if tonumber(redis.call('ZRANGE', numbers, middle, middle, 'WITHSCORES')[2]) == middle then
      low = middle + 1
    else
      high = middle
    end
  end
  redis.call('ZADD', numbers, low, token)
end

-- Turns a request that fits into a holder. Returns the state after it. If there are several holders then, the ends of the
-- keys are still to be set, by expire_all.
local function enter(request, state, fence, now)
  local token, owner = request.token, request.owner
  if fence ~= state.fence then
    keep_fence(tonumber(fence))
  end
  if not state.kind and request.mode == 'x' then
    return enter_alone(request, fence)
  end
  if state.holder then
    convert(state.holder, now)
  elseif not state.kind then
    clear_leftovers()
    redis.call('SET', main, '*' .. request.mode .. request.capacity, 'PX', request.ttl + request.delay)
  end
  local number = request.capacity
  if state.kind == 'p' then
    number = note_capacity(request, state)
  end
  keep(token, now + request.ttl, request.delay)
  redis.call('HSET', records, token, fence .. ' ' .. request.record)
  if request.mode == 'p' then
    count('used', request.permits)
    give_number(token)
  end
  if owner ~= '' then
    count('o' .. owner, 1)
    if request.mode == 'p' then
      count('p' .. owner, request.permits)
    end
  end
  if request.mode == 'x' then
    return { kind = 'x', number = fence, fence = fence }
  end
  return { kind = request.mode, number = number }
end
