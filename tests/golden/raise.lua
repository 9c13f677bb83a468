local call,Ca,match,sub=redis.call,redis.pcall,string.match,string.sub
local Bv,As,Aq=2,{ARGV[1]},{}
for i=1,#KEYS-1 do
Aq[i]=i
end
local An
local function Bn()
if not An then
local Bc=call('TIME')
An=Bc[1]*1000000+Bc[2]
end
return An
end
local function Bo(us)
return math.floor(us/1000)
end
local N,G,O,U,Br,Cb,Bz
local M,Ar,Bw,Bi=320,false,false,false
local function on(T)
M,Ar,Bw,Bi=math.max(M,5),false,false,false
N,G,O,U=T,T..':h',T..':d',T..':o'
Br,Cb,Bz=T..':q',T..':w',T..':p'
end
local function Bg(Cc)
return{'corrupt',Cc or'a value that is no lock'}
end
local function Ab(C)
local F,Y,Af,Ag,Bp,D,J,H=
match(C,'^(%d+) (%a) (%d+)/?(%d*) (!?)(%d+)/?(%d*) (%S*) ')
return F,Y,Af,Bp==''and D or'0',H,tonumber(J),Ag
end
local Ai=12000
local function Bb()
local L=Ca('GETRANGE',N,0,Ai+99)
if type(L)~='string'then
return call('GET',N)
end
return(L~=''or call('EXISTS',N)==1)and L
end
local function At(C)
if not C or#C<=Ai then
return C
end
local Bx=match(sub(C,1,Ai),'^%d* %a [%d/]+ !?%d+/?%d* %S* ')
return(Bx or'')..'{"cut":"longer than '..Ai..' bytes"}'
end
local function By(C,J)
return(string.gsub(C,'^(%d+ %a [%d/]+ )!?(%d+)/?%d* ','%1%2/'..J..' '))
end
local function Bm(L)
if#L<=32 then
local P,R=match(L,'^%*([spx])(%d*/?%d*)$')
if P~='p'or match(R,'^%d')then
return P,R
end
end
end
local function Bu(L)
local Ao,A,Aj,Bj=match(L,'^(~?)(%x+)([-+])()')
if not A or#A~=32 then
return nil
end
local C=At(sub(L,Bj))
local F,Y,_,D,H,J=Ab(C)
if Y~='x'then
return nil
end
local V=call('PTTL',N)
D=tonumber(D)
local Am=J and V>J+D
V=Am and J+D or V
local X=Ao==''and V>D
return{
A=A,Ao=Ao~='',Aj=Aj,C=C,F=F,D=D,H=H,
X=X,Ak=V,V=X and V-D or V,Am=Am,
}
end
local function Az(L)
if not L then
return{}
end
if sub(L,1,1)~='*'then
local E=Bu(L)
return E and{P='x',R='',E=E,F=E.F}
end
local P,R=Bm(L)
return P and{P=P,R=R,F=P=='x'and R or nil}
end
local function Ah(Ay,by)
local R=call('HINCRBY',U,Ay,by)
if R<=0 then
call('HDEL',U,Ay)
end
end
local function Cd(B)
local W,Z=match(B.R,'^(%d*)/?(%d*)$')
local Al=tonumber(Z~=''and call('HGET',U,'c'..Z)or 0)
if Al>0 and Al==call('HLEN',O)then
W,Al=Z,0
end
Z=Al>0 and Z
return math.min(W,Z or W),W,Z
end
local function Ch(B,H)
if H==''then
return 0
end
if B.E then
return B.E.X and B.E.H==H and 1 or 0
end
return tonumber(call('HGET',U,'o'..H)or 0)
end
local function Bh(C)
local _,Y,Af,_,H=Ab(C)
if H~=''then
Ah('o'..H,-1)
if Y=='p'then
Ah('p'..H,-Af)
end
end
end
local function Bs(A,C)
local _,Y,Af,_,_,_,Ag=Ab(C)
if Y=='p'then
Ah('used',-Af)
if call('HGET',U,'c'..Ag)then
Ah('c'..Ag,-1)
end
end
call('HDEL',O,A)
end
local function Bf()
call('UNLINK',N,G,O,U)
end
local function Av(K)
local A=sub(K,-32)
local C=call('HGET',O,A)
local S=K==A
if C then
local _,_,_,D=Ab(C)
if S then
Bh(C)
end
if not S or D=='0'then
Bs(A,C)
end
end
end
local function Ax()
local Q=call('ZREVRANGE',G,0,0,'WITHSCORES')[2]
for _,T in ipairs({N,G,O,U})do
call('PEXPIREAT',T,Q)
end
end
local function Bl(I)
local Au,Q=false,call('ZREVRANGE',G,0,0,'WITHSCORES')
while Q[1]and M>0 do
local K=Q[1]
local _,_,_,D,_,J=Ab(call('HGET',O,sub(K,-32))or'')
local Ac=J and I+J+(#K>32 and D or 0)
if not Ac or tonumber(Q[2])<=Ac then
break
end
call('PEXPIREAT',N,Q[2])
call('ZADD',G,Ac,K)
Au,M,Q=true,M-3,call('ZREVRANGE',G,0,0,'WITHSCORES')
end
if Au then
Ax()
end
return Q[2]
end
local function Bq(I)
local Q=Bl(I)
if not Q or tonumber(Q)<=I then
Bf()
return false
end
local Ac=math.max(1,math.ceil(M/3))
local Ae=call('ZRANGEBYSCORE',G,'-inf',I,'LIMIT',0,Ac)
if Ae[1]then
call('ZREM',G,unpack(Ae))
Ar=#Ae==Ac
M=M-3*#Ae
end
for _,K in ipairs(Ae)do
Av(K)
end
return true
end
local function Ci(I,A)
local B=Az(Bb())
if B and B.E and B.E.Am then
call('PEXPIRE',N,B.E.Ak)
end
if B and B.P and not B.E then
if not Bq(I)then
return{}
end
if Ar and A then
for _,K in ipairs({A,'~'..A})do
local Aw=call('ZSCORE',G,K)
if Aw and tonumber(Aw)<=I then
call('ZREM',G,K)
Av(K)
end
end
end
end
return B
end
local function X(B,A)
if B.E then
return B.E.X and B.E.A==A
end
return B.P and call('ZSCORE',G,A)
end
local function Bk(A,Bd,D)
call('ZADD',G,Bd,A)
if D>0 then
call('ZADD',G,Bd+D,'~'..A)
end
end
local function Cf(B,A,J,I)
local Ad=B.E and B.E.C or call('HGET',O,A)
local C=By(Ad,J)
local F,_,_,D,H=Ab(C)
D=tonumber(D)
call('PEXPIRE',N,J+D)
if B.E then
if C~=Ad then
call('SET',N,A..B.E.Aj..C,'PX',J+D)
end
return F,H
end
if C~=Ad then
call('HSET',O,A,C)
end
Bk(A,I+J,D)
Ax()
return F,H
end
local function Cg(I)
return call('ZRANGEBYSCORE',G,'('..string.format('%.0f',I),'+inf','LIMIT',0,1)[1]
end
local function Ce(K,I)
local A=sub(K,-32)
local S=call('ZSCORE',G,A)
local Ak=call('ZSCORE',G,'~'..A)or S
local B=S and'holding'or'closed'
return sub(A,1,8),B,(S or Ak)-I,Ak-I,At(call('HGET',O,A))
end
local Ap=KEYS[#KEYS]..'fence'
local function Be(C,F)
local Ad=match(C,'^%d+')
return tonumber(F)>tonumber(Ad)and(string.gsub(C,'^%d+',F))or C
end
local function Bt(W)
local A,F=ARGV[W],ARGV[W+1]
local B=Az(Bb())
if not B then
return Bg()
end
local S=X(B,A)
if not S or not B.E and tonumber(S)<=Bo(Bn())then
return 0
end
if tonumber(F)>(tonumber(call('GET',Ap)or 0)or 0)then
if ARGV[#ARGV]=='0'then
call('SET',Ap,F)
else
call('SET',Ap,F,'PX',ARGV[#ARGV])
end
end
if B.E then
call('SET',N,A..B.E.Aj..Be(B.E.C,F),'KEEPTTL')
return 1
end
call('HSET',O,A,Be(call('HGET',O,A),F))
if B.P=='x'and tonumber(F)>tonumber(B.R)then
call('SET',N,'*x'..F,'KEEPTTL')
end
return 1
end
M=M-math.floor(#Aq/3)
for _,i in ipairs(Aq)do
local Aa='later'
if M>0 then
on(KEYS[i])
local Ba
Ba,Aa=pcall(Bt,2+Bv*(i-1))
if not Ba then
Aa={'error',type(Aa)=='table'and Aa.err or Aa}
end
M=M-35
end
As[i+1]=Aa
end
return As
