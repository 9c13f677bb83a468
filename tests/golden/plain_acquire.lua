local call,A=redis.call,redis.pcall
local B=2
local C,D,E,F=nil,{ARGV[1]},{},1000000
for i=1,#KEYS do
E[i]=i
end
local function on(G)
C=G
end
local function H(I)
local J=string.match(I,'^%x%x%x%x%x%x%x%x')
if not J then
J=string.gsub(string.sub(I..'\0\0\0\0',1,4),'.',function(K)
return string.format('%02x',string.byte(K))
end)
end
local L=#I==33 and string.sub(I,33)=='~'
local M=call('PTTL',C)
if M<0 then
M=1000000000000
end
return string.lower(J),L and'closed'or'holding',M,' x 1 0  {}'
end
local function N(O)
local P,Q=ARGV[O],ARGV[O+1]
if not call('SET',C,P,'NX','PX',Q)then
local I=A('GETRANGE',C,0,33)
I=type(I)=='string'and I or call('GET',C)
if I~=P then
local J,R,M,S=H(I)
return{'refused',J,R,M,M,'',S}
end
call('PEXPIRE',C,Q)
end
return{'granted','',1}
end
F=F-math.floor(#E/3)
for _,i in ipairs(E)do
local T='later'
if F>0 then
on(KEYS[i])
local U
U,T=pcall(N,2+B*(i-1))
if not U then
T={'error',type(T)=='table'and T.err or T}
end
F=F-35
end
D[i+1]=T
end
return D
