-- pass: releases a hold, and hands its resource off exclusively to another token, at one moment.
--
-- KEYS     [1] main key, [2] as in fence.lua
-- ARGV     [2]-[5] the acquisition, as in attempt.lua, [6] token that is released, [7] its owner or nothing, [8] '1' if
--          the acquisition comes before all waiters, optionally the smallest fence, and the last as in fence.lua
-- answers  as in releasing.lua · as in attempt.lua, in short the fence, or error reason · 1 if others wait, else 0
--          corrupt reason; if a fence was named also what acquire.lua answers behind all
local from = ARGV[6]

-- include time.lua
-- include fence.lua
-- include near.lua

if ARGV[10] then
  fence_base, at = near(ARGV[9], micros()) - 1, 1
end

local function answer(...)
  local told = { ARGV[1], ... }
  if ARGV[10] then
    told[#told + 1] = micros()
    local written = redis.pcall('GET', KEYS[2] .. 'recovered')
    told[#told + 1] = type(written) == 'string' and string.sub(written, 1, 400) or ''
  end
  return told
end

local value = redis.pcall('GET', KEYS[1])
if
  type(value) == 'string'
  and #ARGV[2] == 33
  and string.sub(value, 1, 32) == from
  and string.find(value, '^[-+]%d+ x 1 0[/ ]', 33)
  and redis.call('EXISTS', KEYS[1] .. ':p') == 0
then
  local fence = next_fence()
  if fence and pcall(keep_fence, fence) then
    redis.call('SET', KEYS[1], ARGV[2] .. string.format('%.0f', fence) .. ' ' .. ARGV[4], 'PX', ARGV[3])
    return answer(1, fence, 0)
  end
end

-- include holders.lua
-- include admission.lua
-- include queue.lua
-- include attempt.lua
-- include releasing.lua

on(KEYS[1])

-- Acquires what is free, ahead of all waiters.
local function overtake(request)
  local fence = fence_for({})
  if not fence then
    return no_fence()
  end
  remove_waiter(request.token)
  if redis.call('EXISTS', queue) == 1 then
    request.mark = '+'
  end
  return take(request, {}, fence)
end

local function acquire(released, state)
  local request = request_at(2)
  -- A token that held nothing has nothing to hand off ahead of the waiters.
  if ARGV[8] == '1' and released == 1 and not state.kind then
    return overtake(request)
  end
  return attempt(request)
end

local state = settled(now, from)
if not state then
  return answer(corrupt())
end
anybody_waits(now)
local released
released, state = release(state, from, ARGV[7], open)
local done, acquired = pcall(acquire, released, state)
if not done then
  acquired = { 'error', type(acquired) == 'table' and acquired.err or acquired }
end
local others = redis.call('ZCARD', queue) - (redis.call('ZSCORE', queue, string.sub(ARGV[2], 1, 32)) and 1 or 0)
return answer(released, acquired, others > 0 and 1 or 0)
