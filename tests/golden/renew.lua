local call,Ah,match,sub=redis.call,redis.pcall,string.match,string.sub
local Bc,Ai,Ab=2,{ARGV[1]},{}
local Cb=Ah('MGET',unpack(KEYS))
for i=1,#KEYS do
local J,O,M=KEYS[i],2+Bc*(i-1),nil
if not Ab[J]then
local E=Cb[i]
if not E then
M=Ah('EXISTS',J)==0 and 0
elseif sub(E,1,33)==ARGV[O]then
local Ao,Ae,Bv=match(E,'^(%d+ x 1 0)/?(%d*)() ',34)
local G=ARGV[O+1]
M=Ao and Ah('PEXPIRE',J,G)==1 and 1
if M and Ae~=G then
E=ARGV[O]..Ao..'/'..G..sub(E,Bv)
M=Ah('SET',J,E,'PX',G).ok and 1
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
local J,H,U,W,Bt,Cc,Ca
local N,At,By,Bk=320,false,false,false
local function on(V)
N,At,By,Bk=math.max(N,5),false,false,false
J,H,U,W=V,V..':h',V..':d',V..':o'
Bt,Cc,Ca=V..':q',V..':w',V..':p'
end
local function Bh(Cd)
return{'corrupt',Cd or'a value that is no lock'}
end
local function Ac(C)
local R,Z,Ag,Aj,Br,D,G,K=
match(C,'^(%d+) (%a) (%d+)/?(%d*) (!?)(%d+)/?(%d*) (%S*) ')
return R,Z,Ag,Br==''and D or'0',K,tonumber(G),Aj
end
local Al=12000
local function Bd()
local E=Ah('GETRANGE',J,0,Al+99)
if type(E)~='string'then
return call('GET',J)
end
return(E~=''or call('EXISTS',J)==1)and E
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
local function Bo(E)
if#E<=32 then
local P,T=match(E,'^%*([spx])(%d*/?%d*)$')
if P~='p'or match(T,'^%d')then
return P,T
end
end
end
local function Bx(E)
local Ar,A,As,Bl=match(E,'^(~?)(%x+)([-+])()')
if not A or#A~=32 then
return nil
end
local C=Au(sub(E,Bl))
local R,Z,_,D,K,G=Ac(C)
if Z~='x'then
return nil
end
local X=call('PTTL',J)
D=tonumber(D)
local Ap=G and X>G+D
X=Ap and G+D or X
local Y=Ar==''and X>D
return{
A=A,Ar=Ar~='',As=As,C=C,R=R,D=D,K=K,
Y=Y,Am=X,X=Y and X-D or X,Ap=Ap,
}
end
local function Ba(E)
if not E then
return{}
end
if sub(E,1,1)~='*'then
local F=Bx(E)
return F and{P='x',T='',F=F,R=F.R}
end
local P,T=Bo(E)
return P and{P=P,T=T,R=P=='x'and T or nil}
end
local function Ak(Az,by)
local T=call('HINCRBY',W,Az,by)
if T<=0 then
call('HDEL',W,Az)
end
end
local function Ce(B)
local O,Aa=match(B.T,'^(%d*)/?(%d*)$')
local An=tonumber(Aa~=''and call('HGET',W,'c'..Aa)or 0)
if An>0 and An==call('HLEN',U)then
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
return B.F.Y and B.F.K==K and 1 or 0
end
return tonumber(call('HGET',W,'o'..K)or 0)
end
local function Bi(C)
local _,Z,Ag,_,K=Ac(C)
if K~=''then
Ak('o'..K,-1)
if Z=='p'then
Ak('p'..K,-Ag)
end
end
end
local function Bu(A,C)
local _,Z,Ag,_,_,_,Aj=Ac(C)
if Z=='p'then
Ak('used',-Ag)
if call('HGET',W,'c'..Aj)then
Ak('c'..Aj,-1)
end
end
call('HDEL',U,A)
end
local function Bg()
call('UNLINK',J,H,U,W)
end
local function Aw(L)
local A=sub(L,-32)
local C=call('HGET',U,A)
local S=L==A
if C then
local _,_,_,D=Ac(C)
if S then
Bi(C)
end
if not S or D=='0'then
Bu(A,C)
end
end
end
local function Ay()
local Q=call('ZREVRANGE',H,0,0,'WITHSCORES')[2]
for _,V in ipairs({J,H,U,W})do
call('PEXPIREAT',V,Q)
end
end
local function Bn(I)
local Av,Q=false,call('ZREVRANGE',H,0,0,'WITHSCORES')
while Q[1]and N>0 do
local L=Q[1]
local _,_,_,D,_,G=Ac(call('HGET',U,sub(L,-32))or'')
local Ad=G and I+G+(#L>32 and D or 0)
if not Ad or tonumber(Q[2])<=Ad then
break
end
call('PEXPIREAT',J,Q[2])
call('ZADD',H,Ad,L)
Av,N,Q=true,N-3,call('ZREVRANGE',H,0,0,'WITHSCORES')
end
if Av then
Ay()
end
return Q[2]
end
local function Bs(I)
local Q=Bn(I)
if not Q or tonumber(Q)<=I then
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
if B and B.P and not B.F then
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
local function Y(B,A)
if B.F then
return B.F.Y and B.F.A==A
end
return B.P and call('ZSCORE',H,A)
end
local function Bm(A,Bf,D)
call('ZADD',H,Bf,A)
if D>0 then
call('ZADD',H,Bf+D,'~'..A)
end
end
local function Bj(B,A,G,I)
local Ae=B.F and B.F.C or call('HGET',U,A)
local C=Bz(Ae,G)
local R,_,_,D,K=Ac(C)
D=tonumber(D)
call('PEXPIRE',J,G+D)
if B.F then
if C~=Ae then
call('SET',J,A..B.F.As..C,'PX',G+D)
end
return R,K
end
if C~=Ae then
call('HSET',U,A,C)
end
Bm(A,I+G,D)
Ay()
return R,K
end
local function Cg(I)
return call('ZRANGEBYSCORE',H,'('..string.format('%.0f',I),'+inf','LIMIT',0,1)[1]
end
local function Cf(L,I)
local A=sub(L,-32)
local S=call('ZSCORE',H,A)
local Am=call('ZSCORE',H,'~'..A)or S
local B=S and'holding'or'closed'
return sub(A,1,8),B,(S or Am)-I,Am-I,Au(call('HGET',U,A))
end
local function Bw(O)
local A=sub(ARGV[O],1,32)
local B=Ba(Bd())
if not B then
return Bh()
end
local I=Bq(Bp())
local S=Y(B,A)
if not S and B.P and not B.F and call('EXISTS',H)==0 then
error({err='TRYAGAIN part of it is on another node'})
end
if not S or not B.F and tonumber(S)<=I then
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
