-- release: releases each hold or queue ticket.
--
-- KEYS     the main key of each request; the last as in fence.lua
-- ARGV     [2] on: for each request a token, behind it '-', or '~' if the resource stays closed · owner or nothing · ms
--          for which it stays closed; the last as in fence.lua
-- answers  for each request as in releasing.lua, corrupt reason, or in short 0: not held, nor is anything else

-- A single hold that nobody waits for, which is what most calls end.
if #KEYS == 2 and redis.pcall('GETRANGE', KEYS[1], 0, 32) == ARGV[2] then
  redis.call('DEL', KEYS[1])
  return { ARGV[1], 1 }
end

local size, answers, put_off = 3, { ARGV[1] }, {}

-- Mostly all of them hold: one command tells that, and another ends them. A value in another form than a string is nil. Each
-- is asked for once, and a single one as far as it is needed: another program may have made it long.
local names, place, freed = {}, {}, {}
for i = 1, #KEYS - 1 do
  if not place[KEYS[i]] then
    names[#names + 1], place[KEYS[i]] = KEYS[i], #names + 1
  end
end
local values = names[2] and redis.pcall('MGET', unpack(names)) or { redis.pcall('GETRANGE', names[1], 0, 32) }
for i = 1, #KEYS - 1 do
  local main, answer = KEYS[i], nil
  if not put_off[main] then
    local value = values[place[main]]
    if not value or value == '' then
      answer = redis.pcall('EXISTS', main, main .. ':p') == 0 and 0
    elseif type(value) == 'string' and string.find(value, ARGV[2 + size * (i - 1)], 1, true) == 1 then
      -- A second release of it in the same batch has to find that it is not held.
      answer, put_off[main], freed[#freed + 1] = 1, true, main
    end
  end
  if answer then
    answers[i + 1] = answer
  else
    -- Later requests for the same resource have to wait for this one.
    put_off[#put_off + 1], put_off[main] = i, true
  end
end
if freed[1] then
  redis.call('DEL', unpack(freed))
end
if not put_off[1] then
  return answers
end

-- include time.lua
-- include fence.lua
-- include holders.lua
-- include admission.lua
-- include queue.lua
-- include releasing.lua

-- Returns the record without its owner, for a holder that holds no more but keeps the resource closed for its cooldown (ms).
local function without_owner(record, cooldown)
  return (string.gsub(record, '^(%d+ %a [%d/]+ !?%d+)/?%d* %S* ', '%1/' .. cooldown .. '  '))
end

-- Ends a hold that keeps the resource closed for its cooldown (ms). Returns the state after it.
local function close(state, token, record, cooldown, now)
  if state.holder then
    -- First a write that takes no memory: see extend.
    redis.call('PEXPIRE', main, cooldown)
    local closed = '~' .. token .. '-' .. without_owner(record, cooldown)
    redis.call('SET', main, closed, 'PX', cooldown)
    return read(closed)
  end
  redis.call('ZREM', ends, token)
  end_hold(record)
  redis.call('ZADD', ends, now + cooldown, '~' .. token)
  redis.call('HSET', records, token, without_owner(record, cooldown))
  expire_all()
  return state
end

local function serve(first)
  local token, owner, cooldown = string.sub(ARGV[first], 1, 32), ARGV[first + 1], tonumber(ARGV[first + 2])
  local now = millis(micros())
  local state = settled(now, token)
  if not state then
    return corrupt()
  end
  local waiting = anybody_waits(now)
  local answer
  answer, state = release(state, token, owner, cooldown == 0 and open or function(held, _, record)
    return close(held, token, record, cooldown, now)
  end)
  if waiting then
    hand_over(state, now)
  end
  return answer
end

-- include batch.lua
