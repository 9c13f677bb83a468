local call,E,match,sub=redis.call,redis.pcall,string.match,string.sub
local A
local function D()
if not A then
local C=call('TIME')
A=C[1]*1000000+C[2]
end
return A
end
local function F(us)
return math.floor(us/1000)
end
local B=E('GET',KEYS[1]..'fence')or'0'
if type(B)~='string'or not match(B,'^%d+$')then
return{ARGV[1],{'corrupt','the fence counter is not a number that can grow'}}
end
return{ARGV[1],{'report',B,D(),sub(call('GET',KEYS[1]..'recovered')or'',1,400)}}
