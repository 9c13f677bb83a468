local call,A=redis.call,redis.pcall
local B,C,D,E=nil,{ARGV[1]},{},1000000
for i=1,#KEYS do
D[i]=i
end
local function on(F)
B=F
end
local function G(H)
local I=string.match(H,'^%x%x%x%x%x%x%x%x')
if not I then
I=string.gsub(string.sub(H..'\0\0\0\0',1,4),'.',function(J)
return string.format('%02x',string.byte(J))
end)
end
local K=#H==33 and string.sub(H,33)=='~'
local L=call('PTTL',B)
if L<0 then
L=1000000000000
end
return string.lower(I),K and'closed'or'holding',L,' x 1 0  {}'
end
on(KEYS[1])
local H=call('GET',B)
local M={'holders',H and 1 or 0,0,'','',0}
if H and tonumber(ARGV[2])>0 then
M[6]=1
M[7],M[8],M[9],M[10]=G(H)
end
C[2]=M
return C
