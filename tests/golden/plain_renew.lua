local call,Q,match,sub=redis.call,redis.pcall,string.match,string.sub
local O=2
local C,H,G,B=nil,{ARGV[1]},{},1000000
for i=1,#KEYS do
G[i]=i
end
local function on(M)
C=M
end
local function P(D)
local F=match(D,'^%x%x%x%x%x%x%x%x')
if not F then
F=string.gsub(sub(D..'\0\0\0\0',1,4),'.',function(K)
return string.format('%02x',string.byte(K))
end)
end
local L=#D==33 and sub(D,33)=='~'
local E=call('PTTL',C)
if E<0 then
E=1000000000000
end
return string.lower(F),L and'closed'or'holding',E,' x 1 0  {}'
end
local function N(I)
return call('GET',C)==ARGV[I]and call('PEXPIRE',C,ARGV[I+1])or 0
end
B=B-math.floor(#G/3)
for _,i in ipairs(G)do
local A='later'
if B>0 then
on(KEYS[i])
local J
J,A=pcall(N,2+O*(i-1))
if not J then
A={'error',type(A)=='table'and A.err or A}
end
B=B-35
end
H[i+1]=A
end
return H
