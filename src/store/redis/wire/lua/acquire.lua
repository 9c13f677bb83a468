-- acquire: gives each resource to a token if nobody is in the way; else lets it wait, if it has a queue ticket.
--
-- KEYS     the main key of each request; the last as in fence.lua
-- ARGV     [2] on: for each request as in attempt.lua; optionally the smallest fence that the first of them may have, one
--          more for the next, and so on; the last as in fence.lua
-- answers  for each request as in attempt.lua, or in short the new fence of one whose owner has no other hold; if a fence was
--          named also the server's time in µs, and what is written down of its recovery (teach.lua) or nothing

-- include alone.lua

local size, answers, put_off = 4, { ARGV[1] }, {}

-- include time.lua
-- include fence.lua

if #ARGV > 2 + size * (#KEYS - 1) then
  fence_base = near(ARGV[#ARGV - 1], micros()) - 1
  answers[#KEYS + 1] = micros()
  local written = redis.pcall('GET', KEYS[#KEYS] .. 'recovered')
  answers[#KEYS + 2] = type(written) == 'string' and string.sub(written, 1, 400) or ''
end

-- Mostly all of them are free, and a single command tells that.
if #KEYS > 2 then
  local names = {}
  for i = 1, #KEYS - 1 do
    names[2 * i - 1], names[2 * i] = KEYS[i], KEYS[i] .. ':p'
  end
  all_free = redis.pcall('EXISTS', unpack(names)) == 0
end
local taken = {}

local function is_free(main)
  if all_free then
    return not taken[main]
  end
  -- The answer about a single one is known.
  return #KEYS > 2 and redis.pcall('EXISTS', main, main .. ':p') == 0
end

local rounded, high, opens, record
for i = 1, #KEYS - 1 do
  local main, first, answer = KEYS[i], 2 + size * (i - 1), nil
  local start = ARGV[first]
  if ARGV[first + 1] ~= '' then
    opens, record = ARGV[first + 1], ARGV[first + 2]
  end
  if #start == 33 and not put_off[main] then
    if is_free(main) then
      local fence = last and not fence_base and last + 1 or next_fence(i)
      if fence and (fence <= kept or pcall(keep_fence, fence)) then
        last, taken[main] = fence, true
        -- The fences of a batch differ only in their low digits, and long numbers are slow to write.
        local low = fence % 10000
        if fence - low ~= rounded then
          rounded = fence - low
          high = string.format('%.0f', rounded / 10000)
        end
        local value = start .. high .. string.format('%04d', low) .. ' ' .. record
        answer = redis.pcall('SET', main, value, 'PX', opens).ok and fence
      end
    else
      -- Taken up, or repeated, by a token without an owner and without a lock delay. Nobody is compatible with it, so the
      -- queue can wait.
      -- See bounded.lua.
      local value = redis.pcall('GETRANGE', main, 0, 12099)
      if type(value) == 'string' and #value < 12100 and string.sub(value, 1, 32) == string.sub(start, 1, 32) then
        -- Not what plain commands took, whose fence begins with a 0: see attempt.lua.
        local mark, fence, ttl, rest = string.match(value, '^([-+])([1-9]%d*) x 1 0/?(%d*)(  .*)$', 33)
        answer = fence and redis.pcall('PEXPIRE', main, opens) == 1 and tonumber(fence)
        local token, proposed = string.sub(start, 1, 32), nil
        if answer and mark == '+' and fence_base and type(redis.pcall('ZSCORE', main .. ':p', '!' .. token)) == 'string' then
          -- It was handed over, so nobody has been told its fence yet.
          proposed = next_fence(i)
          if proposed and (proposed <= kept or pcall(keep_fence, proposed)) then
            last = proposed
          else
            proposed = nil
          end
        end
        if answer and (proposed or ttl ~= opens) then
          -- Without its ttl (stepped.lua) nothing is taken up.
          answer = proposed or answer
          local now_held = string.format('%s%.0f x 1 0/%s', string.sub(value, 1, 33), answer, opens)
          answer = redis.pcall('SET', main, now_held .. rest, 'PX', opens).ok and answer
        end
        if answer and mark == '+' then
          -- It may have waited for this.
          if redis.pcall('ZREM', main .. ':p', token, '!' .. token) ~= 0 then
            redis.pcall('HDEL', main .. ':w', token)
          end
        end
        answer = answer and { 'granted', answer, 1 }
      end
    end
  end
  if answer then
    answers[i + 1] = answer
  else
    -- Later requests for the same resource have to wait for this one.
    put_off[#put_off + 1], put_off[main] = i, true
  end
end
if not put_off[1] then
  return answers
end

-- include holders.lua
-- include admission.lua
-- include queue.lua
-- include attempt.lua

local function serve(first)
  at = (first - 2) / size + 1
  return attempt(request_at(first))
end

-- include batch.lua
