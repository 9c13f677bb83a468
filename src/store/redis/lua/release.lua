-- release: gives a hold, or a place in the queue, back.
--
-- KEYS     1-4 as in holders.lua, 5 as in fence.lua, 6-8 as in queue.lua
-- ARGV     [2] fence retention ms, [3] token, [4] owner or nothing, [5] ms for which its place stays closed
-- answers  freed · still_held holds-of-the-owner · not_held holds-of-the-owner · corrupt reason
local token, owner, closed_for = ARGV[3], ARGV[4], tonumber(ARGV[5])

local value = redis.call('GET', KEYS[1])
if not value and redis.call('EXISTS', KEYS[6]) == 0 then
  return { ARGV[1], 'not_held', 0 }
end
if value and closed_for == 0 and string.sub(value, 1, 33) == token .. '-' then
  redis.call('DEL', KEYS[1])
  return { ARGV[1], 'freed' }
end

-- include fence.lua
-- include holders.lua
-- include admission.lua
-- include queue.lua

local time = micros()
local now = millis(time)

-- Ends the hold of the string form. Answers the state after it.
local function release_one(state)
  if closed_for == 0 then
    redis.call('DEL', main)
    return {}
  end
  -- First a write that takes no memory: see extend.
  redis.call('PEXPIRE', main, closed_for)
  local closed = '~' .. token .. '-' .. disowned(state.holder.record)
  redis.call('SET', main, closed, 'PX', closed_for)
  return read(closed)
end

-- Ends one of several holds. Answers the state after it.
local function release_of_several(state)
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
    clear()
    return {}
  end
  expire_all()
  return state
end

local state = settled(value, now)
if not state then
  return corrupt()
end
local waiting = anybody_waits(now)
local held = holds(state, token)
if held then
  -- Whoever brings the token may not know whose it is.
  local _, _, _, _, its_owner = fields(state.holder and state.holder.record or redis.call('HGET', records, token))
  owner = its_owner
  state = state.holder and release_one(state) or release_of_several(state)
elseif waiting then
  leave(token)
end
-- Counted before the hand-over, which may be to the same owner: it is about what this release leaves.
local left = holds_of(state, owner)
if waiting then
  hand_over(state, time)
end
if not held then
  return { echo, 'not_held', left }
end
return left > 0 and { echo, 'still_held', left } or { echo, 'freed' }
