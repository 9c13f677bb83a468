local call,Ck,match,sub=redis.call,redis.pcall,string.match,string.sub
local Au
local function Bk()
if not Au then
local Ar=call('TIME')
Au=Ar[1]*1000000+Ar[2]
end
return Au
end
local function By(us)
return math.floor(us/1000)
end
local Q,G,O,X,Ap,Bo,Bb
local U,Aq,Cf,Bt=320,false,false,false
local function on(V)
U,Aq,Cf,Bt=math.max(U,5),false,false,false
Q,G,O,X=V,V..':h',V..':d',V..':o'
Ap,Bo,Bb=V..':q',V..':w',V..':p'
end
local function Br(Cm)
return{'corrupt',Cm or'a value that is no lock'}
end
local function Ac(B)
local S,Z,Ag,Ai,Bz,E,K,J=
match(B,'^(%d+) (%a) (%d+)/?(%d*) (!?)(%d+)/?(%d*) (%S*) ')
return S,Z,Ag,Bz==''and E or'0',J,tonumber(K),Ai
end
local Am=12000
local function Ch()
local L=Ck('GETRANGE',Q,0,Am+99)
if type(L)~='string'then
return call('GET',Q)
end
return(L~=''or call('EXISTS',Q)==1)and L
end
local function Ah(B)
if not B or#B<=Am then
return B
end
local Cg=match(sub(B,1,Am),'^%d* %a [%d/]+ !?%d+/?%d* %S* ')
return(Cg or'')..'{"cut":"longer than '..Am..' bytes"}'
end
local function Ci(B,K)
return(string.gsub(B,'^(%d+ %a [%d/]+ )!?(%d+)/?%d* ','%1%2/'..K..' '))
end
local function Bx(L)
if#L<=32 then
local N,T=match(L,'^%*([spx])(%d*/?%d*)$')
if N~='p'or match(T,'^%d')then
return N,T
end
end
end
local function Ce(L)
local Aw,A,Az,Bu=match(L,'^(~?)(%x+)([-+])()')
if not A or#A~=32 then
return nil
end
local B=Ah(sub(L,Bu))
local S,Z,_,E,J,K=Ac(B)
if Z~='x'then
return nil
end
local H=call('PTTL',Q)
E=tonumber(E)
local As=K and H>K+E
H=As and K+E or H
local Y=Aw==''and H>E
return{
A=A,Aw=Aw~='',Az=Az,B=B,S=S,E=E,J=J,
Y=Y,An=H,H=Y and H-E or H,As=As,
}
end
local function Cb(L)
if not L then
return{}
end
if sub(L,1,1)~='*'then
local D=Ce(L)
return D and{N='x',T='',D=D,S=D.S}
end
local N,T=Bx(L)
return N and{N=N,T=T,S=N=='x'and T or nil}
end
local function Aj(Bj,by)
local T=call('HINCRBY',X,Bj,by)
if T<=0 then
call('HDEL',X,Bj)
end
end
local function Cn(C)
local Ak,Aa=match(C.T,'^(%d*)/?(%d*)$')
local Ao=tonumber(Aa~=''and call('HGET',X,'c'..Aa)or 0)
if Ao>0 and Ao==call('HLEN',O)then
Ak,Ao=Aa,0
end
Aa=Ao>0 and Aa
return math.min(Ak,Aa or Ak),Ak,Aa
end
local function Cr(C,J)
if J==''then
return 0
end
if C.D then
return C.D.Y and C.D.J==J and 1 or 0
end
return tonumber(call('HGET',X,'o'..J)or 0)
end
local function Bs(B)
local _,Z,Ag,_,J=Ac(B)
if J~=''then
Aj('o'..J,-1)
if Z=='p'then
Aj('p'..J,-Ag)
end
end
end
local function Cc(A,B)
local _,Z,Ag,_,_,_,Ai=Ac(B)
if Z=='p'then
Aj('used',-Ag)
if call('HGET',X,'c'..Ai)then
Aj('c'..Ai,-1)
end
end
call('HDEL',O,A)
end
local function Bq()
call('UNLINK',Q,G,O,X)
end
local function Bf(I)
local A=sub(I,-32)
local B=call('HGET',O,A)
local Ad=I==A
if B then
local _,_,_,E=Ac(B)
if Ad then
Bs(B)
end
if not Ad or E=='0'then
Cc(A,B)
end
end
end
local function Bh()
local P=call('ZREVRANGE',G,0,0,'WITHSCORES')[2]
for _,V in ipairs({Q,G,O,X})do
call('PEXPIREAT',V,P)
end
end
local function Bw(F)
local Be,P=false,call('ZREVRANGE',G,0,0,'WITHSCORES')
while P[1]and U>0 do
local I=P[1]
local _,_,_,E,_,K=Ac(call('HGET',O,sub(I,-32))or'')
local W=K and F+K+(#I>32 and E or 0)
if not W or tonumber(P[2])<=W then
break
end
call('PEXPIREAT',Q,P[2])
call('ZADD',G,W,I)
Be,U,P=true,U-3,call('ZREVRANGE',G,0,0,'WITHSCORES')
end
if Be then
Bh()
end
return P[2]
end
local function Ca(F)
local P=Bw(F)
if not P or tonumber(P)<=F then
Bq()
return false
end
local W=math.max(1,math.ceil(U/3))
local Af=call('ZRANGEBYSCORE',G,'-inf',F,'LIMIT',0,W)
if Af[1]then
call('ZREM',G,unpack(Af))
Aq=#Af==W
U=U-3*#Af
end
for _,I in ipairs(Af)do
Bf(I)
end
return true
end
local function Cd(F,A)
local C=Cb(Ch())
if C and C.D and C.D.As then
call('PEXPIRE',Q,C.D.An)
end
if C and C.N and not C.D then
if not Ca(F)then
return{}
end
if Aq and A then
for _,I in ipairs({A,'~'..A})do
local Bg=call('ZSCORE',G,I)
if Bg and tonumber(Bg)<=F then
call('ZREM',G,I)
Bf(I)
end
end
end
end
return C
end
local function Y(C,A)
if C.D then
return C.D.Y and C.D.A==A
end
return C.N and call('ZSCORE',G,A)
end
local function Bv(A,Bm,E)
call('ZADD',G,Bm,A)
if E>0 then
call('ZADD',G,Bm+E,'~'..A)
end
end
local function Cp(C,A,K,F)
local Av=C.D and C.D.B or call('HGET',O,A)
local B=Ci(Av,K)
local S,_,_,E,J=Ac(B)
E=tonumber(E)
call('PEXPIRE',Q,K+E)
if C.D then
if B~=Av then
call('SET',Q,A..C.D.Az..B,'PX',K+E)
end
return S,J
end
if B~=Av then
call('HSET',O,A,B)
end
Bv(A,F+K,E)
Bh()
return S,J
end
local function Cq(F)
return call('ZRANGEBYSCORE',G,'('..string.format('%.0f',F),'+inf','LIMIT',0,1)[1]
end
local function Co(I,F)
local A=sub(I,-32)
local Ad=call('ZSCORE',G,A)
local An=call('ZSCORE',G,'~'..A)or Ad
local C=Ad and'holding'or'closed'
return sub(A,1,8),C,(Ad or An)-F,An-F,Ah(call('HGET',O,A))
end
on(KEYS[1])
local Ae=tonumber(ARGV[2])
local F=By(Bk())
local C=Cd(F)
if not C then
return{ARGV[1],Br()}
end
local D=C.D
local Bc=C.N and(D and 1 or call('HLEN',O))or 0
if Aq then
Bc=math.max(0,Bc-call('ZCOUNT',G,'-inf',F))
end
local At,Ax=call('ZCARD',Ap),{}
local W=math.max(1,U)
local Bi=call('ZRANGEBYSCORE',Bb,'-inf',F,'LIMIT',0,W)
for _,A in ipairs(Bi)do
Ax[A]=true
if call('ZSCORE',Ap,A)then
At=At-1
end
end
local Ar=call('PTTL',KEYS[2]..'fence')==-1 and''or Bk()
local M={'holders',Bc,At,Ar,0}
local R=#M
local function Bl(A,Ay,H,B)
if M[5]<Ae then
M[5]=M[5]+1
M[R+1],M[R+2],M[R+3],M[R+4]=sub(A,1,8),Ay,H,B
R=R+4
end
end
local function Cl(A)
if#Bi==W and not Ax[A]then
return tonumber(call('ZSCORE',Bb,A)or 0)>F
end
return not Ax[A]
end
local function Cj()
local at,Ab,H=0,0,400
while Ab<Ae and H>0 do
local Ba=call('ZRANGE',Ap,at,at+math.min(Ae,64)-1)
if not Ba[1]then
return
end
at=at+#Ba
for _,A in ipairs(Ba)do
if Ab<Ae and H>0 and Cl(A)then
local Bn=call('HGET',Bo,A)or''
local Bd,B=match(Bn,'^(%d+) [01] %S+ %d+ %d+ [01] (.*)$')
if Bd then
M[R+1],M[R+2],M[R+3]=sub(A,1,8),Bd,Ah(' '..B)
Ab,R=Ab+1,R+3
end
H=H-math.floor(#Bn/1024)
end
H=H-1
end
end
end
if D then
Bl(D.A,D.Y and'holding'or'closed',D.H,D.B)
elseif C.N then
local Bp,Ab='('..string.format('%.0f',F),{}
local Al=call('ZRANGEBYSCORE',G,Bp,'+inf','WITHSCORES','LIMIT',0,2*Ae+1)
for i=1,#Al,2 do
local I,A=Al[i],sub(Al[i],-32)
if not Ab[A]then
Ab[A]=true
local Ay=I==A and'holding'or'closed'
Bl(A,Ay,Al[i+1]-F,Ah(call('HGET',O,A)))
end
end
end
if At>0 then
Cj()
end
return{ARGV[1],M}
