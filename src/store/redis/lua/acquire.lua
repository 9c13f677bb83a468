-- acquire: gives a resource to a token if nobody is in the way; else lets it wait, if it has a place.
--
-- KEYS     1-4 as in holders.lua, 5 as in fence.lua, 6-8 as in queue.lua
-- ARGV     [2] fence retention ms, [3] token, [4] mode: x, s or p, [5] '1' if re-entrant, [6] permits, [7] capacity,
--          nothing unless p, [8] ttl ms, [9] lock delay ms, [10] owner or nothing, [11] record without its fence;
--          with a place: [12] inbox, [13] patience ms, [14] grant window ms, [15] the most waiters
-- answers  granted fence holds
--          refused <one in the way> · queued ahead <one in the way> · full waiters
--          deadlock mode permits capacity · mismatch mode permits capacity · corrupt reason
--          one in the way: token-prefix state ms-to-its-end ms-until-it-opens capacity record
local token, mode, ttl, delay = ARGV[3], ARGV[4], tonumber(ARGV[8]), tonumber(ARGV[9])
local mark = delay > 0 and '+' or '-'

-- include fence.lua

local value = redis.call('GET', KEYS[1])
if not value and mode == 'x' and redis.call('EXISTS', KEYS[6]) == 0 then
  local time = redis.call('TIME')
  local fence = next_fence(time[1] * 1000000 + time[2])
  if not fence then
    return no_fence()
  end
  keep_fence(fence)
  redis.call('SET', KEYS[1], token .. mark .. fence .. ' ' .. ARGV[11], 'PX', ttl + delay)
  return { ARGV[1], 'granted', fence, 1 }
end
if value and string.sub(value, 1, 32) == token then
  -- Taken up, or repeated, by one without an owner and without a lock delay. Nobody fits beside it: the queue can wait.
  local fence = string.match(value, '^[-+](%d+) x 1 0  ', 33)
  if fence then
    redis.call('PEXPIRE', KEYS[1], ttl)
    return { ARGV[1], 'granted', fence, 1 }
  end
end

-- include holders.lua
-- include admission.lua
-- include queue.lua

local asked = {
  token = token, mode = mode, reentrant = ARGV[5] == '1', permits = ARGV[6], capacity = ARGV[7], ttl = ttl,
  delay = delay, owner = ARGV[10], record = ARGV[11], mark = mark,
}
local time = micros()
local now = millis(time)

local function granted(state, fence, owner)
  return { echo, 'granted', fence, math.max(1, holds_of(state, owner)) }
end

-- Whether a hold of this token is over and only keeps its place: a repeat that comes late does not bring it back.
local function came_late(state)
  if state.holder then
    return state.holder.token == token
  end
  return state.kind and redis.call('HGET', records, token)
end

-- Who is in the way, as it is answered. Permits may come free with the first that ends; all else has to wait for the last
-- that opens.
local function one_in_the_way(state, itself)
  local holder = state.holder
  if holder then
    local it_is = holder.holds and 'holding' or 'closed'
    return string.sub(holder.token, 1, 8), it_is, holder.left, holder.opens, '', holder.record
  end
  local order = mode == 'p' and state.kind == 'p' and 'ZRANGE' or 'ZREVRANGE'
  local member = itself and '~' .. token or redis.call(order, ends, 0, 0)[1]
  local prefix, it_is, left, opens, record = describe(member, now)
  return prefix, it_is, left, opens, state.number, record
end

-- Gives a place in the queue up, to those behind it.
local function give_up(state)
  if leave(token) then
    hand_over(state, time)
  end
end

-- Puts the token at the end of the queue.
local function stand(state)
  local last = redis.call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')[2] or 0
  redis.call('ZADD', queue, math.max(last + 1, time), token)
  redis.call('HSET', waiters, token, table.concat({ ARGV[12], ARGV[14], ARGV[7], ARGV[5], ARGV[11] }, ' '))
  if state.holder and state.holder.mark == '-' and not state.holder.closed then
    -- From now on its release has to look at the queue.
    redis.call('SETRANGE', main, 32, '+')
  end
end

-- Keeps the place for as long as the waiter's patience from now.
local function refresh(patience)
  redis.call('ZADD', places, now + patience, token)
  local latest = redis.call('ZREVRANGE', places, 0, 0, 'WITHSCORES')[2]
  for _, key in ipairs({ queue, waiters, places }) do
    redis.call('PEXPIREAT', key, latest)
  end
end

local function wait(state, waiting)
  local ahead = redis.call('ZRANK', queue, token)
  if ahead then
    -- First a write that takes no memory: see extend.
    redis.call('PEXPIRE', queue, ARGV[13])
  elseif waiting >= tonumber(ARGV[15]) then
    return { echo, 'full', waiting }
  else
    ahead = waiting
    stand(state)
  end
  refresh(tonumber(ARGV[13]))
  return { echo, 'queued', ahead, one_in_the_way(state) }
end

local state = settled(value, now)
if not state then
  return corrupt()
end
if state.holder and state.holder.opens < 0 then
  return corrupt('a lock without an end')
end
local waiting = 0
if anybody_waits(now) then
  state = hand_over(state, time, token)
  waiting = redis.call('ZCARD', queue)
end
if holds(state, token) then
  return granted(state, extend(state, token, ttl, now))
end
if came_late(state) then
  return { echo, 'refused', one_in_the_way(state, true) }
end
local verdict, held_mode, held_permits, held_capacity = judge(asked, state)
if verdict == 'deadlock' or verdict == 'mismatch' then
  give_up(state)
  return { echo, verdict, held_mode, held_permits, held_capacity }
end
if verdict == 'passes' or verdict == 'fits' and waiting == 0 then
  local fence = fence_for(state, time)
  if not fence then
    return no_fence()
  end
  if waiting > 0 then
    leave(token)
  end
  state = enter(asked, state, fence, now)
  if not state.holder then
    expire_all()
  end
  return granted(state, fence, asked.owner)
end
if not state.kind then
  -- Only for want of a fence the head was not handed over what is free.
  return no_fence()
end
if ARGV[12] then
  return wait(state, waiting)
end
local refusal = { echo, 'refused', one_in_the_way(state) }
give_up(state)
return refusal
