local call,Bs,match,sub=redis.call,redis.pcall,string.match,string.sub
local Ak
local function Bh()
if not Ak then
local Ax=call('TIME')
Ak=Ax[1]*1000000+Ax[2]
end
return Ak
end
local function Bi(us)
return math.floor(us/1000)
end
local N,F,R,U,Bl,Bt,Br
local T,Ao,Bo,Bc=320,false,false,false
local function on(S)
T,Ao,Bo,Bc=math.max(T,5),false,false,false
N,F,R,U=S,S..':h',S..':d',S..':o'
Bl,Bt,Br=S..':q',S..':w',S..':p'
end
local function Ba(Bu)
return{'corrupt',Bu or'a value that is no lock'}
end
local function Z(C)
local O,X,Ac,Ad,Bj,D,I,G=
match(C,'^(%d+) (%a) (%d+)/?(%d*) (!?)(%d+)/?(%d*) (%S*) ')
return O,X,Ac,Bj==''and D or'0',G,tonumber(I),Ad
end
local Ag=12000
local function Aw()
local K=Bs('GETRANGE',N,0,Ag+99)
if type(K)~='string'then
return call('GET',N)
end
return(K~=''or call('EXISTS',N)==1)and K
end
local function Ap(C)
if not C or#C<=Ag then
return C
end
local Bp=match(sub(C,1,Ag),'^%d* %a [%d/]+ !?%d+/?%d* %S* ')
return(Bp or'')..'{"cut":"longer than '..Ag..' bytes"}'
end
local function Bq(C,I)
return(string.gsub(C,'^(%d+ %a [%d/]+ )!?(%d+)/?%d* ','%1%2/'..I..' '))
end
local function Bg(K)
if#K<=32 then
local P,Q=match(K,'^%*([spx])(%d*/?%d*)$')
if P~='p'or match(Q,'^%d')then
return P,Q
end
end
end
local function Bn(K)
local Am,A,An,Bd=match(K,'^(~?)(%x+)([-+])()')
if not A or#A~=32 then
return nil
end
local C=Ap(sub(K,Bd))
local O,X,_,D,G,I=Z(C)
if X~='x'then
return nil
end
local V=call('PTTL',N)
D=tonumber(D)
local Aj=I and V>I+D
V=Aj and I+D or V
local W=Am==''and V>D
return{
A=A,Am=Am~='',An=An,C=C,O=O,D=D,G=G,
W=W,Ah=V,V=W and V-D or V,Aj=Aj,
}
end
local function Av(K)
if not K then
return{}
end
if sub(K,1,1)~='*'then
local E=Bn(K)
return E and{P='x',Q='',E=E,O=E.O}
end
local P,Q=Bg(K)
return P and{P=P,Q=Q,O=P=='x'and Q or nil}
end
local function Ae(Au,by)
local Q=call('HINCRBY',U,Au,by)
if Q<=0 then
call('HDEL',U,Au)
end
end
local function Bv(B)
local Af,Y=match(B.Q,'^(%d*)/?(%d*)$')
local Ai=tonumber(Y~=''and call('HGET',U,'c'..Y)or 0)
if Ai>0 and Ai==call('HLEN',R)then
Af,Ai=Y,0
end
Y=Ai>0 and Y
return math.min(Af,Y or Af),Af,Y
end
local function Bz(B,G)
if G==''then
return 0
end
if B.E then
return B.E.W and B.E.G==G and 1 or 0
end
return tonumber(call('HGET',U,'o'..G)or 0)
end
local function Bb(C)
local _,X,Ac,_,G=Z(C)
if G~=''then
Ae('o'..G,-1)
if X=='p'then
Ae('p'..G,-Ac)
end
end
end
local function Bm(A,C)
local _,X,Ac,_,_,_,Ad=Z(C)
if X=='p'then
Ae('used',-Ac)
if call('HGET',U,'c'..Ad)then
Ae('c'..Ad,-1)
end
end
call('HDEL',R,A)
end
local function Az()
call('UNLINK',N,F,R,U)
end
local function Ar(J)
local A=sub(J,-32)
local C=call('HGET',R,A)
local L=J==A
if C then
local _,_,_,D=Z(C)
if L then
Bb(C)
end
if not L or D=='0'then
Bm(A,C)
end
end
end
local function At()
local M=call('ZREVRANGE',F,0,0,'WITHSCORES')[2]
for _,S in ipairs({N,F,R,U})do
call('PEXPIREAT',S,M)
end
end
local function Bf(H)
local Aq,M=false,call('ZREVRANGE',F,0,0,'WITHSCORES')
while M[1]and T>0 do
local J=M[1]
local _,_,_,D,_,I=Z(call('HGET',R,sub(J,-32))or'')
local Aa=I and H+I+(#J>32 and D or 0)
if not Aa or tonumber(M[2])<=Aa then
break
end
call('PEXPIREAT',N,M[2])
call('ZADD',F,Aa,J)
Aq,T,M=true,T-3,call('ZREVRANGE',F,0,0,'WITHSCORES')
end
if Aq then
At()
end
return M[2]
end
local function Bk(H)
local M=Bf(H)
if not M or tonumber(M)<=H then
Az()
return false
end
local Aa=math.max(1,math.ceil(T/3))
local Ab=call('ZRANGEBYSCORE',F,'-inf',H,'LIMIT',0,Aa)
if Ab[1]then
call('ZREM',F,unpack(Ab))
Ao=#Ab==Aa
T=T-3*#Ab
end
for _,J in ipairs(Ab)do
Ar(J)
end
return true
end
local function Ca(H,A)
local B=Av(Aw())
if B and B.E and B.E.Aj then
call('PEXPIRE',N,B.E.Ah)
end
if B and B.P and not B.E then
if not Bk(H)then
return{}
end
if Ao and A then
for _,J in ipairs({A,'~'..A})do
local As=call('ZSCORE',F,J)
if As and tonumber(As)<=H then
call('ZREM',F,J)
Ar(J)
end
end
end
end
return B
end
local function W(B,A)
if B.E then
return B.E.W and B.E.A==A
end
return B.P and call('ZSCORE',F,A)
end
local function Be(A,Ay,D)
call('ZADD',F,Ay,A)
if D>0 then
call('ZADD',F,Ay+D,'~'..A)
end
end
local function Bx(B,A,I,H)
local Al=B.E and B.E.C or call('HGET',R,A)
local C=Bq(Al,I)
local O,_,_,D,G=Z(C)
D=tonumber(D)
call('PEXPIRE',N,I+D)
if B.E then
if C~=Al then
call('SET',N,A..B.E.An..C,'PX',I+D)
end
return O,G
end
if C~=Al then
call('HSET',R,A,C)
end
Be(A,H+I,D)
At()
return O,G
end
local function By(H)
return call('ZRANGEBYSCORE',F,'('..string.format('%.0f',H),'+inf','LIMIT',0,1)[1]
end
local function Bw(J,H)
local A=sub(J,-32)
local L=call('ZSCORE',F,A)
local Ah=call('ZSCORE',F,'~'..A)or L
local B=L and'holding'or'closed'
return sub(A,1,8),B,(L or Ah)-H,Ah-H,Ap(call('HGET',R,A))
end
on(KEYS[1])
local A=ARGV[2]
local B=Av(Aw())
if not B then
return{ARGV[1],Ba()}
end
local L=W(B,A)
if L and not B.E then
L=tonumber(L)>Bi(Bh())
end
return{ARGV[1],{L and'yes'or'no'}}
