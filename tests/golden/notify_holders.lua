local call,Ca,match,sub=redis.call,redis.pcall,string.match,string.sub
local Am
local function Bm()
if not Am then
local Az=call('TIME')
Am=Az[1]*1000000+Az[2]
end
return Am
end
local function Bn(us)
return math.floor(us/1000)
end
local N,G,Q,U,Bq,Cb,Bz
local T,Ar,Bv,Bf=320,false,false,false
local function on(S)
T,Ar,Bv,Bf=math.max(T,5),false,false,false
N,G,Q,U=S,S..':h',S..':d',S..':o'
Bq,Cb,Bz=S..':q',S..':w',S..':p'
end
local function Bd(Cc)
return{'corrupt',Cc or'a value that is no lock'}
end
local function Ab(C)
local O,Y,Ad,Ae,Bo,D,L,K=
match(C,'^(%d+) (%a) (%d+)/?(%d*) (!?)(%d+)/?(%d*) (%S*) ')
return O,Y,Ad,Bo==''and D or'0',K,tonumber(L),Ae
end
local Ah=12000
local function Bx()
local J=Ca('GETRANGE',N,0,Ah+99)
if type(J)~='string'then
return call('GET',N)
end
return(J~=''or call('EXISTS',N)==1)and J
end
local function As(C)
if not C or#C<=Ah then
return C
end
local Bw=match(sub(C,1,Ah),'^%d* %a [%d/]+ !?%d+/?%d* %S* ')
return(Bw or'')..'{"cut":"longer than '..Ah..' bytes"}'
end
local function By(C,L)
return(string.gsub(C,'^(%d+ %a [%d/]+ )!?(%d+)/?%d* ','%1%2/'..L..' '))
end
local function Bk(J)
if#J<=32 then
if J=='*s'or match(J,'^%*[xp]%d+$')or match(J,'^%*p%d+/%d+$')then
return sub(J,2,2),sub(J,3)
end
end
end
local function Bu(J)
local Ao,B,Aq,Bg=match(J,'^(~?)(%x+)([-+])()')
if not B or#B~=32 then
return nil
end
local C=As(sub(J,Bg))
local O,Y,_,D,K,L=Ab(C)
if Y~='x'then
return nil
end
local X=call('PTTL',N)
D=tonumber(D)
local Ak=L and X>L+D
X=Ak and L+D or X
local V=Ao==''and X>D
return{
B=B,Ao=Ao~='',Aq=Aq,C=C,O=O,D=D,K=K,
V=V,Ai=X,X=V and X-D or X,Ak=Ak,
}
end
local function Br(J)
if not J then
return{}
end
if sub(J,1,1)~='*'then
local E=Bu(J)
return E and{W='x',Z='',E=E,O=E.O}
end
local W,Z=Bk(J)
return W and{W=W,Z=Z,O=W=='x'and Z or nil}
end
local function Af(Ax,by)
local Z=call('HINCRBY',U,Ax,by)
if Z<=0 then
call('HDEL',U,Ax)
end
end
local function Ce(A)
local Ag,Aa=match(A.Z,'^(%d*)/?(%d*)$')
local Aj=tonumber(Aa~=''and call('HGET',U,'c'..Aa)or 0)
if Aj>0 and Aj==call('HLEN',Q)then
Ag,Aj=Aa,0
end
Aa=Aj>0 and Aa
return math.min(Ag,Aa or Ag),Ag,Aa
end
local function Ci(A,K)
if K==''then
return 0
end
if A.E then
return A.E.V and A.E.K==K and 1 or 0
end
return tonumber(call('HGET',U,'o'..K)or 0)
end
local function Be(C)
local _,Y,Ad,_,K=Ab(C)
if K~=''then
Af('o'..K,-1)
if Y=='p'then
Af('p'..K,-Ad)
end
end
end
local function Bs(B,C)
local _,Y,Ad,_,_,_,Ae=Ab(C)
if Y=='p'then
Af('used',-Ad)
if call('HGET',U,'c'..Ae)then
Af('c'..Ae,-1)
end
end
call('HDEL',Q,B)
end
local function Bc()
call('UNLINK',N,G,Q,U)
end
local function Au(H)
local B=sub(H,-32)
local C=call('HGET',Q,B)
local R=H==B
if C then
local _,_,_,D=Ab(C)
if R then
Be(C)
end
if not R or D=='0'then
Bs(B,C)
end
end
end
local function Aw()
local M=call('ZREVRANGE',G,0,0,'WITHSCORES')[2]
for _,S in ipairs({N,G,Q,U})do
call('PEXPIREAT',S,M)
end
end
local function Bj(F)
local At,M=false,call('ZREVRANGE',G,0,0,'WITHSCORES')
while M[1]and T>0 do
local H=M[1]
local _,_,_,D,_,L=Ab(call('HGET',Q,sub(H,-32))or'')
local P=L and F+L+(#H>32 and D or 0)
if not P or tonumber(M[2])<=P then
break
end
call('PEXPIREAT',N,M[2])
call('ZADD',G,P,H)
At,T,M=true,T-3,call('ZREVRANGE',G,0,0,'WITHSCORES')
end
if At then
Aw()
end
return M[2]
end
local function Bp(F)
local M=Bj(F)
if not M or tonumber(M)<=F then
Bc()
return false
end
local P=math.max(1,math.ceil(T/3))
local Ac=call('ZRANGEBYSCORE',G,'-inf',F,'LIMIT',0,P)
if Ac[1]then
call('ZREM',G,unpack(Ac))
Ar=#Ac==P
T=T-3*#Ac
end
for _,H in ipairs(Ac)do
Au(H)
end
return true
end
local function Bt(F,B)
local A=Br(Bx())
if A and A.E and A.E.Ak then
call('PEXPIRE',N,A.E.Ai)
end
if A and A.W and not A.E then
if not Bp(F)then
return{}
end
if Ar and B then
for _,H in ipairs({B,'~'..B})do
local Av=call('ZSCORE',G,H)
if Av and tonumber(Av)<=F then
call('ZREM',G,H)
Au(H)
end
end
end
end
return A
end
local function V(A,B)
if A.E then
return A.E.V and A.E.B==B
end
return A.W and call('ZSCORE',G,B)
end
local function Bi(B,Ba,D)
call('ZADD',G,Ba,B)
if D>0 then
call('ZADD',G,Ba+D,'~'..B)
end
end
local function Cg(A,B,L,F)
local An=A.E and A.E.C or call('HGET',Q,B)
local C=By(An,L)
local O,_,_,D,K=Ab(C)
D=tonumber(D)
call('PEXPIRE',N,L+D)
if A.E then
if C~=An then
call('SET',N,B..A.E.Aq..C,'PX',L+D)
end
return O,K
end
if C~=An then
call('HSET',Q,B,C)
end
Bi(B,F+L,D)
Aw()
return O,K
end
local function Ch(F)
return call('ZRANGEBYSCORE',G,'('..string.format('%.0f',F),'+inf','LIMIT',0,1)[1]
end
local function Cf(H,F)
local B=sub(H,-32)
local R=call('ZSCORE',G,B)
local Ai=call('ZSCORE',G,'~'..B)or R
local A=R and'holding'or'closed'
return sub(B,1,8),A,(R or Ai)-F,Ai-F,As(call('HGET',Q,B))
end
local function Bh(A,F)
local P,I=1000,{}
if A.E then
I[1]=A.E.V and A.E.B or nil
return I,1
end
if not A.W then
return I,1
end
local Bb='('..string.format('%.0f',F)
local Ay=call('ZRANGEBYSCORE',G,Bb,'+inf','LIMIT',0,2*P+1)
for _,H in ipairs(Ay)do
if#H==32 and#I<P then
I[#I+1]=H
elseif#H==32 then
return I,0
end
end
return I,#Ay>2*P and 0 or 1
end
local function Bl(Cd,I)
return Cd..' '..table.concat(I,',')
end
on(KEYS[1])
local F=Bn(Bm())
local A=Bt(F)
if not A then
return{ARGV[1],Bd()}
end
local I,Ap
if ARGV[5]then
I,Ap={},1
for i=5,#ARGV do
local R=V(A,ARGV[i])
if R and(A.E or tonumber(R)>F)then
I[#I+1]=ARGV[i]
end
end
else
I,Ap=Bh(A,F)
end
if I[1]and ARGV[3]~=''then
call('PUBLISH',ARGV[2],Bl(ARGV[3],I)..ARGV[4])
end
local Al={'notified',Ap}
for _,B in ipairs(I)do
Al[#Al+1]=B
end
return{ARGV[1],Al}
