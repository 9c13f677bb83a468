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
local Bt=tonumber(ARGV[2])
local Bf=E(C())
local Ax=Bj(Bf)
if not Ax then
return{ARGV[1],R()}
end
local Ar=Ax.Ar
local Bu=Ax.As and(Ar and 1 or call('HLEN',H))or 0
if N then
Bu=math.max(0,Bu-call('ZCOUNT',G,'-inf',Bf))
end
local Bv,Bw=call('ZCARD',J),{}
local Bh=math.max(1,M)
local Bx=call('ZRANGEBYSCORE',L,'-inf',Bf,'LIMIT',0,Bh)
for _,Ak in ipairs(Bx)do
Bw[Ak]=true
if call('ZSCORE',J,Ak)then
Bv=Bv-1
end
end
local D=call('PTTL',KEYS[2]..'fence')==-1 and''or C()
local By={'holders',Bu,Bv,Ax.At or'',D,0}
local Bz=#By
local function Ca(a,b,c,d)
By[Bz+1],By[Bz+2],By[Bz+3],By[Bz+4]=a,b,c,d
Bz=Bz+4
end
local function Cb(Ak,Cc,An,U)
if By[6]<Bt then
By[6]=By[6]+1
Ca(string.sub(Ak,1,8),Cc,An,U)
end
end
local function Cd(Ak)
if#Bx==Bh and not Bw[Ak]then
return tonumber(call('ZSCORE',L,Ak)or 0)>Bf
end
return not Bw[Ak]
end
local function Ce()
local at,Cf,An=0,0,400
while Cf<Bt and An>0 do
local Cg=call('ZRANGE',J,at,at+math.min(Bt,64)-1)
if not Cg[1]then
return
end
at=at+#Cg
for _,Ak in ipairs(Cg)do
if Cf<Bt and An>0 and Cd(Ak)then
local Ch=call('HGET',K,Ak)or''
local Ci,Cj,U=string.match(Ch,'^(%d+) [01] %S+ %d+ %d+ (%d*) [01] (.*)$')
if Ci then
Ca(string.sub(Ak,1,8),Ci,Cj,Ae(' '..U))
Cf=Cf+1
end
An=An-math.floor(#Ch/1024)
end
An=An-1
end
end
end
if Ar then
Cb(Ar.Ak,Ar.Ao and'holding'or'closed',Ar.An,Ar.U)
elseif Ax.As then
local Ck,Cf='('..string.format('%.0f',Bf),{}
local Cl=call('ZRANGEBYSCORE',G,Ck,'+inf','WITHSCORES','LIMIT',0,2*Bt+1)
for i=1,#Cl,2 do
local Bc,Ak=Cl[i],string.sub(Cl[i],-32)
if not Cf[Ak]then
Cf[Ak]=true
local Cc=Bc==Ak and'holding'or'closed'
Cb(Ak,Cc,Cl[i+1]-Bf,Ae(call('HGET',H,Ak)))
end
end
end
if Bv>0 then
Ce()
end
return{ARGV[1],By}
