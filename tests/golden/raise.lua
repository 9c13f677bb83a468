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
local Ae=12000
local function Af()
local Ag=A('GETRANGE',I,0,Ae+99)
if type(Ag)~='string'then
return call('GET',I)
end
return(Ag~=''or call('EXISTS',I)==1)and Ag
end
local function Ah(X)
if not X or#X<=Ae then
return X
end
local Ai=string.match(string.sub(X,1,Ae),'^%d* %a %d+ !?%d+ %S* ')
return(Ai or'')..'{"cut":"longer than '..Ae..' bytes"}'
end
local function Aj(X)
return(string.gsub(X,'^(%d+ %a %d+ )!','%1'))
end
local function Ak(Ag)
if#Ag<=32 then
return string.match(Ag,'^%*([spx])(%d*)$')
end
end
local function Al(Ag)
local Am,An,Ao,Ap=string.match(Ag,'^(~?)(%x+)([-+])()')
if not An or#An~=32 then
return nil
end
local X=Ah(string.sub(Ag,Ap))
local Y,Z,_,Ac,Ad=W(X)
if Z~='x'then
return nil
end
local Aq=call('PTTL',I)
Ac=tonumber(Ac)
local Ar=Am==''and Aq>Ac
return{
An=An,Am=Am~='',Ao=Ao,X=X,Y=Y,Ac=Ac,Ad=Ad,
Ar=Ar,As=Aq,Aq=Ar and Aq-Ac or Aq,
}
end
local function At(Ag)
if not Ag then
return{}
end
if string.sub(Ag,1,1)~='*'then
local Au=Al(Ag)
return Au and{Av='x',Aw='',Au=Au,Y=Au.Y}
end
local Av,Aw=Ak(Ag)
return Av and{Av=Av,Aw=Aw,Y=Av=='x'and Aw or nil}
end
local function Ax(Ay,by)
local Aw=call('HINCRBY',L,Ay,by)
if Aw<=0 then
call('HDEL',L,Ay)
end
end
local function Az(Ba,Ad)
if Ad==''then
return 0
end
if Ba.Au then
return Ba.Au.Ar and Ba.Au.Ad==Ad and 1 or 0
end
return tonumber(call('HGET',L,'o'..Ad)or 0)
end
local function Bb(X)
local _,Z,Aa,_,Ad=W(X)
if Ad~=''then
Ax('o'..Ad,-1)
if Z=='p'then
Ax('p'..Ad,-Aa)
end
end
end
local function Bc(An,X)
local _,Z,Aa=W(X)
if Z=='p'then
Ax('used',-Aa)
end
call('HDEL',K,An)
end
local function Bd()
call('UNLINK',I,J,K,L)
end
local function Be(Bf)
local An=string.sub(Bf,-32)
local X=call('HGET',K,An)
local Bg=Bf==An
if X then
local _,_,_,Ac=W(X)
if Bg then
Bb(X)
end
if not Bg or Ac=='0'then
Bc(An,X)
end
end
end
local function Bh(Bi)
local Bj=call('ZREVRANGE',J,0,0,'WITHSCORES')[2]
if not Bj or tonumber(Bj)<=Bi then
Bd()
return false
end
local Bk=math.max(1,math.ceil(P/3))
local Bl=call('ZRANGEBYSCORE',J,'-inf',Bi,'LIMIT',0,Bk)
if Bl[1]then
call('ZREM',J,unpack(Bl))
Q=#Bl==Bk
P=P-3*#Bl
end
for _,Bf in ipairs(Bl)do
Be(Bf)
end
return true
end
local function Bm(Bi,An)
local Ba=At(Af())
if Ba and Ba.Av and not Ba.Au then
if not Bh(Bi)then
return{}
end
if Q and An then
for _,Bf in ipairs({An,'~'..An})do
local Bn=call('ZSCORE',J,Bf)
if Bn and tonumber(Bn)<=Bi then
call('ZREM',J,Bf)
Be(Bf)
end
end
end
end
return Ba
end
local function Ar(Ba,An)
if Ba.Au then
return Ba.Au.Ar and Ba.Au.An==An
end
return Ba.Av and call('ZSCORE',J,An)
end
local function Bo(An,Bp,Ac)
call('ZADD',J,Bp,An)
if Ac>0 then
call('ZADD',J,Bp+Ac,'~'..An)
end
end
local function Bq()
local Bj=call('ZREVRANGE',J,0,0,'WITHSCORES')[2]
for _,T in ipairs({I,J,K,L})do
call('PEXPIREAT',T,Bj)
end
end
local function Br(Ba,An,Bs,Bi)
local Bt=Ba.Au and Ba.Au.X or call('HGET',K,An)
local X=Aj(Bt)
local Y,_,_,Ac,Ad=W(X)
Ac=tonumber(Ac)
call('PEXPIRE',I,Bs+Ac)
if Ba.Au then
if X~=Bt then
call('SET',I,An..'+'..X,'PX',Bs+Ac)
end
return Y,Ad
end
if X~=Bt then
call('HSET',K,An,X)
end
Bo(An,Bi+Bs,Ac)
Bq()
return Y,Ad
end
local function Bu(Bi)
return call('ZRANGEBYSCORE',J,'('..string.format('%.0f',Bi),'+inf','LIMIT',0,1)[1]
end
local function Bv(Bf,Bi)
local An=string.sub(Bf,-32)
local Bg=call('ZSCORE',J,An)
local As=call('ZSCORE',J,'~'..An)or Bg
local Ba=Bg and'holding'or'closed'
return string.sub(An,1,8),Ba,(Bg or As)-Bi,As-Bi,Ah(call('HGET',K,An))
end
local Bw=KEYS[#KEYS]..'fence'
local function Bx(X,Y)
local Bt=string.match(X,'^%d+')
return tonumber(Y)>tonumber(Bt)and(string.gsub(X,'^%d+',Y))or X
end
local function By(Bz)
local An,Y=ARGV[Bz],ARGV[Bz+1]
local Ba=At(Af())
if not Ba then
return U()
end
local Bg=Ar(Ba,An)
if not Bg or not Ba.Au and tonumber(Bg)<=H(F())then
return 0
end
if tonumber(Y)>(tonumber(call('GET',Bw)or 0)or 0)then
if ARGV[#ARGV]=='0'then
call('SET',Bw,Y)
else
call('SET',Bw,Y,'PX',ARGV[#ARGV])
end
end
if Ba.Au then
call('SET',I,An..Ba.Au.Ao..Bx(Ba.Au.X,Y),'KEEPTTL')
return 1
end
call('HSET',K,An,Bx(call('HGET',K,An),Y))
if Ba.Av=='x'and tonumber(Y)>tonumber(Ba.Aw)then
call('SET',I,'*x'..Y,'KEEPTTL')
end
return 1
end
P=P-math.floor(#D/3)
for _,i in ipairs(D)do
local Ca='later'
if P>0 then
on(KEYS[i])
local Cb
Cb,Ca=pcall(By,2+B*(i-1))
if not Cb then
Ca={'error',type(Ca)=='table'and Ca.err or Ca}
end
P=P-35
end
C[i+1]=Ca
end
return C
