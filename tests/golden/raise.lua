local call,A=redis.call,redis.pcall
local B,C,D=2,{ARGV[1]},{}
for i=1,#KEYS-1 do
D[i]=i
end
local E
local function F()
if not E then
local G=call('TIME')
E=G[1]*1000000+G[2]
end
return E
end
local function H(us)
return math.floor(us/1000)
end
local I,J,K,L,M,N,O
local P,Q,R,S=320,false,false,false
local function on(T)
P,Q,R,S=math.max(P,5),false,false,false
I,J,K,L=T,T..':h',T..':d',T..':o'
M,N,O=T..':q',T..':w',T..':p'
end
local function U(V)
return{'corrupt',V or'a value that is no lock'}
end
local function W(X)
local Y,Z,Aa,Ab,Ac,Ad,Ae=string.match(X,'^(%d+) (%a) (%d+) (!?)(%d+)/?(%d*) (%S*) ')
return Y,Z,Aa,Ab==''and Ac or'0',Ae,tonumber(Ad)
end
local Af=12000
local function Ag()
local Ah=A('GETRANGE',I,0,Af+99)
if type(Ah)~='string'then
return call('GET',I)
end
return(Ah~=''or call('EXISTS',I)==1)and Ah
end
local function Ai(X)
if not X or#X<=Af then
return X
end
local Aj=string.match(string.sub(X,1,Af),'^%d* %a %d+ !?%d+/?%d* %S* ')
return(Aj or'')..'{"cut":"longer than '..Af..' bytes"}'
end
local function Ak(X,Ad)
return(string.gsub(X,'^(%d+ %a %d+ )!?(%d+)/?%d* ','%1%2/'..Ad..' '))
end
local function Al(Ah)
if#Ah<=32 then
return string.match(Ah,'^%*([spx])(%d*)$')
end
end
local function Am(Ah)
local An,Ao,Ap,Aq=string.match(Ah,'^(~?)(%x+)([-+])()')
if not Ao or#Ao~=32 then
return nil
end
local X=Ai(string.sub(Ah,Aq))
local Y,Z,_,Ac,Ae,Ad=W(X)
if Z~='x'then
return nil
end
local Ar=call('PTTL',I)
Ac=tonumber(Ac)
local As=Ad and Ar>Ad+Ac
Ar=As and Ad+Ac or Ar
local At=An==''and Ar>Ac
return{
Ao=Ao,An=An~='',Ap=Ap,X=X,Y=Y,Ac=Ac,Ae=Ae,
At=At,Au=Ar,Ar=At and Ar-Ac or Ar,As=As,
}
end
local function Av(Ah)
if not Ah then
return{}
end
if string.sub(Ah,1,1)~='*'then
local Aw=Am(Ah)
return Aw and{Ax='x',Ay='',Aw=Aw,Y=Aw.Y}
end
local Ax,Ay=Al(Ah)
return Ax and{Ax=Ax,Ay=Ay,Y=Ax=='x'and Ay or nil}
end
local function Az(Ba,by)
local Ay=call('HINCRBY',L,Ba,by)
if Ay<=0 then
call('HDEL',L,Ba)
end
end
local function Bb(Bc,Ae)
if Ae==''then
return 0
end
if Bc.Aw then
return Bc.Aw.At and Bc.Aw.Ae==Ae and 1 or 0
end
return tonumber(call('HGET',L,'o'..Ae)or 0)
end
local function Bd(X)
local _,Z,Aa,_,Ae=W(X)
if Ae~=''then
Az('o'..Ae,-1)
if Z=='p'then
Az('p'..Ae,-Aa)
end
end
end
local function Be(Ao,X)
local _,Z,Aa=W(X)
if Z=='p'then
Az('used',-Aa)
end
call('HDEL',K,Ao)
end
local function Bf()
call('UNLINK',I,J,K,L)
end
local function Bg(Bh)
local Ao=string.sub(Bh,-32)
local X=call('HGET',K,Ao)
local Bi=Bh==Ao
if X then
local _,_,_,Ac=W(X)
if Bi then
Bd(X)
end
if not Bi or Ac=='0'then
Be(Ao,X)
end
end
end
local function Bj()
local Bk=call('ZREVRANGE',J,0,0,'WITHSCORES')[2]
for _,T in ipairs({I,J,K,L})do
call('PEXPIREAT',T,Bk)
end
end
local function Bl(Bm)
local Bn,Bk=false,call('ZREVRANGE',J,0,0,'WITHSCORES')
while Bk[1]and P>0 do
local Bh=Bk[1]
local _,_,_,Ac,_,Ad=W(call('HGET',K,string.sub(Bh,-32))or'')
local Bo=Ad and Bm+Ad+(#Bh>32 and Ac or 0)
if not Bo or tonumber(Bk[2])<=Bo then
break
end
call('PEXPIREAT',I,Bk[2])
call('ZADD',J,Bo,Bh)
Bn,P,Bk=true,P-3,call('ZREVRANGE',J,0,0,'WITHSCORES')
end
if Bn then
Bj()
end
return Bk[2]
end
local function Bp(Bm)
local Bk=Bl(Bm)
if not Bk or tonumber(Bk)<=Bm then
Bf()
return false
end
local Bo=math.max(1,math.ceil(P/3))
local Bq=call('ZRANGEBYSCORE',J,'-inf',Bm,'LIMIT',0,Bo)
if Bq[1]then
call('ZREM',J,unpack(Bq))
Q=#Bq==Bo
P=P-3*#Bq
end
for _,Bh in ipairs(Bq)do
Bg(Bh)
end
return true
end
local function Br(Bm,Ao)
local Bc=Av(Ag())
if Bc and Bc.Aw and Bc.Aw.As then
call('PEXPIRE',I,Bc.Aw.Au)
end
if Bc and Bc.Ax and not Bc.Aw then
if not Bp(Bm)then
return{}
end
if Q and Ao then
for _,Bh in ipairs({Ao,'~'..Ao})do
local Bs=call('ZSCORE',J,Bh)
if Bs and tonumber(Bs)<=Bm then
call('ZREM',J,Bh)
Bg(Bh)
end
end
end
end
return Bc
end
local function At(Bc,Ao)
if Bc.Aw then
return Bc.Aw.At and Bc.Aw.Ao==Ao
end
return Bc.Ax and call('ZSCORE',J,Ao)
end
local function Bt(Ao,Bu,Ac)
call('ZADD',J,Bu,Ao)
if Ac>0 then
call('ZADD',J,Bu+Ac,'~'..Ao)
end
end
local function Bv(Bc,Ao,Ad,Bm)
local Bw=Bc.Aw and Bc.Aw.X or call('HGET',K,Ao)
local X=Ak(Bw,Ad)
local Y,_,_,Ac,Ae=W(X)
Ac=tonumber(Ac)
call('PEXPIRE',I,Ad+Ac)
if Bc.Aw then
if X~=Bw then
call('SET',I,Ao..Bc.Aw.Ap..X,'PX',Ad+Ac)
end
return Y,Ae
end
if X~=Bw then
call('HSET',K,Ao,X)
end
Bt(Ao,Bm+Ad,Ac)
Bj()
return Y,Ae
end
local function Bx(Bm)
return call('ZRANGEBYSCORE',J,'('..string.format('%.0f',Bm),'+inf','LIMIT',0,1)[1]
end
local function By(Bh,Bm)
local Ao=string.sub(Bh,-32)
local Bi=call('ZSCORE',J,Ao)
local Au=call('ZSCORE',J,'~'..Ao)or Bi
local Bc=Bi and'holding'or'closed'
return string.sub(Ao,1,8),Bc,(Bi or Au)-Bm,Au-Bm,Ai(call('HGET',K,Ao))
end
local Bz=KEYS[#KEYS]..'fence'
local function Ca(X,Y)
local Bw=string.match(X,'^%d+')
return tonumber(Y)>tonumber(Bw)and(string.gsub(X,'^%d+',Y))or X
end
local function Cb(Cc)
local Ao,Y=ARGV[Cc],ARGV[Cc+1]
local Bc=Av(Ag())
if not Bc then
return U()
end
local Bi=At(Bc,Ao)
if not Bi or not Bc.Aw and tonumber(Bi)<=H(F())then
return 0
end
if tonumber(Y)>(tonumber(call('GET',Bz)or 0)or 0)then
if ARGV[#ARGV]=='0'then
call('SET',Bz,Y)
else
call('SET',Bz,Y,'PX',ARGV[#ARGV])
end
end
if Bc.Aw then
call('SET',I,Ao..Bc.Aw.Ap..Ca(Bc.Aw.X,Y),'KEEPTTL')
return 1
end
call('HSET',K,Ao,Ca(call('HGET',K,Ao),Y))
if Bc.Ax=='x'and tonumber(Y)>tonumber(Bc.Ay)then
call('SET',I,'*x'..Y,'KEEPTTL')
end
return 1
end
P=P-math.floor(#D/3)
for _,i in ipairs(D)do
local Cd='later'
if P>0 then
on(KEYS[i])
local Ce
Ce,Cd=pcall(Cb,2+B*(i-1))
if not Ce then
Cd={'error',type(Cd)=='table'and Cd.err or Cd}
end
P=P-35
end
C[i+1]=Cd
end
return C
