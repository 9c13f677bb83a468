-- report: tells what a quorum has to know of a server that may have forgotten.
--
-- KEYS     [1] as in fence.lua
-- ARGV     [1] as in holders.lua
-- answers  the last fence that was given out, or a larger one · the server's time in µs · what teach.lua has written
--          down, or nothing
--          corrupt reason

-- include time.lua

local last = redis.pcall('GET', KEYS[1] .. 'fence') or '0'
if type(last) ~= 'string' or not string.match(last, '^%d+$') then
  return { ARGV[1], { 'corrupt', 'the fence counter is not a number that can grow' } }
end
return { ARGV[1], { 'report', last, micros(), string.sub(redis.call('GET', KEYS[1] .. 'recovered') or '', 1, 400) } }
