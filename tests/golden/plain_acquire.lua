local call,U,match,sub=redis.call,redis.pcall,string.match,string.sub
local T=2
local D,H,G,E=nil,{ARGV[1]},{},1000000
for i=1,#KEYS do
G[i]=i
end
local function on(Q)
D=Q
end
local function O(A)
local F=match(A,'^%x%x%x%x%x%x%x%x')
if not F then
F=string.gsub(sub(A..'\0\0\0\0',1,4),'.',function(M)
return string.format('%02x',string.byte(M))
end)
end
local N=#A==33 and sub(A,33)=='~'
local C=call('PTTL',D)
if C<0 then
C=1000000000000
end
return string.lower(F),N and'closed'or'holding',C,' x 1 0  {}'
end
local function S(I)
local K,L=ARGV[I],ARGV[I+1]
if not call('SET',D,K,'NX','PX',L)then
local A=U('GETRANGE',D,0,33)
A=type(A)=='string'and A or call('GET',D)
if A~=K then
local F,P,C,R=O(A)
return{'refused',F,P,C,C,R}
end
call('PEXPIRE',D,L)
end
return{'granted','',1}
end
E=E-math.floor(#G/3)
for _,i in ipairs(G)do
local B='later'
if E>0 then
on(KEYS[i])
local J
J,B=pcall(S,2+T*(i-1))
if not J then
B={'error',type(B)=='table'and B.err or B}
end
E=E-35
end
H[i+1]=B
end
return H
