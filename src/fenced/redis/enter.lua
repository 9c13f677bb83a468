-- Raises the fence in KEYS[1] to ARGV[1], unless a larger one is there. Returns the larger one, or nothing.
-- Fences are compared as decimal text: numbers of Lua are exact up to 2^53 only.
local fence, known = ARGV[1], redis.call('GET', KEYS[1]) or '0'
if not known:match('^%d+$') then
    return redis.error_reply('ERR ' .. KEYS[1] .. ' has no fence')
end
if #known > #fence or (#known == #fence and known > fence) then
    return known
end
redis.call('SET', KEYS[1], fence)
