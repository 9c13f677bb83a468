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
local N,H,O,S,Br,Cb,Bz
local M,Ar,Bw,Bi=320,false,false,false
local function on(R)
M,Ar,Bw,Bi=math.max(M,5),false,false,false
N,H,O,S=R,R..':h',R..':d',R..':o'
Br,Cb,Bz=R..':q',R..':w',R..':p'
end
local function Bg(Cc)
return{'corrupt',Cc or'a value that is no lock'}
end
local function Ab(C)
local F,Y,Af,Ag,Bp,D,K,I=
match(C,'^(%d+) (%a) (%d+)/?(%d*) (!?)(%d+)/?(%d*) (%S*) ')
return F,Y,Af,Bp==''and D or'0',I,tonumber(K),Ag
end
local Ai=12000
local function Bb()
local G=Ca('GETRANGE',N,0,Ai+99)
if type(G)~='string'then
return call('GET',N)
end
return(G~=''or call('EXISTS',N)==1)and G
end
local function At(C)
if not C or#C<=Ai then
return C
end
local Bx=match(sub(C,1,Ai),'^%d* %a [%d/]+ !?%d+/?%d* %S* ')
return(Bx or'')..'{"cut":"longer than '..Ai..' bytes"}'
end
local function By(C,K)
return(string.gsub(C,'^(%d+ %a [%d/]+ )!?(%d+)/?%d* ','%1%2/'..K..' '))
end
local function Bm(G)
if#G<=32 then
if G=='*s'or match(G,'^%*[xp]%d+$')or match(G,'^%*p%d+/%d+$')then
return sub(G,2,2),sub(G,3)
end
end
end
local function Bu(G)
local Ao,A,Aj,Bj=match(G,'^(~?)(%x+)([-+])()')
if not A or#A~=32 then
return nil
end
local C=At(sub(G,Bj))
local F,Y,_,D,I,K=Ab(C)
if Y~='x'then
return nil
end
local U=call('PTTL',N)
D=tonumber(D)
local Am=K and U>K+D
U=Am and K+D or U
local X=Ao==''and U>D
return{
A=A,Ao=Ao~='',Aj=Aj,C=C,F=F,D=D,I=I,
X=X,Ak=U,U=X and U-D or U,Am=Am,
}
end
local function Az(G)
if not G then
return{}
end
if sub(G,1,1)~='*'then
local E=Bu(G)
return E and{T='x',V='',E=E,F=E.F}
end
local T,V=Bm(G)
return T and{T=T,V=V,F=T=='x'and V or nil}
end
local function Ah(Ay,by)
local V=call('HINCRBY',S,Ay,by)
if V<=0 then
call('HDEL',S,Ay)
end
end
local function Cd(B)
local W,Z=match(B.V,'^(%d*)/?(%d*)$')
local Al=tonumber(Z~=''and call('HGET',S,'c'..Z)or 0)
if Al>0 and Al==call('HLEN',O)then
W,Al=Z,0
end
Z=Al>0 and Z
return math.min(W,Z or W),W,Z
end
local function Ch(B,I)
if I==''then
return 0
end
if B.E then
return B.E.X and B.E.I==I and 1 or 0
end
return tonumber(call('HGET',S,'o'..I)or 0)
end
local function Bh(C)
local _,Y,Af,_,I=Ab(C)
if I~=''then
Ah('o'..I,-1)
if Y=='p'then
Ah('p'..I,-Af)
end
end
end
local function Bs(A,C)
local _,Y,Af,_,_,_,Ag=Ab(C)
if Y=='p'then
Ah('used',-Af)
if call('HGET',S,'c'..Ag)then
Ah('c'..Ag,-1)
end
end
call('HDEL',O,A)
end
local function Bf()
call('UNLINK',N,H,O,S)
end
local function Av(L)
local A=sub(L,-32)
local C=call('HGET',O,A)
local Q=L==A
if C then
local _,_,_,D=Ab(C)
if Q then
Bh(C)
end
if not Q or D=='0'then
Bs(A,C)
end
end
end
local function Ax()
local P=call('ZREVRANGE',H,0,0,'WITHSCORES')[2]
for _,R in ipairs({N,H,O,S})do
call('PEXPIREAT',R,P)
end
end
local function Bl(J)
local Au,P=false,call('ZREVRANGE',H,0,0,'WITHSCORES')
while P[1]and M>0 do
local L=P[1]
local _,_,_,D,_,K=Ab(call('HGET',O,sub(L,-32))or'')
local Ac=K and J+K+(#L>32 and D or 0)
if not Ac or tonumber(P[2])<=Ac then
break
end
call('PEXPIREAT',N,P[2])
call('ZADD',H,Ac,L)
Au,M,P=true,M-3,call('ZREVRANGE',H,0,0,'WITHSCORES')
end
if Au then
Ax()
end
return P[2]
end
local function Bq(J)
local P=Bl(J)
if not P or tonumber(P)<=J then
Bf()
return false
end
local Ac=math.max(1,math.ceil(M/3))
local Ae=call('ZRANGEBYSCORE',H,'-inf',J,'LIMIT',0,Ac)
if Ae[1]then
call('ZREM',H,unpack(Ae))
Ar=#Ae==Ac
M=M-3*#Ae
end
for _,L in ipairs(Ae)do
Av(L)
end
return true
end
local function Ci(J,A)
local B=Az(Bb())
if B and B.E and B.E.Am then
call('PEXPIRE',N,B.E.Ak)
end
if B and B.T and not B.E then
if not Bq(J)then
return{}
end
if Ar and A then
for _,L in ipairs({A,'~'..A})do
local Aw=call('ZSCORE',H,L)
if Aw and tonumber(Aw)<=J then
call('ZREM',H,L)
Av(L)
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
return B.T and call('ZSCORE',H,A)
end
local function Bk(A,Bd,D)
call('ZADD',H,Bd,A)
if D>0 then
call('ZADD',H,Bd+D,'~'..A)
end
end
local function Cf(B,A,K,J)
local Ad=B.E and B.E.C or call('HGET',O,A)
local C=By(Ad,K)
local F,_,_,D,I=Ab(C)
D=tonumber(D)
call('PEXPIRE',N,K+D)
if B.E then
if C~=Ad then
call('SET',N,A..B.E.Aj..C,'PX',K+D)
end
return F,I
end
if C~=Ad then
call('HSET',O,A,C)
end
Bk(A,J+K,D)
Ax()
return F,I
end
local function Cg(J)
return call('ZRANGEBYSCORE',H,'('..string.format('%.0f',J),'+inf','LIMIT',0,1)[1]
end
local function Ce(L,J)
local A=sub(L,-32)
local Q=call('ZSCORE',H,A)
local Ak=call('ZSCORE',H,'~'..A)or Q
local B=Q and'holding'or'closed'
return sub(A,1,8),B,(Q or Ak)-J,Ak-J,At(call('HGET',O,A))
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
local Q=X(B,A)
if not Q or not B.E and tonumber(Q)<=Bo(Bn())then
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
if B.T=='x'and tonumber(F)>tonumber(B.V)then
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
