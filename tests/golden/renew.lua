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
local Ai=12000
local function Aj()
local I=A('GETRANGE',F,0,Ai+99)
if type(I)~='string'then
return call('GET',F)
end
return(I~=''or call('EXISTS',F)==1)and I
end
local function Ak(Ab)
if not Ab or#Ab<=Ai then
return Ab
end
local Al=string.match(string.sub(Ab,1,Ai),'^%d* %a %d+ !?%d+ %S* ')
return(Al or'')..'{"cut":"longer than '..Ai..' bytes"}'
end
local function Am(Ab)
return(string.gsub(Ab,'^(%d+ %a %d+ )!','%1'))
end
local function An(I)
if#I<=32 then
return string.match(I,'^%*([spx])(%d*)$')
end
end
local function Ao(I)
local Ap,Aq,Ar,As=string.match(I,'^(~?)(%x+)([-+])()')
if not Aq or#Aq~=32 then
return nil
end
local Ab=Ak(string.sub(I,As))
local Ac,Ad,_,Ag,Ah=Aa(Ab)
if Ad~='x'then
return nil
end
local At=call('PTTL',F)
Ag=tonumber(Ag)
local Au=Ap==''and At>Ag
return{
Aq=Aq,Ap=Ap~='',Ar=Ar,Ab=Ab,Ac=Ac,Ag=Ag,Ah=Ah,
Au=Au,Av=At,At=Au and At-Ag or At,
}
end
local function Aw(I)
if not I then
return{}
end
if string.sub(I,1,1)~='*'then
local Ax=Ao(I)
return Ax and{Ay='x',Az='',Ax=Ax,Ac=Ax.Ac}
end
local Ay,Az=An(I)
return Ay and{Ay=Ay,Az=Az,Ac=Ay=='x'and Az or nil}
end
local function Ba(Bb,by)
local Az=call('HINCRBY',P,Bb,by)
if Az<=0 then
call('HDEL',P,Bb)
end
end
local function Bc(Bd,Ah)
if Ah==''then
return 0
end
if Bd.Ax then
return Bd.Ax.Au and Bd.Ax.Ah==Ah and 1 or 0
end
return tonumber(call('HGET',P,'o'..Ah)or 0)
end
local function Be(Ab)
local _,Ad,Ae,_,Ah=Aa(Ab)
if Ah~=''then
Ba('o'..Ah,-1)
if Ad=='p'then
Ba('p'..Ah,-Ae)
end
end
end
local function Bf(Aq,Ab)
local _,Ad,Ae=Aa(Ab)
if Ad=='p'then
Ba('used',-Ae)
end
call('HDEL',O,Aq)
end
local function Bg()
call('UNLINK',F,N,O,P)
end
local function Bh(Bi)
local Aq=string.sub(Bi,-32)
local Ab=call('HGET',O,Aq)
local Bj=Bi==Aq
if Ab then
local _,_,_,Ag=Aa(Ab)
if Bj then
Be(Ab)
end
if not Bj or Ag=='0'then
Bf(Aq,Ab)
end
end
end
local function Bk(Bl)
local Bm=call('ZREVRANGE',N,0,0,'WITHSCORES')[2]
if not Bm or tonumber(Bm)<=Bl then
Bg()
return false
end
local Bn=math.max(1,math.ceil(T/3))
local Bo=call('ZRANGEBYSCORE',N,'-inf',Bl,'LIMIT',0,Bn)
if Bo[1]then
call('ZREM',N,unpack(Bo))
U=#Bo==Bn
T=T-3*#Bo
end
for _,Bi in ipairs(Bo)do
Bh(Bi)
end
return true
end
local function Bp(Bl,Aq)
local Bd=Aw(Aj())
if Bd and Bd.Ay and not Bd.Ax then
if not Bk(Bl)then
return{}
end
if U and Aq then
for _,Bi in ipairs({Aq,'~'..Aq})do
local Bq=call('ZSCORE',N,Bi)
if Bq and tonumber(Bq)<=Bl then
call('ZREM',N,Bi)
Bh(Bi)
end
end
end
end
return Bd
end
local function Au(Bd,Aq)
if Bd.Ax then
return Bd.Ax.Au and Bd.Ax.Aq==Aq
end
return Bd.Ay and call('ZSCORE',N,Aq)
end
local function Br(Aq,Bs,Ag)
call('ZADD',N,Bs,Aq)
if Ag>0 then
call('ZADD',N,Bs+Ag,'~'..Aq)
end
end
local function Bt()
local Bm=call('ZREVRANGE',N,0,0,'WITHSCORES')[2]
for _,X in ipairs({F,N,O,P})do
call('PEXPIREAT',X,Bm)
end
end
local function Bu(Bd,Aq,Bv,Bl)
local Bw=Bd.Ax and Bd.Ax.Ab or call('HGET',O,Aq)
local Ab=Am(Bw)
local Ac,_,_,Ag,Ah=Aa(Ab)
Ag=tonumber(Ag)
call('PEXPIRE',F,Bv+Ag)
if Bd.Ax then
if Ab~=Bw then
call('SET',F,Aq..'+'..Ab,'PX',Bv+Ag)
end
return Ac,Ah
end
if Ab~=Bw then
call('HSET',O,Aq,Ab)
end
Br(Aq,Bl+Bv,Ag)
Bt()
return Ac,Ah
end
local function Bx(Bl)
return call('ZRANGEBYSCORE',N,'('..string.format('%.0f',Bl),'+inf','LIMIT',0,1)[1]
end
local function By(Bi,Bl)
local Aq=string.sub(Bi,-32)
local Bj=call('ZSCORE',N,Aq)
local Av=call('ZSCORE',N,'~'..Aq)or Bj
local Bd=Bj and'holding'or'closed'
return string.sub(Aq,1,8),Bd,(Bj or Av)-Bl,Av-Bl,Ak(call('HGET',O,Aq))
end
local function Bz(G)
local Aq=string.sub(ARGV[G],1,32)
local Bd=Aw(Aj())
if not Bd then
return Y()
end
local Bl=M(K())
local Bj=Au(Bd,Aq)
if not Bj and Bd.Ay and not Bd.Ax and call('EXISTS',N)==0 then
error({err='TRYAGAIN part of it is on another node'})
end
if not Bj or not Bd.Ax and tonumber(Bj)<=Bl then
return 0
end
Bu(Bd,Aq,tonumber(ARGV[G+1]),Bl)
return 1
end
T=T-math.floor(#D/3)
for _,i in ipairs(D)do
local H='later'
if T>0 then
on(KEYS[i])
local Ca
Ca,H=pcall(Bz,2+B*(i-1))
if not Ca then
H={'error',type(H)=='table'and H.err or H}
end
T=T-35
end
C[i+1]=H
end
return C
