-- Ends that are too far away, because the server's clock was set back: it counts all ends by that clock. holders.lua has this
-- text where it says `include stepped.lua`.
--
-- No end is further away than the ttl in the record, and its lock delay. One that is counts from now: whoever holds may
-- have been told so a moment ago. A record without a ttl is one of an older version.

-- Cuts the ends of several holders, the latest first. Returns the latest.
local function latest_of_all(now)
  local cut, latest = false, redis.call('ZREVRANGE', ends, 0, 0, 'WITHSCORES')
  while latest[1] and budget > 0 do
    local member = latest[1]
    local _, _, _, delay, _, ttl = fields(redis.call('HGET', records, string.sub(member, -32)) or '')
    local most = ttl and now + ttl + (#member > 32 and delay or 0)
    if not most or tonumber(latest[2]) <= most then
      break
    end
    -- First a write that takes no memory: see extend.
    redis.call('PEXPIREAT', main, latest[2])
    redis.call('ZADD', ends, most, member)
    cut, budget, latest = true, budget - 3, redis.call('ZREVRANGE', ends, 0, 0, 'WITHSCORES')
  end
  if cut then
    expire_all()
  end
  return latest[2]
end
