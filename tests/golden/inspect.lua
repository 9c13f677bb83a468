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
local function Ab(U)
return(string.gsub(U,'^(%d+ %a %d+ )!','%1'))
end
local function Ac(Ad)
return string.match(Ad,'^%*([spx])(%d*)$')
end
local function Ae(Ad)
local Af,Ag,Ah,U=string.match(Ad,'^(~?)(%x+)([-+])(.*)$')
if not Ag or#Ag~=32 then
return nil
end
local V,W,_,Z,Aa=T(U)
if W~='x'then
return nil
end
local Ai=call('PTTL',F)
Z=tonumber(Z)
local Aj=Af==''and Ai>Z
return{
Ag=Ag,Af=Af~='',Ah=Ah,U=U,V=V,Z=Z,Aa=Aa,
Aj=Aj,Ak=Ai,Ai=Aj and Ai-Z or Ai,
}
end
local function Al(Ad)
if not Ad then
return{}
end
if string.sub(Ad,1,1)~='*'then
local Am=Ae(Ad)
return Am and{An='x',Ao='',Am=Am,V=Am.V}
end
local An,Ao=Ac(Ad)
return An and{An=An,Ao=Ao,V=An=='x'and Ao or nil}
end
local function Ap(Aq,by)
local Ao=call('HINCRBY',I,Aq,by)
if Ao<=0 then
call('HDEL',I,Aq)
end
end
local function Ar(As,Aa)
if Aa==''then
return 0
end
if As.Am then
return As.Am.Aj and As.Am.Aa==Aa and 1 or 0
end
return tonumber(call('HGET',I,'o'..Aa)or 0)
end
local function At(U)
local _,W,X,_,Aa=T(U)
if Aa~=''then
Ap('o'..Aa,-1)
if W=='p'then
Ap('p'..Aa,-X)
end
end
end
local function Au(Ag,U)
local _,W,X=T(U)
if W=='p'then
Ap('used',-X)
end
call('HDEL',H,Ag)
end
local function Av()
call('UNLINK',F,G,H,I)
end
local function Aw(Ax)
local Ag=string.sub(Ax,-32)
local U=call('HGET',H,Ag)
local Ay=Ax==Ag
if U then
local _,_,_,Z=T(U)
if Ay then
At(U)
end
if not Ay or Z=='0'then
Au(Ag,U)
end
end
end
local function Az(Ba)
local Bb=call('ZREVRANGE',G,0,0,'WITHSCORES')[2]
if not Bb or tonumber(Bb)<=Ba then
Av()
return false
end
local Bc=math.max(1,math.ceil(M/3))
local Bd=call('ZRANGEBYSCORE',G,'-inf',Ba,'LIMIT',0,Bc)
if Bd[1]then
call('ZREM',G,unpack(Bd))
N=#Bd==Bc
M=M-3*#Bd
end
for _,Ax in ipairs(Bd)do
Aw(Ax)
end
return true
end
local function Be(Ad,Ba,Ag)
local As=Al(Ad)
if As and As.An and not As.Am then
if not Az(Ba)then
return{}
end
if N and Ag then
for _,Ax in ipairs({Ag,'~'..Ag})do
local Bf=call('ZSCORE',G,Ax)
if Bf and tonumber(Bf)<=Ba then
call('ZREM',G,Ax)
Aw(Ax)
end
end
end
end
return As
end
local function Aj(As,Ag)
if As.Am then
return As.Am.Aj and As.Am.Ag==Ag
end
return As.An and call('ZSCORE',G,Ag)
end
local function Bg(Ag,Bh,Z)
call('ZADD',G,Bh,Ag)
if Z>0 then
call('ZADD',G,Bh+Z,'~'..Ag)
end
end
local function Bi()
local Bb=call('ZREVRANGE',G,0,0,'WITHSCORES')[2]
for _,Q in ipairs({F,G,H,I})do
call('PEXPIREAT',Q,Bb)
end
end
local function Bj(As,Ag,Bk,Ba)
local Bl=As.Am and As.Am.U or call('HGET',H,Ag)
local U=Ab(Bl)
local V,_,_,Z,Aa=T(U)
Z=tonumber(Z)
call('PEXPIRE',F,Bk+Z)
if As.Am then
if U~=Bl then
call('SET',F,Ag..'+'..U,'PX',Bk+Z)
end
return V,Aa
end
if U~=Bl then
call('HSET',H,Ag,U)
end
Bg(Ag,Ba+Bk,Z)
Bi()
return V,Aa
end
local function Bm(Ba)
return call('ZRANGEBYSCORE',G,'('..string.format('%.0f',Ba),'+inf','LIMIT',0,1)[1]
end
local function Bn(Ax,Ba)
local Ag=string.sub(Ax,-32)
local Ay=call('ZSCORE',G,Ag)
local Ak=call('ZSCORE',G,'~'..Ag)or Ay
local As=Ay and'holding'or'closed'
return string.sub(Ag,1,8),As,(Ay or Ak)-Ba,Ak-Ba,call('HGET',H,Ag)
end
on(KEYS[1])
local Bo=tonumber(ARGV[2])
local Ba=E(C())
local As=Be(call('GET',F),Ba)
if not As then
return{ARGV[1],R()}
end
local Am=As.Am
local Bp=As.An and(Am and 1 or call('HLEN',H))or 0
if N then
Bp=math.max(0,Bp-call('ZCOUNT',G,'-inf',Ba))
end
local Bq=call('ZCARD',J)
for _,Ag in ipairs(call('ZRANGEBYSCORE',L,'-inf',Ba,'LIMIT',0,math.max(1,M)))do
if call('ZSCORE',J,Ag)then
Bq=Bq-1
end
end
local D=call('PTTL',KEYS[2]..'fence')==-1 and''or C()
local Br={'holders',Bp,Bq,As.Ao or'',D,0}
local function Bs(a,b,c,d)
for _,Aq in ipairs({a,b,c,d})do
Br[#Br+1]=Aq
end
end
local function Bt(Bu,Bv,Ai,U)
if Br[6]<Bo then
Br[6]=Br[6]+1
Bs(Bu,Bv,Ai,U)
end
end
local function Bw()
local at,Bx,Ai=0,0,500
while Bx<Bo and Ai>0 do
local By=call('ZRANGE',J,at,at+math.min(Bo,64)-1)
if not By[1]then
return
end
at=at+#By
for _,Ag in ipairs(By)do
local Bz=call('ZSCORE',L,Ag)
if Bx<Bo and Ai>0 and Bz and tonumber(Bz)>Ba then
local Ca=call('HGET',K,Ag)or''
local Cb,Cc,U=string.match(Ca,'^(%d+) [01] %S+ %d+ %d+ (%d*) [01] (.*)$')
if Cb then
Bs(string.sub(Ag,1,8),Cb,Cc,' '..U)
Bx=Bx+1
end
Ai=Ai-math.floor(#Ca/1024)
end
Ai=Ai-1
end
end
end
if Am then
Bt(string.sub(Am.Ag,1,8),Am.Aj and'holding'or'closed',Am.Ai,Am.U)
elseif As.An then
local Bx={}
for _,Ax in ipairs(call('ZRANGEBYSCORE',G,'('..string.format('%.0f',Ba),'+inf','LIMIT',0,2*Bo+1))do
local Ag=string.sub(Ax,-32)
if not Bx[Ag]then
Bx[Ag]=true
local Bu,Bv,Ai,_,U=Bn(Ax,Ba)
Bt(Bu,Bv,Ai,U)
end
end
end
if Bq>0 then
Bw()
end
return{ARGV[1],Br}
