-- The counter of fences. Every script that grants has this text where it says `include fence.lua`, below time.lua.
--
-- the last of KEYS   without the word 'fence': the last fencing number given out, or a larger one.
--                    No key has this shorter name. So a cluster refuses the call while it moves the slot to another node:
--                    part of the keys of a resource may be there already, and all that is missing would look free
-- the last of ARGV   the ms for which it is kept; 0: for ever, on the nodes of a quorum
-- at                 the number of the request, if the script sets it
-- fence_base         the fence of request i is at least fence_base + i, if the script sets it
-- hands_over         set once something is handed over: the caller need not know that this is a node of a quorum
local counter, last, kept, at, fence_base = KEYS[#KEYS] .. 'fence', nil, 0, nil, nil
local hands_over = false

-- Returns the next fencing number; nil if the last one is no number that can grow.
local function next_fence(i)
  if not last then
    -- A value of another type is no number either; a release must not fail half-way because of it.
    local before = tonumber(redis.pcall('GET', counter) or 0)
    -- Far enough below 2^53 that all fences of a batch are numbers that can be told apart: the year 2255, in µs.
    if not before or not (before < 9000000000000000) then
      return nil
    end
    last = math.max(before, micros() - 1)
  end
  return fence_base and math.max(last + 1, fence_base + (i or at)) or last + 1
end

-- Keeps a fence; to be called before the fence is given out. One write is enough for a batch: it keeps the numbers of the
-- requests that are still to come as well.
local function keep_fence(fence)
  if fence > kept then
    local enough = fence + #KEYS - 2
    if ARGV[#ARGV] == '0' or hands_over and redis.call('PTTL', counter) == -1 then
      redis.call('SET', counter, enough)
    else
      redis.call('SET', counter, enough, 'PX', ARGV[#ARGV])
    end
    kept = enough
  end
  last = fence
end
