local call,A=redis.call,redis.pcall
local B
local function C()
if not B then
local D=call('TIME')
B=D[1]*1000000+D[2]
end
return B
end
local function E(us)
return math.floor(us/1000)
end
local F=A('GET',KEYS[1]..'fence')or'0'
if type(F)~='string'or not string.match(F,'^%d+$')then
return{ARGV[1],{'corrupt','the fence counter is not a number that can grow'}}
end
return{ARGV[1],{'report',F,C(),string.sub(call('GET',KEYS[1]..'recovered')or'',1,400)}}
