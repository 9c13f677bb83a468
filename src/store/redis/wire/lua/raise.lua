-- raise: gives each live hold a fence, unless its own is larger, and makes later ones larger. Nothing lowers a fence.
--
-- KEYS     the main key of each request; the last as in fence.lua
-- ARGV     [2] on: for each request a token · its fence; the last as in fence.lua
-- answers  for each request 1: raised · 0: not held · corrupt reason
local size, answers, put_off = 2, { ARGV[1] }, {}
for i = 1, #KEYS - 1 do
  put_off[i] = i
end

-- include time.lua
-- include holders.lua

local counter = KEYS[#KEYS] .. 'fence'

local function with_fence(record, fence)
  local before = string.match(record, '^%d+')
  return tonumber(fence) > tonumber(before) and (string.gsub(record, '^%d+', fence)) or record
end

local function serve(first)
  local token, fence = ARGV[first], ARGV[first + 1]
  local state = read(stored())
  if not state then
    return corrupt()
  end
  local held = holds(state, token)
  -- One of several may be over and not cleared away yet.
  if not held or not state.holder and tonumber(held) <= millis(micros()) then
    return 0
  end
  -- The counter first: a fence that is given out must never be larger than the counter.
  if tonumber(fence) > (tonumber(redis.call('GET', counter) or 0) or 0) then
    if ARGV[#ARGV] == '0' then
      redis.call('SET', counter, fence)
    else
      redis.call('SET', counter, fence, 'PX', ARGV[#ARGV])
    end
  end
  if state.holder then
    redis.call('SET', main, token .. state.holder.mark .. with_fence(state.holder.record, fence), 'KEEPTTL')
    return 1
  end
  redis.call('HSET', records, token, with_fence(redis.call('HGET', records, token), fence))
  if state.kind == 'x' and tonumber(fence) > tonumber(state.number) then
    redis.call('SET', main, '*x' .. fence, 'KEEPTTL')
  end
  return 1
end

-- include batch.lua
