-- acquire: gives a resource to a token if nobody is in the way.
--
-- KEYS     1-4 as in holders.lua, [5] fence: the last fencing number given out
-- ARGV     [2] token, [3] mode: x, s or p, [4] '1' if re-entrant, [5] permits, [6] capacity, nothing unless p,
--          [7] ttl ms, [8] lock delay ms, [9] owner or nothing, [10] record without its fence, [11] fence retention ms
-- answers  granted fence holds
--          refused token-prefix state ms-to-its-end ms-until-it-opens capacity record
--          deadlock mode permits capacity · mismatch mode permits capacity · corrupt reason
local token, mode, reentrant, permits, capacity = ARGV[2], ARGV[3], ARGV[4] == '1', ARGV[5], ARGV[6]
local ttl, delay, owner, record = tonumber(ARGV[7]), tonumber(ARGV[8]), ARGV[9], ARGV[10]

-- The next fencing number, given the server's time in µs; nil if the last one is no number that can grow.
local function next_fence(time)
  local last = tonumber(redis.call('GET', KEYS[5]) or 0)
  if not last or not (last < 9007199254740991) then
    return nil
  end
  local fence = string.format('%.0f', math.max(last + 1, time))
  redis.call('SET', KEYS[5], fence, 'PX', ARGV[11])
  return fence
end

local function granted(fence, holds)
  return { ARGV[1], 'granted', fence, holds }
end

local function no_fence()
  return { ARGV[1], 'corrupt', 'the fence counter is not a number that can grow' }
end

local function take_alone()
  local time = redis.call('TIME')
  local fence = next_fence(time[1] * 1000000 + time[2])
  if not fence then
    return no_fence()
  end
  local mark = delay > 0 and '+' or '-'
  redis.call('SET', KEYS[1], token .. mark .. fence .. ' ' .. record, 'PX', ttl + delay)
  return granted(fence, 1)
end

local value = redis.call('GET', KEYS[1])
if not value and mode == 'x' then
  return take_alone()
end

-- include holders.lua

-- What is left of holders after the main key is gone, which only another program can leave.
local function clear_leftovers()
  if redis.call('ZCARD', ends) + redis.call('HLEN', records) + redis.call('HLEN', counts) > 0 then
    redis.call('DEL', ends, records, counts)
  end
end

local function admit(fence, now)
  keep(token, now + ttl, delay)
  redis.call('HSET', records, token, fence .. ' ' .. record)
  if mode == 'p' then
    count('used', permits)
  end
  local holds = 1
  if owner ~= '' then
    holds = count('o' .. owner, 1)
    if mode == 'p' then
      count('p' .. owner, permits)
    end
  end
  expire_all()
  return granted(fence, holds)
end

local function take_free()
  if mode == 'x' then
    return take_alone()
  end
  clear_leftovers()
  local time = micros()
  local fence = next_fence(time)
  if not fence then
    return no_fence()
  end
  redis.call('SET', main, '*' .. mode .. capacity, 'PX', ttl + delay)
  return admit(fence, millis(time))
end

-- Makes one exclusive holder the first of several.
local function convert(holder, now)
  clear_leftovers()
  redis.call('SET', main, '*x' .. holder.fence, 'PX', holder.opens)
  redis.call('HSET', records, holder.token, holder.record)
  keep(holder.token, now + holder.left, holder.delay)
  count('o' .. holder.owner, 1)
end

local function beside_one(value)
  local holder = single(value)
  if not holder then
    return corrupt()
  end
  if holder.opens < 0 then
    return corrupt('a lock without an end')
  end
  if holder.holds and holder.token == token then
    redis.call('PEXPIRE', main, ttl + holder.delay)
    return granted(holder.fence, 1)
  end
  if holder.holds and owner ~= '' and owner == holder.owner then
    if mode ~= 'x' or not reentrant then
      return { echo, 'deadlock', 'x', 1, '' }
    end
    local now = millis(micros())
    convert(holder, now)
    return admit(holder.fence, now)
  end
  local state = holder.holds and 'holding' or 'closed'
  return { echo, 'refused', string.sub(holder.token, 1, 8), state, holder.left, holder.opens, '', holder.record }
end

local function fits(kind, number)
  if mode ~= kind then
    return false
  end
  return kind == 's' or kind == 'p' and (redis.call('HGET', counts, 'used') or 0) + permits <= tonumber(number)
end

local function refused(member, capacity, now)
  local prefix, state, left, opens, its_record = describe(member, now)
  return { echo, 'refused', prefix, state, left, opens, capacity, its_record }
end

local function beside_several(kind, number)
  local time = micros()
  local now = millis(time)
  if not purge(now) then
    return take_free()
  end
  if redis.call('HGET', records, token) then
    if not redis.call('ZSCORE', ends, token) then
      -- Its hold is over and only keeps its place: a repeat that comes late does not bring it back.
      return refused('~' .. token, number, now)
    end
    local fence, its_owner = extend(token, ttl, now)
    return granted(fence, math.max(1, holds_of(its_owner)))
  end
  if holds_of(owner) > 0 then
    if kind == 'x' and mode == 'x' and reentrant then
      return admit(number, now)
    elseif kind == 'x' then
      return { echo, 'deadlock', 'x', 1, '' }
    elseif mode == 'x' then
      return { echo, 'deadlock', kind, redis.call('HGET', counts, 'p' .. owner) or 1, number }
    end
  end
  local first = redis.call('ZRANGE', ends, 0, 0)[1]
  if mode ~= 'x' and kind ~= 'x' and (mode ~= kind or capacity ~= number) then
    local _, _, used = fields(redis.call('HGET', records, string.sub(first, -32)))
    return { echo, 'mismatch', kind, used, number }
  end
  if fits(kind, number) then
    local fence = next_fence(time)
    return fence and admit(fence, now) or no_fence()
  end
  -- Permits may come free with the first that ends; all else has to wait for the last.
  local last = redis.call('ZREVRANGE', ends, 0, 0)[1]
  return refused(mode == 'p' and kind == 'p' and first or last, number, now)
end

if not value then
  return take_free()
end
if string.sub(value, 1, 1) ~= '*' then
  return beside_one(value)
end
local kind, number = marker(value)
if not kind then
  return corrupt()
end
return beside_several(kind, number)
