local call,A=redis.call,redis.pcall
local B,C=KEYS[1]..'fence',KEYS[1]..'recovered'
local D=tonumber(ARGV[2])
local E=A('GET',B)or'0'
if type(E)~='string'or not string.match(E,'^%d+$')then
return{ARGV[1],{'corrupt','the fence counter is not a number that can grow'}}
end
if D>tonumber(E)then
call('SET',B,ARGV[2])
end
local F=A('GET',C)
local G,H=string.match(type(F)=='string'and F or'','^(%S+) [01] (%d+)$')
if G==ARGV[3]and tonumber(H)>D then
D=tonumber(H)
end
call('SET',C,ARGV[3]..' '..ARGV[4]..' '..string.format('%.0f',D))
return{ARGV[1],{'taught'}}
