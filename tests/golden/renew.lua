local call,A=redis.call,redis.pcall
local B,C,D=2,{ARGV[1]},{}
local E=A('MGET',unpack(KEYS))
for i=1,#KEYS do
local F,G,H=KEYS[i],2+B*(i-1),nil
if not D[F]then
local I=E[i]
if not I then
H=A('EXISTS',F)==0 and 0
elseif string.sub(I,1,33)==ARGV[G]then
H=A('PEXPIRE',F,ARGV[G+1])==1 and 1
end
end
if H then
C[i+1]=H
else
D[#D+1],D[F]=i,true
end
end
if not D[1]then
return C
end
local J
local function K()
if not J then
local L=call('TIME')
J=L[1]*1000000+L[2]
end
return J
end
local function M(us)
return math.floor(us/1000)
end
local F,N,O,P,Q,R,S
local T,U,V,W=320,false,false,false
local function on(X)
T,U,V,W=math.max(T,5),false,false,false
F,N,O,P=X,X..':h',X..':d',X..':o'
Q,R,S=X..':q',X..':w',X..':p'
end
local function Y(Z)
return{'corrupt',Z or'a value that is no lock'}
end
local function Aa(Ab)
local Ac,Ad,Ae,Af,Ag,Ah=string.match(Ab,'^(%d+) (%a) (%d+) (!?)(%d+) (%S*) ')
return Ac,Ad,Ae,Af==''and Ag or'0',Ah
end
local function Ai(Ab)
return(string.gsub(Ab,'^(%d+ %a %d+ )!','%1'))
end
local function Aj(I)
return string.match(I,'^%*([spx])(%d*)$')
end
local function Ak(I)
local Al,Am,An,Ab=string.match(I,'^(~?)(%x+)([-+])(.*)$')
if not Am or#Am~=32 then
return nil
end
local Ac,Ad,_,Ag,Ah=Aa(Ab)
if Ad~='x'then
return nil
end
local Ao=call('PTTL',F)
Ag=tonumber(Ag)
local Ap=Al==''and Ao>Ag
return{
Am=Am,Al=Al~='',An=An,Ab=Ab,Ac=Ac,Ag=Ag,Ah=Ah,
Ap=Ap,Aq=Ao,Ao=Ap and Ao-Ag or Ao,
}
end
local function Ar(I)
if not I then
return{}
end
if string.sub(I,1,1)~='*'then
local As=Ak(I)
return As and{At='x',Au='',As=As,Ac=As.Ac}
end
local At,Au=Aj(I)
return At and{At=At,Au=Au,Ac=At=='x'and Au or nil}
end
local function Av(Aw,by)
local Au=call('HINCRBY',P,Aw,by)
if Au<=0 then
call('HDEL',P,Aw)
end
end
local function Ax(Ay,Ah)
if Ah==''then
return 0
end
if Ay.As then
return Ay.As.Ap and Ay.As.Ah==Ah and 1 or 0
end
return tonumber(call('HGET',P,'o'..Ah)or 0)
end
local function Az(Ab)
local _,Ad,Ae,_,Ah=Aa(Ab)
if Ah~=''then
Av('o'..Ah,-1)
if Ad=='p'then
Av('p'..Ah,-Ae)
end
end
end
local function Ba(Am,Ab)
local _,Ad,Ae=Aa(Ab)
if Ad=='p'then
Av('used',-Ae)
end
call('HDEL',O,Am)
end
local function Bb()
call('UNLINK',F,N,O,P)
end
local function Bc(Bd)
local Am=string.sub(Bd,-32)
local Ab=call('HGET',O,Am)
local Be=Bd==Am
if Ab then
local _,_,_,Ag=Aa(Ab)
if Be then
Az(Ab)
end
if not Be or Ag=='0'then
Ba(Am,Ab)
end
end
end
local function Bf(Bg)
local Bh=call('ZREVRANGE',N,0,0,'WITHSCORES')[2]
if not Bh or tonumber(Bh)<=Bg then
Bb()
return false
end
local Bi=math.max(1,math.ceil(T/3))
local Bj=call('ZRANGEBYSCORE',N,'-inf',Bg,'LIMIT',0,Bi)
if Bj[1]then
call('ZREM',N,unpack(Bj))
U=#Bj==Bi
T=T-3*#Bj
end
for _,Bd in ipairs(Bj)do
Bc(Bd)
end
return true
end
local function Bk(I,Bg,Am)
local Ay=Ar(I)
if Ay and Ay.At and not Ay.As then
if not Bf(Bg)then
return{}
end
if U and Am then
for _,Bd in ipairs({Am,'~'..Am})do
local Bl=call('ZSCORE',N,Bd)
if Bl and tonumber(Bl)<=Bg then
call('ZREM',N,Bd)
Bc(Bd)
end
end
end
end
return Ay
end
local function Ap(Ay,Am)
if Ay.As then
return Ay.As.Ap and Ay.As.Am==Am
end
return Ay.At and call('ZSCORE',N,Am)
end
local function Bm(Am,Bn,Ag)
call('ZADD',N,Bn,Am)
if Ag>0 then
call('ZADD',N,Bn+Ag,'~'..Am)
end
end
local function Bo()
local Bh=call('ZREVRANGE',N,0,0,'WITHSCORES')[2]
for _,X in ipairs({F,N,O,P})do
call('PEXPIREAT',X,Bh)
end
end
local function Bp(Ay,Am,Bq,Bg)
local Br=Ay.As and Ay.As.Ab or call('HGET',O,Am)
local Ab=Ai(Br)
local Ac,_,_,Ag,Ah=Aa(Ab)
Ag=tonumber(Ag)
call('PEXPIRE',F,Bq+Ag)
if Ay.As then
if Ab~=Br then
call('SET',F,Am..'+'..Ab,'PX',Bq+Ag)
end
return Ac,Ah
end
if Ab~=Br then
call('HSET',O,Am,Ab)
end
Bm(Am,Bg+Bq,Ag)
Bo()
return Ac,Ah
end
local function Bs(Bg)
return call('ZRANGEBYSCORE',N,'('..string.format('%.0f',Bg),'+inf','LIMIT',0,1)[1]
end
local function Bt(Bd,Bg)
local Am=string.sub(Bd,-32)
local Be=call('ZSCORE',N,Am)
local Aq=call('ZSCORE',N,'~'..Am)or Be
local Ay=Be and'holding'or'closed'
return string.sub(Am,1,8),Ay,(Be or Aq)-Bg,Aq-Bg,call('HGET',O,Am)
end
local function Bu(G)
local Am=string.sub(ARGV[G],1,32)
local Ay=Ar(call('GET',F))
if not Ay then
return Y()
end
local Bg=M(K())
local Be=Ap(Ay,Am)
if not Be and Ay.At and not Ay.As and call('EXISTS',N)==0 then
error({err='TRYAGAIN part of it is on another node'})
end
if not Be or not Ay.As and tonumber(Be)<=Bg then
return 0
end
Bp(Ay,Am,tonumber(ARGV[G+1]),Bg)
return 1
end
T=T-math.floor(#D/3)
for _,i in ipairs(D)do
local H='later'
if T>0 then
on(KEYS[i])
local Bv
Bv,H=pcall(Bu,2+B*(i-1))
if not Bv then
H={'error',type(H)=='table'and H.err or H}
end
T=T-35
end
C[i+1]=H
end
return C
