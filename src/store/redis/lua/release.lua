-- release: gives a hold back.
--
-- KEYS     1-4 as in holders.lua
-- ARGV     [2] token, [3] owner or nothing, [4] ms for which its place stays closed
-- answers  freed · still_held holds-of-the-owner · not_held holds-of-the-owner · corrupt reason
local token, owner, closed_for = ARGV[2], ARGV[3], tonumber(ARGV[4])

local value = redis.call('GET', KEYS[1])
if not value then
  return { ARGV[1], 'not_held', 0 }
end
if closed_for == 0 and string.sub(value, 1, 33) == token .. '-' then
  redis.call('DEL', KEYS[1])
  return { ARGV[1], 'freed' }
end

-- include holders.lua

local function from_one(value)
  local holder = single(value)
  if not holder then
    return corrupt()
  end
  if not holder.holds or holder.token ~= token then
    return { echo, 'not_held', holder.holds and owner ~= '' and owner == holder.owner and 1 or 0 }
  end
  if closed_for == 0 then
    redis.call('DEL', main)
    return { echo, 'freed' }
  end
  -- First a write that takes no memory: see extend.
  redis.call('PEXPIRE', main, closed_for)
  redis.call('SET', main, '~' .. token .. holder.mark .. disowned(holder.record), 'PX', closed_for)
  return { echo, 'freed' }
end

local function from_several()
  local now = millis(micros())
  if not purge(now) then
    return { echo, 'not_held', 0 }
  end
  if not redis.call('ZSCORE', ends, token) then
    return { echo, 'not_held', holds_of(owner) }
  end
  local record = redis.call('HGET', records, token)
  redis.call('ZREM', ends, token, '~' .. token)
  end_hold(record)
  if closed_for > 0 then
    redis.call('ZADD', ends, now + closed_for, '~' .. token)
    redis.call('HSET', records, token, disowned(record))
  else
    give_back(token, record)
  end
  if redis.call('ZCARD', ends) == 0 then
    redis.call('DEL', main, ends, records, counts)
    return { echo, 'freed' }
  end
  expire_all()
  -- Whoever brings the token may not know whose it is.
  local _, _, _, _, its_owner = fields(record)
  local holds = holds_of(its_owner)
  return holds > 0 and { echo, 'still_held', holds } or { echo, 'freed' }
end

if string.sub(value, 1, 1) ~= '*' then
  return from_one(value)
end
if not marker(value) then
  return corrupt()
end
return from_several()
