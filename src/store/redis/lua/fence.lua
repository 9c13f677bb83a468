-- How fences are given out. Every script that grants has this text where it says `include fence.lua`.
--
-- KEYS[5] fence    the last fencing number given out
-- ARGV[2]          for how many ms it is kept

-- The next fencing number, given the server's time in µs; nil if the last one is no number that can grow.
local function next_fence(time)
  -- What is of another type is no number either; a release must not fail half-way because of it.
  local last = tonumber(redis.pcall('GET', KEYS[5]) or 0)
  if not last or not (last < 9007199254740991) then
    return nil
  end
  return string.format('%.0f', math.max(last + 1, time))
end

local function keep_fence(fence)
  redis.call('SET', KEYS[5], fence, 'PX', ARGV[2])
end

local function no_fence()
  return { ARGV[1], 'corrupt', 'the fence counter is not a number that can grow' }
end
