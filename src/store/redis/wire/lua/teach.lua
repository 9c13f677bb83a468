-- teach: makes every later fence larger than this one, and writes down that this incarnation of the server has recovered.
--
-- KEYS     [1] as in fence.lua
-- ARGV     [1] as in holders.lua, [2] the fence, [3] the incarnation, [4] '1' if it is durable, else '0'
-- answers  taught · corrupt reason
--
-- <prefix>:recovered   <incarnation> <1 if durable, else 0> <fence>
--                      It and the counter have no end: they are two keys a server.
local counter, written = KEYS[1] .. 'fence', KEYS[1] .. 'recovered'
local fence = tonumber(ARGV[2])

local last = redis.pcall('GET', counter) or '0'
if type(last) ~= 'string' or not string.match(last, '^%d+$') then
  return { ARGV[1], { 'corrupt', 'the fence counter is not a number that can grow' } }
end
-- The counter first: what is written down must not be true of a smaller one.
if fence > tonumber(last) then
  redis.call('SET', counter, ARGV[2])
end
local before = redis.pcall('GET', written)
local incarnation, taught = string.match(type(before) == 'string' and before or '', '^(%S+) [01] (%d+)$')
if incarnation == ARGV[3] and tonumber(taught) > fence then
  fence = tonumber(taught)
end
redis.call('SET', written, ARGV[3] .. ' ' .. ARGV[4] .. ' ' .. string.format('%.0f', fence))
return { ARGV[1], { 'taught' } }
