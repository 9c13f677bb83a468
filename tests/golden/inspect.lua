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
local V,W,X,Y,Z,Aa,Ab=string.match(U,'^(%d+) (%a) (%d+) (!?)(%d+)/?(%d*) (%S*) ')
return V,W,X,Y==''and Z or'0',Ab,tonumber(Aa)
end
local Ac=12000
local function Ad()
local Ae=A('GETRANGE',F,0,Ac+99)
if type(Ae)~='string'then
return call('GET',F)
end
return(Ae~=''or call('EXISTS',F)==1)and Ae
end
local function Af(U)
if not U or#U<=Ac then
return U
end
local Ag=string.match(string.sub(U,1,Ac),'^%d* %a %d+ !?%d+/?%d* %S* ')
return(Ag or'')..'{"cut":"longer than '..Ac..' bytes"}'
end
local function Ah(U,Aa)
return(string.gsub(U,'^(%d+ %a %d+ )!?(%d+)/?%d* ','%1%2/'..Aa..' '))
end
local function Ai(Ae)
if#Ae<=32 then
return string.match(Ae,'^%*([spx])(%d*)$')
end
end
local function Aj(Ae)
local Ak,Al,Am,An=string.match(Ae,'^(~?)(%x+)([-+])()')
if not Al or#Al~=32 then
return nil
end
local U=Af(string.sub(Ae,An))
local V,W,_,Z,Ab,Aa=T(U)
if W~='x'then
return nil
end
local Ao=call('PTTL',F)
Z=tonumber(Z)
local Ap=Aa and Ao>Aa+Z
Ao=Ap and Aa+Z or Ao
local Aq=Ak==''and Ao>Z
return{
Al=Al,Ak=Ak~='',Am=Am,U=U,V=V,Z=Z,Ab=Ab,
Aq=Aq,Ar=Ao,Ao=Aq and Ao-Z or Ao,Ap=Ap,
}
end
local function As(Ae)
if not Ae then
return{}
end
if string.sub(Ae,1,1)~='*'then
local At=Aj(Ae)
return At and{Au='x',Av='',At=At,V=At.V}
end
local Au,Av=Ai(Ae)
return Au and{Au=Au,Av=Av,V=Au=='x'and Av or nil}
end
local function Aw(Ax,by)
local Av=call('HINCRBY',I,Ax,by)
if Av<=0 then
call('HDEL',I,Ax)
end
end
local function Ay(Az,Ab)
if Ab==''then
return 0
end
if Az.At then
return Az.At.Aq and Az.At.Ab==Ab and 1 or 0
end
return tonumber(call('HGET',I,'o'..Ab)or 0)
end
local function Ba(U)
local _,W,X,_,Ab=T(U)
if Ab~=''then
Aw('o'..Ab,-1)
if W=='p'then
Aw('p'..Ab,-X)
end
end
end
local function Bb(Al,U)
local _,W,X=T(U)
if W=='p'then
Aw('used',-X)
end
call('HDEL',H,Al)
end
local function Bc()
call('UNLINK',F,G,H,I)
end
local function Bd(Be)
local Al=string.sub(Be,-32)
local U=call('HGET',H,Al)
local Bf=Be==Al
if U then
local _,_,_,Z=T(U)
if Bf then
Ba(U)
end
if not Bf or Z=='0'then
Bb(Al,U)
end
end
end
local function Bg()
local Bh=call('ZREVRANGE',G,0,0,'WITHSCORES')[2]
for _,Q in ipairs({F,G,H,I})do
call('PEXPIREAT',Q,Bh)
end
end
local function Bi(Bj)
local Bk,Bh=false,call('ZREVRANGE',G,0,0,'WITHSCORES')
while Bh[1]and M>0 do
local Be=Bh[1]
local _,_,_,Z,_,Aa=T(call('HGET',H,string.sub(Be,-32))or'')
local Bl=Aa and Bj+Aa+(#Be>32 and Z or 0)
if not Bl or tonumber(Bh[2])<=Bl then
break
end
call('PEXPIREAT',F,Bh[2])
call('ZADD',G,Bl,Be)
Bk,M,Bh=true,M-3,call('ZREVRANGE',G,0,0,'WITHSCORES')
end
if Bk then
Bg()
end
return Bh[2]
end
local function Bm(Bj)
local Bh=Bi(Bj)
if not Bh or tonumber(Bh)<=Bj then
Bc()
return false
end
local Bl=math.max(1,math.ceil(M/3))
local Bn=call('ZRANGEBYSCORE',G,'-inf',Bj,'LIMIT',0,Bl)
if Bn[1]then
call('ZREM',G,unpack(Bn))
N=#Bn==Bl
M=M-3*#Bn
end
for _,Be in ipairs(Bn)do
Bd(Be)
end
return true
end
local function Bo(Bj,Al)
local Az=As(Ad())
if Az and Az.At and Az.At.Ap then
call('PEXPIRE',F,Az.At.Ar)
end
if Az and Az.Au and not Az.At then
if not Bm(Bj)then
return{}
end
if N and Al then
for _,Be in ipairs({Al,'~'..Al})do
local Bp=call('ZSCORE',G,Be)
if Bp and tonumber(Bp)<=Bj then
call('ZREM',G,Be)
Bd(Be)
end
end
end
end
return Az
end
local function Aq(Az,Al)
if Az.At then
return Az.At.Aq and Az.At.Al==Al
end
return Az.Au and call('ZSCORE',G,Al)
end
local function Bq(Al,Br,Z)
call('ZADD',G,Br,Al)
if Z>0 then
call('ZADD',G,Br+Z,'~'..Al)
end
end
local function Bs(Az,Al,Aa,Bj)
local Bt=Az.At and Az.At.U or call('HGET',H,Al)
local U=Ah(Bt,Aa)
local V,_,_,Z,Ab=T(U)
Z=tonumber(Z)
call('PEXPIRE',F,Aa+Z)
if Az.At then
if U~=Bt then
call('SET',F,Al..Az.At.Am..U,'PX',Aa+Z)
end
return V,Ab
end
if U~=Bt then
call('HSET',H,Al,U)
end
Bq(Al,Bj+Aa,Z)
Bg()
return V,Ab
end
local function Bu(Bj)
return call('ZRANGEBYSCORE',G,'('..string.format('%.0f',Bj),'+inf','LIMIT',0,1)[1]
end
local function Bv(Be,Bj)
local Al=string.sub(Be,-32)
local Bf=call('ZSCORE',G,Al)
local Ar=call('ZSCORE',G,'~'..Al)or Bf
local Az=Bf and'holding'or'closed'
return string.sub(Al,1,8),Az,(Bf or Ar)-Bj,Ar-Bj,Af(call('HGET',H,Al))
end
on(KEYS[1])
local Bw=tonumber(ARGV[2])
local Bj=E(C())
local Az=Bo(Bj)
if not Az then
return{ARGV[1],R()}
end
local At=Az.At
local Bx=Az.Au and(At and 1 or call('HLEN',H))or 0
if N then
Bx=math.max(0,Bx-call('ZCOUNT',G,'-inf',Bj))
end
local By,Bz=call('ZCARD',J),{}
local Bl=math.max(1,M)
local Ca=call('ZRANGEBYSCORE',L,'-inf',Bj,'LIMIT',0,Bl)
for _,Al in ipairs(Ca)do
Bz[Al]=true
if call('ZSCORE',J,Al)then
By=By-1
end
end
local D=call('PTTL',KEYS[2]..'fence')==-1 and''or C()
local Cb={'holders',Bx,By,Az.Av or'',D,0}
local Cc=#Cb
local function Cd(a,b,c,d)
Cb[Cc+1],Cb[Cc+2],Cb[Cc+3],Cb[Cc+4]=a,b,c,d
Cc=Cc+4
end
local function Ce(Al,Cf,Ao,U)
if Cb[6]<Bw then
Cb[6]=Cb[6]+1
Cd(string.sub(Al,1,8),Cf,Ao,U)
end
end
local function Cg(Al)
if#Ca==Bl and not Bz[Al]then
return tonumber(call('ZSCORE',L,Al)or 0)>Bj
end
return not Bz[Al]
end
local function Ch()
local at,Ci,Ao=0,0,400
while Ci<Bw and Ao>0 do
local Cj=call('ZRANGE',J,at,at+math.min(Bw,64)-1)
if not Cj[1]then
return
end
at=at+#Cj
for _,Al in ipairs(Cj)do
if Ci<Bw and Ao>0 and Cg(Al)then
local Ck=call('HGET',K,Al)or''
local Cl,Cm,U=string.match(Ck,'^(%d+) [01] %S+ %d+ %d+ (%d*) [01] (.*)$')
if Cl then
Cd(string.sub(Al,1,8),Cl,Cm,Af(' '..U))
Ci=Ci+1
end
Ao=Ao-math.floor(#Ck/1024)
end
Ao=Ao-1
end
end
end
if At then
Ce(At.Al,At.Aq and'holding'or'closed',At.Ao,At.U)
elseif Az.Au then
local Cn,Ci='('..string.format('%.0f',Bj),{}
local Co=call('ZRANGEBYSCORE',G,Cn,'+inf','WITHSCORES','LIMIT',0,2*Bw+1)
for i=1,#Co,2 do
local Be,Al=Co[i],string.sub(Co[i],-32)
if not Ci[Al]then
Ci[Al]=true
local Cf=Be==Al and'holding'or'closed'
Ce(Al,Cf,Co[i+1]-Bj,Af(call('HGET',H,Al)))
end
end
end
if By>0 then
Ch()
end
return{ARGV[1],Cb}
