local call,A=redis.call,redis.pcall
local B
local function C()
if not B then
local D=call('TIME')
B=D[1]*1000000+D[2]
end
return B
end
local function E(us)
return math.floor(us/1000)
end
local F,G,H,I,J,K,L
local M,N,O,P=320,false,false,false
local function on(Q)
M,N,O,P=math.max(M,5),false,false,false
F,G,H,I=Q,Q..':h',Q..':d',Q..':o'
J,K,L=Q..':q',Q..':w',Q..':p'
end
local function R(S)
return{'corrupt',S or'a value that is no lock'}
end
local function T(U)
local V,W,X,Y,Z,Aa=string.match(U,'^(%d+) (%a) (%d+) (!?)(%d+) (%S*) ')
return V,W,X,Y==''and Z or'0',Aa
end
local Ab=12000
local function Ac()
local Ad=A('GETRANGE',F,0,Ab+99)
if type(Ad)~='string'then
return call('GET',F)
end
return(Ad~=''or call('EXISTS',F)==1)and Ad
end
local function Ae(U)
if not U or#U<=Ab then
return U
end
local Af=string.match(string.sub(U,1,Ab),'^%d* %a %d+ !?%d+ %S* ')
return(Af or'')..'{"cut":"longer than '..Ab..' bytes"}'
end
local function Ag(U)
return(string.gsub(U,'^(%d+ %a %d+ )!','%1'))
end
local function Ah(Ad)
if#Ad<=32 then
return string.match(Ad,'^%*([spx])(%d*)$')
end
end
local function Ai(Ad)
local Aj,Ak,Al,Am=string.match(Ad,'^(~?)(%x+)([-+])()')
if not Ak or#Ak~=32 then
return nil
end
local U=Ae(string.sub(Ad,Am))
local V,W,_,Z,Aa=T(U)
if W~='x'then
return nil
end
local An=call('PTTL',F)
Z=tonumber(Z)
local Ao=Aj==''and An>Z
return{
Ak=Ak,Aj=Aj~='',Al=Al,U=U,V=V,Z=Z,Aa=Aa,
Ao=Ao,Ap=An,An=Ao and An-Z or An,
}
end
local function Aq(Ad)
if not Ad then
return{}
end
if string.sub(Ad,1,1)~='*'then
local Ar=Ai(Ad)
return Ar and{As='x',At='',Ar=Ar,V=Ar.V}
end
local As,At=Ah(Ad)
return As and{As=As,At=At,V=As=='x'and At or nil}
end
local function Au(Av,by)
local At=call('HINCRBY',I,Av,by)
if At<=0 then
call('HDEL',I,Av)
end
end
local function Aw(Ax,Aa)
if Aa==''then
return 0
end
if Ax.Ar then
return Ax.Ar.Ao and Ax.Ar.Aa==Aa and 1 or 0
end
return tonumber(call('HGET',I,'o'..Aa)or 0)
end
local function Ay(U)
local _,W,X,_,Aa=T(U)
if Aa~=''then
Au('o'..Aa,-1)
if W=='p'then
Au('p'..Aa,-X)
end
end
end
local function Az(Ak,U)
local _,W,X=T(U)
if W=='p'then
Au('used',-X)
end
call('HDEL',H,Ak)
end
local function Ba()
call('UNLINK',F,G,H,I)
end
local function Bb(Bc)
local Ak=string.sub(Bc,-32)
local U=call('HGET',H,Ak)
local Bd=Bc==Ak
if U then
local _,_,_,Z=T(U)
if Bd then
Ay(U)
end
if not Bd or Z=='0'then
Az(Ak,U)
end
end
end
local function Be(Bf)
local Bg=call('ZREVRANGE',G,0,0,'WITHSCORES')[2]
if not Bg or tonumber(Bg)<=Bf then
Ba()
return false
end
local Bh=math.max(1,math.ceil(M/3))
local Bi=call('ZRANGEBYSCORE',G,'-inf',Bf,'LIMIT',0,Bh)
if Bi[1]then
call('ZREM',G,unpack(Bi))
N=#Bi==Bh
M=M-3*#Bi
end
for _,Bc in ipairs(Bi)do
Bb(Bc)
end
return true
end
local function Bj(Bf,Ak)
local Ax=Aq(Ac())
if Ax and Ax.As and not Ax.Ar then
if not Be(Bf)then
return{}
end
if N and Ak then
for _,Bc in ipairs({Ak,'~'..Ak})do
local Bk=call('ZSCORE',G,Bc)
if Bk and tonumber(Bk)<=Bf then
call('ZREM',G,Bc)
Bb(Bc)
end
end
end
end
return Ax
end
local function Ao(Ax,Ak)
if Ax.Ar then
return Ax.Ar.Ao and Ax.Ar.Ak==Ak
end
return Ax.As and call('ZSCORE',G,Ak)
end
local function Bl(Ak,Bm,Z)
call('ZADD',G,Bm,Ak)
if Z>0 then
call('ZADD',G,Bm+Z,'~'..Ak)
end
end
local function Bn()
local Bg=call('ZREVRANGE',G,0,0,'WITHSCORES')[2]
for _,Q in ipairs({F,G,H,I})do
call('PEXPIREAT',Q,Bg)
end
end
local function Bo(Ax,Ak,Bp,Bf)
local Bq=Ax.Ar and Ax.Ar.U or call('HGET',H,Ak)
local U=Ag(Bq)
local V,_,_,Z,Aa=T(U)
Z=tonumber(Z)
call('PEXPIRE',F,Bp+Z)
if Ax.Ar then
if U~=Bq then
call('SET',F,Ak..'+'..U,'PX',Bp+Z)
end
return V,Aa
end
if U~=Bq then
call('HSET',H,Ak,U)
end
Bl(Ak,Bf+Bp,Z)
Bn()
return V,Aa
end
local function Br(Bf)
return call('ZRANGEBYSCORE',G,'('..string.format('%.0f',Bf),'+inf','LIMIT',0,1)[1]
end
local function Bs(Bc,Bf)
local Ak=string.sub(Bc,-32)
local Bd=call('ZSCORE',G,Ak)
local Ap=call('ZSCORE',G,'~'..Ak)or Bd
local Ax=Bd and'holding'or'closed'
return string.sub(Ak,1,8),Ax,(Bd or Ap)-Bf,Ap-Bf,Ae(call('HGET',H,Ak))
end
on(KEYS[1])
local Ak=ARGV[2]
local Ax=Aq(Ac())
if not Ax then
return{ARGV[1],R()}
end
local Bd=Ao(Ax,Ak)
if Bd and not Ax.Ar then
Bd=tonumber(Bd)>E(C())
end
return{ARGV[1],{Bd and'yes'or'no'}}
