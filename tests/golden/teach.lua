local call,F,match,sub=redis.call,redis.pcall,string.match,string.sub
local D,G=KEYS[1]..'fence',KEYS[1]..'recovered'
local A=tonumber(ARGV[2])
local B=F('GET',D)or'0'
if type(B)~='string'or not match(B,'^%d+$')then
return{ARGV[1],{'corrupt','the fence counter is not a number that can grow'}}
end
if A>tonumber(B)then
call('SET',D,ARGV[2])
end
local C=F('GET',G)
local H,E=match(type(C)=='string'and C or'','^(%S+) [01] (%d+)$')
if H==ARGV[3]and tonumber(E)>A then
A=tonumber(E)
end
call('SET',G,ARGV[3]..' '..ARGV[4]..' '..string.format('%.0f',A))
return{ARGV[1],{'taught'}}
