local call,M,match,sub=redis.call,redis.pcall,string.match,string.sub
local D,F,K,L=nil,{ARGV[1]},{},1000000
for i=1,#KEYS do
K[i]=i
end
local function on(J)
D=J
end
local function I(A)
local E=match(A,'^%x%x%x%x%x%x%x%x')
if not E then
E=string.gsub(sub(A..'\0\0\0\0',1,4),'.',function(G)
return string.format('%02x',string.byte(G))
end)
end
local H=#A==33 and sub(A,33)=='~'
local C=call('PTTL',D)
if C<0 then
C=1000000000000
end
return string.lower(E),H and'closed'or'holding',C,' x 1 0  {}'
end
on(KEYS[1])
local A=call('GET',D)
local B={'holders',A and 1 or 0,0,'',0}
if A and tonumber(ARGV[2])>0 then
B[5]=1
B[6],B[7],B[8],B[9]=I(A)
end
F[2]=B
return F
