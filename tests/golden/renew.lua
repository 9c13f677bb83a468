local call,A=redis.call,redis.pcall
local B,C,D=2,{ARGV[1]},{}
local E=A('MGET',unpack(KEYS))
for i=1,#KEYS do
local F,G,H=KEYS[i],2+B*(i-1),nil
if not D[F]then
local I=E[i]
if not I then
H=A('EXISTS',F)==0 and 0
elseif string.sub(I,1,33)==ARGV[G]and string.match(I,'^%d+ x 1 0/(%d+) ',34)==ARGV[G+1]then
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
local Ac,Ad,Ae,Af,Ag,Ah,Ai=string.match(Ab,'^(%d+) (%a) (%d+) (!?)(%d+)/?(%d*) (%S*) ')
return Ac,Ad,Ae,Af==''and Ag or'0',Ai,tonumber(Ah)
end
local Aj=12000
local function Ak()
local I=A('GETRANGE',F,0,Aj+99)
if type(I)~='string'then
return call('GET',F)
end
return(I~=''or call('EXISTS',F)==1)and I
end
local function Al(Ab)
if not Ab or#Ab<=Aj then
return Ab
end
local Am=string.match(string.sub(Ab,1,Aj),'^%d* %a %d+ !?%d+/?%d* %S* ')
return(Am or'')..'{"cut":"longer than '..Aj..' bytes"}'
end
local function An(Ab,Ah)
return(string.gsub(Ab,'^(%d+ %a %d+ )!?(%d+)/?%d* ','%1%2/'..Ah..' '))
end
local function Ao(I)
if#I<=32 then
return string.match(I,'^%*([spx])(%d*)$')
end
end
local function Ap(I)
local Aq,Ar,As,At=string.match(I,'^(~?)(%x+)([-+])()')
if not Ar or#Ar~=32 then
return nil
end
local Ab=Al(string.sub(I,At))
local Ac,Ad,_,Ag,Ai,Ah=Aa(Ab)
if Ad~='x'then
return nil
end
local Au=call('PTTL',F)
Ag=tonumber(Ag)
local Av=Ah and Au>Ah+Ag
Au=Av and Ah+Ag or Au
local Aw=Aq==''and Au>Ag
return{
Ar=Ar,Aq=Aq~='',As=As,Ab=Ab,Ac=Ac,Ag=Ag,Ai=Ai,
Aw=Aw,Ax=Au,Au=Aw and Au-Ag or Au,Av=Av,
}
end
local function Ay(I)
if not I then
return{}
end
if string.sub(I,1,1)~='*'then
local Az=Ap(I)
return Az and{Ba='x',Bb='',Az=Az,Ac=Az.Ac}
end
local Ba,Bb=Ao(I)
return Ba and{Ba=Ba,Bb=Bb,Ac=Ba=='x'and Bb or nil}
end
local function Bc(Bd,by)
local Bb=call('HINCRBY',P,Bd,by)
if Bb<=0 then
call('HDEL',P,Bd)
end
end
local function Be(Bf,Ai)
if Ai==''then
return 0
end
if Bf.Az then
return Bf.Az.Aw and Bf.Az.Ai==Ai and 1 or 0
end
return tonumber(call('HGET',P,'o'..Ai)or 0)
end
local function Bg(Ab)
local _,Ad,Ae,_,Ai=Aa(Ab)
if Ai~=''then
Bc('o'..Ai,-1)
if Ad=='p'then
Bc('p'..Ai,-Ae)
end
end
end
local function Bh(Ar,Ab)
local _,Ad,Ae=Aa(Ab)
if Ad=='p'then
Bc('used',-Ae)
end
call('HDEL',O,Ar)
end
local function Bi()
call('UNLINK',F,N,O,P)
end
local function Bj(Bk)
local Ar=string.sub(Bk,-32)
local Ab=call('HGET',O,Ar)
local Bl=Bk==Ar
if Ab then
local _,_,_,Ag=Aa(Ab)
if Bl then
Bg(Ab)
end
if not Bl or Ag=='0'then
Bh(Ar,Ab)
end
end
end
local function Bm()
local Bn=call('ZREVRANGE',N,0,0,'WITHSCORES')[2]
for _,X in ipairs({F,N,O,P})do
call('PEXPIREAT',X,Bn)
end
end
local function Bo(Bp)
local Bq,Bn=false,call('ZREVRANGE',N,0,0,'WITHSCORES')
while Bn[1]and T>0 do
local Bk=Bn[1]
local _,_,_,Ag,_,Ah=Aa(call('HGET',O,string.sub(Bk,-32))or'')
local Br=Ah and Bp+Ah+(#Bk>32 and Ag or 0)
if not Br or tonumber(Bn[2])<=Br then
break
end
call('PEXPIREAT',F,Bn[2])
call('ZADD',N,Br,Bk)
Bq,T,Bn=true,T-3,call('ZREVRANGE',N,0,0,'WITHSCORES')
end
if Bq then
Bm()
end
return Bn[2]
end
local function Bs(Bp)
local Bn=Bo(Bp)
if not Bn or tonumber(Bn)<=Bp then
Bi()
return false
end
local Br=math.max(1,math.ceil(T/3))
local Bt=call('ZRANGEBYSCORE',N,'-inf',Bp,'LIMIT',0,Br)
if Bt[1]then
call('ZREM',N,unpack(Bt))
U=#Bt==Br
T=T-3*#Bt
end
for _,Bk in ipairs(Bt)do
Bj(Bk)
end
return true
end
local function Bu(Bp,Ar)
local Bf=Ay(Ak())
if Bf and Bf.Az and Bf.Az.Av then
call('PEXPIRE',F,Bf.Az.Ax)
end
if Bf and Bf.Ba and not Bf.Az then
if not Bs(Bp)then
return{}
end
if U and Ar then
for _,Bk in ipairs({Ar,'~'..Ar})do
local Bv=call('ZSCORE',N,Bk)
if Bv and tonumber(Bv)<=Bp then
call('ZREM',N,Bk)
Bj(Bk)
end
end
end
end
return Bf
end
local function Aw(Bf,Ar)
if Bf.Az then
return Bf.Az.Aw and Bf.Az.Ar==Ar
end
return Bf.Ba and call('ZSCORE',N,Ar)
end
local function Bw(Ar,Bx,Ag)
call('ZADD',N,Bx,Ar)
if Ag>0 then
call('ZADD',N,Bx+Ag,'~'..Ar)
end
end
local function By(Bf,Ar,Ah,Bp)
local Bz=Bf.Az and Bf.Az.Ab or call('HGET',O,Ar)
local Ab=An(Bz,Ah)
local Ac,_,_,Ag,Ai=Aa(Ab)
Ag=tonumber(Ag)
call('PEXPIRE',F,Ah+Ag)
if Bf.Az then
if Ab~=Bz then
call('SET',F,Ar..Bf.Az.As..Ab,'PX',Ah+Ag)
end
return Ac,Ai
end
if Ab~=Bz then
call('HSET',O,Ar,Ab)
end
Bw(Ar,Bp+Ah,Ag)
Bm()
return Ac,Ai
end
local function Ca(Bp)
return call('ZRANGEBYSCORE',N,'('..string.format('%.0f',Bp),'+inf','LIMIT',0,1)[1]
end
local function Cb(Bk,Bp)
local Ar=string.sub(Bk,-32)
local Bl=call('ZSCORE',N,Ar)
local Ax=call('ZSCORE',N,'~'..Ar)or Bl
local Bf=Bl and'holding'or'closed'
return string.sub(Ar,1,8),Bf,(Bl or Ax)-Bp,Ax-Bp,Al(call('HGET',O,Ar))
end
local function Cc(G)
local Ar=string.sub(ARGV[G],1,32)
local Bf=Ay(Ak())
if not Bf then
return Y()
end
local Bp=M(K())
local Bl=Aw(Bf,Ar)
if not Bl and Bf.Ba and not Bf.Az and call('EXISTS',N)==0 then
error({err='TRYAGAIN part of it is on another node'})
end
if not Bl or not Bf.Az and tonumber(Bl)<=Bp then
return 0
end
By(Bf,Ar,tonumber(ARGV[G+1]),Bp)
return 1
end
T=T-math.floor(#D/3)
for _,i in ipairs(D)do
local H='later'
if T>0 then
on(KEYS[i])
local Cd
Cd,H=pcall(Cc,2+B*(i-1))
if not Cd then
H={'error',type(H)=='table'and H.err or H}
end
T=T-35
end
C[i+1]=H
end
return C
