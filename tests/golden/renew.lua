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
local J,K,L=string.match(I,'^(%d+ x 1 0)/?(%d*)() ',34)
local M=ARGV[G+1]
H=J and A('PEXPIRE',F,M)==1 and 1
if H and K~=M then
I=ARGV[G]..J..'/'..M..string.sub(I,L)
H=A('SET',F,I,'PX',M).ok and 1
end
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
local N
local function O()
if not N then
local P=call('TIME')
N=P[1]*1000000+P[2]
end
return N
end
local function Q(us)
return math.floor(us/1000)
end
local F,R,S,T,U,V,W
local X,Y,Z,Aa=320,false,false,false
local function on(Ab)
X,Y,Z,Aa=math.max(X,5),false,false,false
F,R,S,T=Ab,Ab..':h',Ab..':d',Ab..':o'
U,V,W=Ab..':q',Ab..':w',Ab..':p'
end
local function Ac(Ad)
return{'corrupt',Ad or'a value that is no lock'}
end
local function Ae(Af)
local Ag,Ah,Ai,Aj,Ak,M,Al=string.match(Af,'^(%d+) (%a) (%d+) (!?)(%d+)/?(%d*) (%S*) ')
return Ag,Ah,Ai,Aj==''and Ak or'0',Al,tonumber(M)
end
local Am=12000
local function An()
local I=A('GETRANGE',F,0,Am+99)
if type(I)~='string'then
return call('GET',F)
end
return(I~=''or call('EXISTS',F)==1)and I
end
local function Ao(Af)
if not Af or#Af<=Am then
return Af
end
local J=string.match(string.sub(Af,1,Am),'^%d* %a %d+ !?%d+/?%d* %S* ')
return(J or'')..'{"cut":"longer than '..Am..' bytes"}'
end
local function Ap(Af,M)
return(string.gsub(Af,'^(%d+ %a %d+ )!?(%d+)/?%d* ','%1%2/'..M..' '))
end
local function Aq(I)
if#I<=32 then
return string.match(I,'^%*([spx])(%d*)$')
end
end
local function Ar(I)
local As,At,Au,Av=string.match(I,'^(~?)(%x+)([-+])()')
if not At or#At~=32 then
return nil
end
local Af=Ao(string.sub(I,Av))
local Ag,Ah,_,Ak,Al,M=Ae(Af)
if Ah~='x'then
return nil
end
local Aw=call('PTTL',F)
Ak=tonumber(Ak)
local Ax=M and Aw>M+Ak
Aw=Ax and M+Ak or Aw
local Ay=As==''and Aw>Ak
return{
At=At,As=As~='',Au=Au,Af=Af,Ag=Ag,Ak=Ak,Al=Al,
Ay=Ay,Az=Aw,Aw=Ay and Aw-Ak or Aw,Ax=Ax,
}
end
local function Ba(I)
if not I then
return{}
end
if string.sub(I,1,1)~='*'then
local Bb=Ar(I)
return Bb and{Bc='x',Bd='',Bb=Bb,Ag=Bb.Ag}
end
local Bc,Bd=Aq(I)
return Bc and{Bc=Bc,Bd=Bd,Ag=Bc=='x'and Bd or nil}
end
local function Be(Bf,by)
local Bd=call('HINCRBY',T,Bf,by)
if Bd<=0 then
call('HDEL',T,Bf)
end
end
local function Bg(Bh,Al)
if Al==''then
return 0
end
if Bh.Bb then
return Bh.Bb.Ay and Bh.Bb.Al==Al and 1 or 0
end
return tonumber(call('HGET',T,'o'..Al)or 0)
end
local function Bi(Af)
local _,Ah,Ai,_,Al=Ae(Af)
if Al~=''then
Be('o'..Al,-1)
if Ah=='p'then
Be('p'..Al,-Ai)
end
end
end
local function Bj(At,Af)
local _,Ah,Ai=Ae(Af)
if Ah=='p'then
Be('used',-Ai)
end
call('HDEL',S,At)
end
local function Bk()
call('UNLINK',F,R,S,T)
end
local function Bl(Bm)
local At=string.sub(Bm,-32)
local Af=call('HGET',S,At)
local Bn=Bm==At
if Af then
local _,_,_,Ak=Ae(Af)
if Bn then
Bi(Af)
end
if not Bn or Ak=='0'then
Bj(At,Af)
end
end
end
local function Bo()
local Bp=call('ZREVRANGE',R,0,0,'WITHSCORES')[2]
for _,Ab in ipairs({F,R,S,T})do
call('PEXPIREAT',Ab,Bp)
end
end
local function Bq(Br)
local Bs,Bp=false,call('ZREVRANGE',R,0,0,'WITHSCORES')
while Bp[1]and X>0 do
local Bm=Bp[1]
local _,_,_,Ak,_,M=Ae(call('HGET',S,string.sub(Bm,-32))or'')
local Bt=M and Br+M+(#Bm>32 and Ak or 0)
if not Bt or tonumber(Bp[2])<=Bt then
break
end
call('PEXPIREAT',F,Bp[2])
call('ZADD',R,Bt,Bm)
Bs,X,Bp=true,X-3,call('ZREVRANGE',R,0,0,'WITHSCORES')
end
if Bs then
Bo()
end
return Bp[2]
end
local function Bu(Br)
local Bp=Bq(Br)
if not Bp or tonumber(Bp)<=Br then
Bk()
return false
end
local Bt=math.max(1,math.ceil(X/3))
local Bv=call('ZRANGEBYSCORE',R,'-inf',Br,'LIMIT',0,Bt)
if Bv[1]then
call('ZREM',R,unpack(Bv))
Y=#Bv==Bt
X=X-3*#Bv
end
for _,Bm in ipairs(Bv)do
Bl(Bm)
end
return true
end
local function Bw(Br,At)
local Bh=Ba(An())
if Bh and Bh.Bb and Bh.Bb.Ax then
call('PEXPIRE',F,Bh.Bb.Az)
end
if Bh and Bh.Bc and not Bh.Bb then
if not Bu(Br)then
return{}
end
if Y and At then
for _,Bm in ipairs({At,'~'..At})do
local Bx=call('ZSCORE',R,Bm)
if Bx and tonumber(Bx)<=Br then
call('ZREM',R,Bm)
Bl(Bm)
end
end
end
end
return Bh
end
local function Ay(Bh,At)
if Bh.Bb then
return Bh.Bb.Ay and Bh.Bb.At==At
end
return Bh.Bc and call('ZSCORE',R,At)
end
local function By(At,Bz,Ak)
call('ZADD',R,Bz,At)
if Ak>0 then
call('ZADD',R,Bz+Ak,'~'..At)
end
end
local function Ca(Bh,At,M,Br)
local K=Bh.Bb and Bh.Bb.Af or call('HGET',S,At)
local Af=Ap(K,M)
local Ag,_,_,Ak,Al=Ae(Af)
Ak=tonumber(Ak)
call('PEXPIRE',F,M+Ak)
if Bh.Bb then
if Af~=K then
call('SET',F,At..Bh.Bb.Au..Af,'PX',M+Ak)
end
return Ag,Al
end
if Af~=K then
call('HSET',S,At,Af)
end
By(At,Br+M,Ak)
Bo()
return Ag,Al
end
local function Cb(Br)
return call('ZRANGEBYSCORE',R,'('..string.format('%.0f',Br),'+inf','LIMIT',0,1)[1]
end
local function Cc(Bm,Br)
local At=string.sub(Bm,-32)
local Bn=call('ZSCORE',R,At)
local Az=call('ZSCORE',R,'~'..At)or Bn
local Bh=Bn and'holding'or'closed'
return string.sub(At,1,8),Bh,(Bn or Az)-Br,Az-Br,Ao(call('HGET',S,At))
end
local function Cd(G)
local At=string.sub(ARGV[G],1,32)
local Bh=Ba(An())
if not Bh then
return Ac()
end
local Br=Q(O())
local Bn=Ay(Bh,At)
if not Bn and Bh.Bc and not Bh.Bb and call('EXISTS',R)==0 then
error({err='TRYAGAIN part of it is on another node'})
end
if not Bn or not Bh.Bb and tonumber(Bn)<=Br then
return 0
end
Ca(Bh,At,tonumber(ARGV[G+1]),Br)
return 1
end
X=X-math.floor(#D/3)
for _,i in ipairs(D)do
local H='later'
if X>0 then
on(KEYS[i])
local Ce
Ce,H=pcall(Cd,2+B*(i-1))
if not Ce then
H={'error',type(H)=='table'and H.err or H}
end
X=X-35
end
C[i+1]=H
end
return C
