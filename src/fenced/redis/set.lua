-- Sets KEYS[1] to ARGV[1], unless KEYS[2] has a larger fence than ARGV[2]. Returns the larger fence, or nothing.
-- Fences are compared as decimal text: numbers of Lua are exact up to 2^53 only.
local fence, known = ARGV[2], redis.call('GET', KEYS[2]) or '0'
if #known > #fence or (#known == #fence and known > fence) then
    return known
end
redis.call('SET', KEYS[2], fence)
redis.call('SET', KEYS[1], ARGV[1])
return false
