-- The server's time. Every script has this text where it says `include time.lua`.
local asked

-- In µs. It is asked once: a script, and with it a batch of requests, happens at one moment.
local function micros()
  if not asked then
    local time = redis.call('TIME')
    asked = time[1] * 1000000 + time[2]
  end
  return asked
end

local function millis(us)
  return math.floor(us / 1000)
end
