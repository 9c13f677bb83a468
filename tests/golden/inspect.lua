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
local P,G,N,W,Ap,Bo,Bb
local S,Aq,Cf,Bt=320,false,false,false
local function on(T)
S,Aq,Cf,Bt=math.max(S,5),false,false,false
P,G,N,W=T,T..':h',T..':d',T..':o'
Ap,Bo,Bb=T..':q',T..':w',T..':p'
end
local function Br(Cm)
return{'corrupt',Cm or'a value that is no lock'}
end
local function Ac(B)
local R,Y,Ag,Ai,Bz,E,L,K=
match(B,'^(%d+) (%a) (%d+)/?(%d*) (!?)(%d+)/?(%d*) (%S*) ')
return R,Y,Ag,Bz==''and E or'0',K,tonumber(L),Ai
end
local Am=12000
local function Ch()
local I=Ck('GETRANGE',P,0,Am+99)
if type(I)~='string'then
return call('GET',P)
end
return(I~=''or call('EXISTS',P)==1)and I
end
local function Ah(B)
if not B or#B<=Am then
return B
end
local Cg=match(sub(B,1,Am),'^%d* %a [%d/]+ !?%d+/?%d* %S* ')
return(Cg or'')..'{"cut":"longer than '..Am..' bytes"}'
end
local function Ci(B,L)
return(string.gsub(B,'^(%d+ %a [%d/]+ )!?(%d+)/?%d* ','%1%2/'..L..' '))
end
local function Bx(I)
if#I<=32 then
if I=='*s'or match(I,'^%*[xp]%d+$')or match(I,'^%*p%d+/%d+$')then
return sub(I,2,2),sub(I,3)
end
end
end
local function Ce(I)
local Aw,A,Az,Bu=match(I,'^(~?)(%x+)([-+])()')
if not A or#A~=32 then
return nil
end
local B=Ah(sub(I,Bu))
local R,Y,_,E,K,L=Ac(B)
if Y~='x'then
return nil
end
local H=call('PTTL',P)
E=tonumber(E)
local As=L and H>L+E
H=As and L+E or H
local X=Aw==''and H>E
return{
A=A,Aw=Aw~='',Az=Az,B=B,R=R,E=E,K=K,
X=X,An=H,H=X and H-E or H,As=As,
}
end
local function Cb(I)
if not I then
return{}
end
if sub(I,1,1)~='*'then
local D=Ce(I)
return D and{U='x',Z='',D=D,R=D.R}
end
local U,Z=Bx(I)
return U and{U=U,Z=Z,R=U=='x'and Z or nil}
end
local function Aj(Bj,by)
local Z=call('HINCRBY',W,Bj,by)
if Z<=0 then
call('HDEL',W,Bj)
end
end
local function Cn(C)
local Ak,Aa=match(C.Z,'^(%d*)/?(%d*)$')
local Ao=tonumber(Aa~=''and call('HGET',W,'c'..Aa)or 0)
if Ao>0 and Ao==call('HLEN',N)then
Ak,Ao=Aa,0
end
Aa=Ao>0 and Aa
return math.min(Ak,Aa or Ak),Ak,Aa
end
local function Cr(C,K)
if K==''then
return 0
end
if C.D then
return C.D.X and C.D.K==K and 1 or 0
end
return tonumber(call('HGET',W,'o'..K)or 0)
end
local function Bs(B)
local _,Y,Ag,_,K=Ac(B)
if K~=''then
Aj('o'..K,-1)
if Y=='p'then
Aj('p'..K,-Ag)
end
end
end
local function Cc(A,B)
local _,Y,Ag,_,_,_,Ai=Ac(B)
if Y=='p'then
Aj('used',-Ag)
if call('HGET',W,'c'..Ai)then
Aj('c'..Ai,-1)
end
end
call('HDEL',N,A)
end
local function Bq()
call('UNLINK',P,G,N,W)
end
local function Bf(J)
local A=sub(J,-32)
local B=call('HGET',N,A)
local Ad=J==A
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
local O=call('ZREVRANGE',G,0,0,'WITHSCORES')[2]
for _,T in ipairs({P,G,N,W})do
call('PEXPIREAT',T,O)
end
end
local function Bw(F)
local Be,O=false,call('ZREVRANGE',G,0,0,'WITHSCORES')
while O[1]and S>0 do
local J=O[1]
local _,_,_,E,_,L=Ac(call('HGET',N,sub(J,-32))or'')
local V=L and F+L+(#J>32 and E or 0)
if not V or tonumber(O[2])<=V then
break
end
call('PEXPIREAT',P,O[2])
call('ZADD',G,V,J)
Be,S,O=true,S-3,call('ZREVRANGE',G,0,0,'WITHSCORES')
end
if Be then
Bh()
end
return O[2]
end
local function Ca(F)
local O=Bw(F)
if not O or tonumber(O)<=F then
Bq()
return false
end
local V=math.max(1,math.ceil(S/3))
local Af=call('ZRANGEBYSCORE',G,'-inf',F,'LIMIT',0,V)
if Af[1]then
call('ZREM',G,unpack(Af))
Aq=#Af==V
S=S-3*#Af
end
for _,J in ipairs(Af)do
Bf(J)
end
return true
end
local function Cd(F,A)
local C=Cb(Ch())
if C and C.D and C.D.As then
call('PEXPIRE',P,C.D.An)
end
if C and C.U and not C.D then
if not Ca(F)then
return{}
end
if Aq and A then
for _,J in ipairs({A,'~'..A})do
local Bg=call('ZSCORE',G,J)
if Bg and tonumber(Bg)<=F then
call('ZREM',G,J)
Bf(J)
end
end
end
end
return C
end
local function X(C,A)
if C.D then
return C.D.X and C.D.A==A
end
return C.U and call('ZSCORE',G,A)
end
local function Bv(A,Bm,E)
call('ZADD',G,Bm,A)
if E>0 then
call('ZADD',G,Bm+E,'~'..A)
end
end
local function Cp(C,A,L,F)
local Av=C.D and C.D.B or call('HGET',N,A)
local B=Ci(Av,L)
local R,_,_,E,K=Ac(B)
E=tonumber(E)
call('PEXPIRE',P,L+E)
if C.D then
if B~=Av then
call('SET',P,A..C.D.Az..B,'PX',L+E)
end
return R,K
end
if B~=Av then
call('HSET',N,A,B)
end
Bv(A,F+L,E)
Bh()
return R,K
end
local function Cq(F)
return call('ZRANGEBYSCORE',G,'('..string.format('%.0f',F),'+inf','LIMIT',0,1)[1]
end
local function Co(J,F)
local A=sub(J,-32)
local Ad=call('ZSCORE',G,A)
local An=call('ZSCORE',G,'~'..A)or Ad
local C=Ad and'holding'or'closed'
return sub(A,1,8),C,(Ad or An)-F,An-F,Ah(call('HGET',N,A))
end
on(KEYS[1])
local Ae=tonumber(ARGV[2])
local F=By(Bk())
local C=Cd(F)
if not C then
return{ARGV[1],Br()}
end
local D=C.D
local Bc=C.U and(D and 1 or call('HLEN',N))or 0
if Aq then
Bc=math.max(0,Bc-call('ZCOUNT',G,'-inf',F))
end
local At,Ax=call('ZCARD',Ap),{}
local V=math.max(1,S)
local Bi=call('ZRANGEBYSCORE',Bb,'-inf',F,'LIMIT',0,V)
for _,A in ipairs(Bi)do
Ax[A]=true
if call('ZSCORE',Ap,A)then
At=At-1
end
end
local Ar=call('PTTL',KEYS[2]..'fence')==-1 and''or Bk()
local M={'holders',Bc,At,Ar,0}
local Q=#M
local function Bl(A,Ay,H,B)
if M[5]<Ae then
M[5]=M[5]+1
M[Q+1],M[Q+2],M[Q+3],M[Q+4]=sub(A,1,8),Ay,H,B
Q=Q+4
end
end
local function Cl(A)
if#Bi==V and not Ax[A]then
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
M[Q+1],M[Q+2],M[Q+3]=sub(A,1,8),Bd,Ah(' '..B)
Ab,Q=Ab+1,Q+3
end
H=H-math.floor(#Bn/1024)
end
H=H-1
end
end
end
if D then
Bl(D.A,D.X and'holding'or'closed',D.H,D.B)
elseif C.U then
local Bp,Ab='('..string.format('%.0f',F),{}
local Al=call('ZRANGEBYSCORE',G,Bp,'+inf','WITHSCORES','LIMIT',0,2*Ae+1)
for i=1,#Al,2 do
local J,A=Al[i],sub(Al[i],-32)
if not Ab[A]then
Ab[A]=true
local Ay=J==A and'holding'or'closed'
Bl(A,Ay,Al[i+1]-F,Ah(call('HGET',N,A)))
end
end
end
if At>0 then
Cj()
end
return{ARGV[1],M}
