local call,Ah,match,sub=redis.call,redis.pcall,string.match,string.sub
local Bc,Ai,Ab=2,{ARGV[1]},{}
local Cb=Ah('MGET',unpack(KEYS))
for i=1,#KEYS do
local J,O,M=KEYS[i],2+Bc*(i-1),nil
if not Ab[J]then
local D=Cb[i]
if not D then
M=Ah('EXISTS',J)==0 and 0
elseif sub(D,1,33)==ARGV[O]then
local Ao,Ae,Bv=match(D,'^(%d+ x 1 0)/?(%d*)() ',34)
local G=ARGV[O+1]
M=Ao and Ah('PEXPIRE',J,G)==1 and 1
if M and Ae~=G then
D=ARGV[O]..Ao..'/'..G..sub(D,Bv)
M=Ah('SET',J,D,'PX',G).ok and 1
end
end
end
if M then
Ai[i+1]=M
else
Ab[#Ab+1],Ab[J]=i,true
end
end
if not Ab[1]then
return Ai
end
local Aq
local function Bp()
if not Aq then
local Be=call('TIME')
Aq=Be[1]*1000000+Be[2]
end
return Aq
end
local function Bq(us)
return math.floor(us/1000)
end
local J,H,S,U,Bt,Cc,Ca
local N,At,By,Bk=320,false,false,false
local function on(T)
N,At,By,Bk=math.max(N,5),false,false,false
J,H,S,U=T,T..':h',T..':d',T..':o'
Bt,Cc,Ca=T..':q',T..':w',T..':p'
end
local function Bh(Cd)
return{'corrupt',Cd or'a value that is no lock'}
end
local function Ac(C)
local Q,Y,Ag,Aj,Br,E,G,K=
match(C,'^(%d+) (%a) (%d+)/?(%d*) (!?)(%d+)/?(%d*) (%S*) ')
return Q,Y,Ag,Br==''and E or'0',K,tonumber(G),Aj
end
local Al=12000
local function Bd()
local D=Ah('GETRANGE',J,0,Al+99)
if type(D)~='string'then
return call('GET',J)
end
return(D~=''or call('EXISTS',J)==1)and D
end
local function Au(C)
if not C or#C<=Al then
return C
end
local Ao=match(sub(C,1,Al),'^%d* %a [%d/]+ !?%d+/?%d* %S* ')
return(Ao or'')..'{"cut":"longer than '..Al..' bytes"}'
end
local function Bz(C,G)
return(string.gsub(C,'^(%d+ %a [%d/]+ )!?(%d+)/?%d* ','%1%2/'..G..' '))
end
local function Bo(D)
if#D<=32 then
if D=='*s'or match(D,'^%*[xp]%d+$')or match(D,'^%*p%d+/%d+$')then
return sub(D,2,2),sub(D,3)
end
end
end
local function Bx(D)
local Ar,A,As,Bl=match(D,'^(~?)(%x+)([-+])()')
if not A or#A~=32 then
return nil
end
local C=Au(sub(D,Bl))
local Q,Y,_,E,K,G=Ac(C)
if Y~='x'then
return nil
end
local W=call('PTTL',J)
E=tonumber(E)
local Ap=G and W>G+E
W=Ap and G+E or W
local X=Ar==''and W>E
return{
A=A,Ar=Ar~='',As=As,C=C,Q=Q,E=E,K=K,
X=X,Am=W,W=X and W-E or W,Ap=Ap,
}
end
local function Ba(D)
if not D then
return{}
end
if sub(D,1,1)~='*'then
local F=Bx(D)
return F and{V='x',Z='',F=F,Q=F.Q}
end
local V,Z=Bo(D)
return V and{V=V,Z=Z,Q=V=='x'and Z or nil}
end
local function Ak(Az,by)
local Z=call('HINCRBY',U,Az,by)
if Z<=0 then
call('HDEL',U,Az)
end
end
local function Ce(B)
local O,Aa=match(B.Z,'^(%d*)/?(%d*)$')
local An=tonumber(Aa~=''and call('HGET',U,'c'..Aa)or 0)
if An>0 and An==call('HLEN',S)then
O,An=Aa,0
end
Aa=An>0 and Aa
return math.min(O,Aa or O),O,Aa
end
local function Ch(B,K)
if K==''then
return 0
end
if B.F then
return B.F.X and B.F.K==K and 1 or 0
end
return tonumber(call('HGET',U,'o'..K)or 0)
end
local function Bi(C)
local _,Y,Ag,_,K=Ac(C)
if K~=''then
Ak('o'..K,-1)
if Y=='p'then
Ak('p'..K,-Ag)
end
end
end
local function Bu(A,C)
local _,Y,Ag,_,_,_,Aj=Ac(C)
if Y=='p'then
Ak('used',-Ag)
if call('HGET',U,'c'..Aj)then
Ak('c'..Aj,-1)
end
end
call('HDEL',S,A)
end
local function Bg()
call('UNLINK',J,H,S,U)
end
local function Aw(L)
local A=sub(L,-32)
local C=call('HGET',S,A)
local R=L==A
if C then
local _,_,_,E=Ac(C)
if R then
Bi(C)
end
if not R or E=='0'then
Bu(A,C)
end
end
end
local function Ay()
local P=call('ZREVRANGE',H,0,0,'WITHSCORES')[2]
for _,T in ipairs({J,H,S,U})do
call('PEXPIREAT',T,P)
end
end
local function Bn(I)
local Av,P=false,call('ZREVRANGE',H,0,0,'WITHSCORES')
while P[1]and N>0 do
local L=P[1]
local _,_,_,E,_,G=Ac(call('HGET',S,sub(L,-32))or'')
local Ad=G and I+G+(#L>32 and E or 0)
if not Ad or tonumber(P[2])<=Ad then
break
end
call('PEXPIREAT',J,P[2])
call('ZADD',H,Ad,L)
Av,N,P=true,N-3,call('ZREVRANGE',H,0,0,'WITHSCORES')
end
if Av then
Ay()
end
return P[2]
end
local function Bs(I)
local P=Bn(I)
if not P or tonumber(P)<=I then
Bg()
return false
end
local Ad=math.max(1,math.ceil(N/3))
local Af=call('ZRANGEBYSCORE',H,'-inf',I,'LIMIT',0,Ad)
if Af[1]then
call('ZREM',H,unpack(Af))
At=#Af==Ad
N=N-3*#Af
end
for _,L in ipairs(Af)do
Aw(L)
end
return true
end
local function Ci(I,A)
local B=Ba(Bd())
if B and B.F and B.F.Ap then
call('PEXPIRE',J,B.F.Am)
end
if B and B.V and not B.F then
if not Bs(I)then
return{}
end
if At and A then
for _,L in ipairs({A,'~'..A})do
local Ax=call('ZSCORE',H,L)
if Ax and tonumber(Ax)<=I then
call('ZREM',H,L)
Aw(L)
end
end
end
end
return B
end
local function X(B,A)
if B.F then
return B.F.X and B.F.A==A
end
return B.V and call('ZSCORE',H,A)
end
local function Bm(A,Bf,E)
call('ZADD',H,Bf,A)
if E>0 then
call('ZADD',H,Bf+E,'~'..A)
end
end
local function Bj(B,A,G,I)
local Ae=B.F and B.F.C or call('HGET',S,A)
local C=Bz(Ae,G)
local Q,_,_,E,K=Ac(C)
E=tonumber(E)
call('PEXPIRE',J,G+E)
if B.F then
if C~=Ae then
call('SET',J,A..B.F.As..C,'PX',G+E)
end
return Q,K
end
if C~=Ae then
call('HSET',S,A,C)
end
Bm(A,I+G,E)
Ay()
return Q,K
end
local function Cg(I)
return call('ZRANGEBYSCORE',H,'('..string.format('%.0f',I),'+inf','LIMIT',0,1)[1]
end
local function Cf(L,I)
local A=sub(L,-32)
local R=call('ZSCORE',H,A)
local Am=call('ZSCORE',H,'~'..A)or R
local B=R and'holding'or'closed'
return sub(A,1,8),B,(R or Am)-I,Am-I,Au(call('HGET',S,A))
end
local function Bw(O)
local A=sub(ARGV[O],1,32)
local B=Ba(Bd())
if not B then
return Bh()
end
local I=Bq(Bp())
local R=X(B,A)
if not R and B.V and not B.F and call('EXISTS',H)==0 then
error({err='TRYAGAIN part of it is on another node'})
end
if not R or not B.F and tonumber(R)<=I then
return 0
end
Bj(B,A,tonumber(ARGV[O+1]),I)
return 1
end
N=N-math.floor(#Ab/3)
for _,i in ipairs(Ab)do
local M='later'
if N>0 then
on(KEYS[i])
local Bb
Bb,M=pcall(Bw,2+Bc*(i-1))
if not Bb then
M={'error',type(M)=='table'and M.err or M}
end
N=N-35
end
Ai[i+1]=M
end
return Ai
