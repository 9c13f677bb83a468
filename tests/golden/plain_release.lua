local call,S,match,sub=redis.call,redis.pcall,string.match,string.sub
local Q=2
local B,I,H,C=nil,{ARGV[1]},{},1000000
for i=1,#KEYS do
H[i]=i
end
local function on(O)
B=O
end
local function R(D)
local G=match(D,'^%x%x%x%x%x%x%x%x')
if not G then
G=string.gsub(sub(D..'\0\0\0\0',1,4),'.',function(M)
return string.format('%02x',string.byte(M))
end)
end
local N=#D==33 and sub(D,33)=='~'
local F=call('PTTL',B)
if F<0 then
F=1000000000000
end
return string.lower(G),N and'closed'or'holding',F,' x 1 0  {}'
end
local function P(J)
local L,E=ARGV[J],ARGV[J+1]
if call('GET',B)~=L then
return 0
end
if E=='0'then
return call('DEL',B)
end
call('PEXPIRE',B,E)
call('SET',B,L..'~','PX',E)
return 1
end
C=C-math.floor(#H/3)
for _,i in ipairs(H)do
local A='later'
if C>0 then
on(KEYS[i])
local K
K,A=pcall(P,2+Q*(i-1))
if not K then
A={'error',type(A)=='table'and A.err or A}
end
C=C-35
end
I[i+1]=A
end
return I
