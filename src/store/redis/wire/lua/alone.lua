-- A single request for a free resource, which is what most calls are: granted with as little work as can be. Everything else
-- is left to the rest of the script. acquire.lua has this text where it says `include alone.lua`.

-- include near.lua

local all_free = #KEYS == 2 and redis.pcall('EXISTS', KEYS[1], KEYS[1] .. ':p') == 0
if all_free and #ARGV[2] == 33 then
  local counter, named, retention = KEYS[2] .. 'fence', ARGV[7] and ARGV[6], ARGV[#ARGV]
  local before, time = tonumber(redis.pcall('GET', counter) or 0), redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  -- See next_fence.
  if before and before < 9000000000000000 then
    local fence = math.max(before + 1, now, named and near(named, now) or 0)
    local digits, kept = string.format('%.0f', fence), nil
    if retention == '0' then
      kept = redis.pcall('SET', counter, digits)
    else
      kept = redis.pcall('SET', counter, digits, 'PX', retention)
    end
    if kept.ok and redis.pcall('SET', KEYS[1], ARGV[2] .. digits .. ' ' .. ARGV[4], 'PX', ARGV[3]).ok then
      if not named then
        return { ARGV[1], fence }
      end
      local written = redis.pcall('GET', KEYS[2] .. 'recovered')
      return { ARGV[1], fence, now, type(written) == 'string' and string.sub(written, 1, 400) or '' }
    end
  end
end
