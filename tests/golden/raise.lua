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
local Y,Z,Aa,Ab,Ac,Ad=string.match(X,'^(%d+) (%a) (%d+) (!?)(%d+) (%S*) ')
return Y,Z,Aa,Ab==''and Ac or'0',Ad
end
local function Ae(X)
return(string.gsub(X,'^(%d+ %a %d+ )!','%1'))
end
local function Af(Ag)
return string.match(Ag,'^%*([spx])(%d*)$')
end
local function Ah(Ag)
local Ai,Aj,Ak,X=string.match(Ag,'^(~?)(%x+)([-+])(.*)$')
if not Aj or#Aj~=32 then
return nil
end
local Y,Z,_,Ac,Ad=W(X)
if Z~='x'then
return nil
end
local Al=call('PTTL',I)
Ac=tonumber(Ac)
local Am=Ai==''and Al>Ac
return{
Aj=Aj,Ai=Ai~='',Ak=Ak,X=X,Y=Y,Ac=Ac,Ad=Ad,
Am=Am,An=Al,Al=Am and Al-Ac or Al,
}
end
local function Ao(Ag)
if not Ag then
return{}
end
if string.sub(Ag,1,1)~='*'then
local Ap=Ah(Ag)
return Ap and{Aq='x',Ar='',Ap=Ap,Y=Ap.Y}
end
local Aq,Ar=Af(Ag)
return Aq and{Aq=Aq,Ar=Ar,Y=Aq=='x'and Ar or nil}
end
local function As(At,by)
local Ar=call('HINCRBY',L,At,by)
if Ar<=0 then
call('HDEL',L,At)
end
end
local function Au(Av,Ad)
if Ad==''then
return 0
end
if Av.Ap then
return Av.Ap.Am and Av.Ap.Ad==Ad and 1 or 0
end
return tonumber(call('HGET',L,'o'..Ad)or 0)
end
local function Aw(X)
local _,Z,Aa,_,Ad=W(X)
if Ad~=''then
As('o'..Ad,-1)
if Z=='p'then
As('p'..Ad,-Aa)
end
end
end
local function Ax(Aj,X)
local _,Z,Aa=W(X)
if Z=='p'then
As('used',-Aa)
end
call('HDEL',K,Aj)
end
local function Ay()
call('UNLINK',I,J,K,L)
end
local function Az(Ba)
local Aj=string.sub(Ba,-32)
local X=call('HGET',K,Aj)
local Bb=Ba==Aj
if X then
local _,_,_,Ac=W(X)
if Bb then
Aw(X)
end
if not Bb or Ac=='0'then
Ax(Aj,X)
end
end
end
local function Bc(Bd)
local Be=call('ZREVRANGE',J,0,0,'WITHSCORES')[2]
if not Be or tonumber(Be)<=Bd then
Ay()
return false
end
local Bf=math.max(1,math.ceil(P/3))
local Bg=call('ZRANGEBYSCORE',J,'-inf',Bd,'LIMIT',0,Bf)
if Bg[1]then
call('ZREM',J,unpack(Bg))
Q=#Bg==Bf
P=P-3*#Bg
end
for _,Ba in ipairs(Bg)do
Az(Ba)
end
return true
end
local function Bh(Ag,Bd,Aj)
local Av=Ao(Ag)
if Av and Av.Aq and not Av.Ap then
if not Bc(Bd)then
return{}
end
if Q and Aj then
for _,Ba in ipairs({Aj,'~'..Aj})do
local Bi=call('ZSCORE',J,Ba)
if Bi and tonumber(Bi)<=Bd then
call('ZREM',J,Ba)
Az(Ba)
end
end
end
end
return Av
end
local function Am(Av,Aj)
if Av.Ap then
return Av.Ap.Am and Av.Ap.Aj==Aj
end
return Av.Aq and call('ZSCORE',J,Aj)
end
local function Bj(Aj,Bk,Ac)
call('ZADD',J,Bk,Aj)
if Ac>0 then
call('ZADD',J,Bk+Ac,'~'..Aj)
end
end
local function Bl()
local Be=call('ZREVRANGE',J,0,0,'WITHSCORES')[2]
for _,T in ipairs({I,J,K,L})do
call('PEXPIREAT',T,Be)
end
end
local function Bm(Av,Aj,Bn,Bd)
local Bo=Av.Ap and Av.Ap.X or call('HGET',K,Aj)
local X=Ae(Bo)
local Y,_,_,Ac,Ad=W(X)
Ac=tonumber(Ac)
call('PEXPIRE',I,Bn+Ac)
if Av.Ap then
if X~=Bo then
call('SET',I,Aj..'+'..X,'PX',Bn+Ac)
end
return Y,Ad
end
if X~=Bo then
call('HSET',K,Aj,X)
end
Bj(Aj,Bd+Bn,Ac)
Bl()
return Y,Ad
end
local function Bp(Bd)
return call('ZRANGEBYSCORE',J,'('..string.format('%.0f',Bd),'+inf','LIMIT',0,1)[1]
end
local function Bq(Ba,Bd)
local Aj=string.sub(Ba,-32)
local Bb=call('ZSCORE',J,Aj)
local An=call('ZSCORE',J,'~'..Aj)or Bb
local Av=Bb and'holding'or'closed'
return string.sub(Aj,1,8),Av,(Bb or An)-Bd,An-Bd,call('HGET',K,Aj)
end
local Br=KEYS[#KEYS]..'fence'
local function Bs(X,Y)
local Bo=string.match(X,'^%d+')
return tonumber(Y)>tonumber(Bo)and(string.gsub(X,'^%d+',Y))or X
end
local function Bt(Bu)
local Aj,Y=ARGV[Bu],ARGV[Bu+1]
local Av=Ao(call('GET',I))
if not Av then
return U()
end
local Bb=Am(Av,Aj)
if not Bb or not Av.Ap and tonumber(Bb)<=H(F())then
return 0
end
if tonumber(Y)>(tonumber(call('GET',Br)or 0)or 0)then
if ARGV[#ARGV]=='0'then
call('SET',Br,Y)
else
call('SET',Br,Y,'PX',ARGV[#ARGV])
end
end
if Av.Ap then
call('SET',I,Aj..Av.Ap.Ak..Bs(Av.Ap.X,Y),'KEEPTTL')
return 1
end
call('HSET',K,Aj,Bs(call('HGET',K,Aj),Y))
if Av.Aq=='x'and tonumber(Y)>tonumber(Av.Ar)then
call('SET',I,'*x'..Y,'KEEPTTL')
end
return 1
end
P=P-math.floor(#D/3)
for _,i in ipairs(D)do
local Bv='later'
if P>0 then
on(KEYS[i])
local Bw
Bw,Bv=pcall(Bt,2+B*(i-1))
if not Bw then
Bv={'error',type(Bv)=='table'and Bv.err or Bv}
end
P=P-35
end
C[i+1]=Bv
end
return C
