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
local O,G,S,W,Bq,Cb,Bz
local V,Ar,Bv,Bf=320,false,false,false
local function on(U)
V,Ar,Bv,Bf=math.max(V,5),false,false,false
O,G,S,W=U,U..':h',U..':d',U..':o'
Bq,Cb,Bz=U..':q',U..':w',U..':p'
end
local function Bd(Cc)
return{'corrupt',Cc or'a value that is no lock'}
end
local function Ab(C)
local P,Z,Ad,Ae,Bo,D,K,J=
match(C,'^(%d+) (%a) (%d+)/?(%d*) (!?)(%d+)/?(%d*) (%S*) ')
return P,Z,Ad,Bo==''and D or'0',J,tonumber(K),Ae
end
local Ah=12000
local function Bx()
local L=Ca('GETRANGE',O,0,Ah+99)
if type(L)~='string'then
return call('GET',O)
end
return(L~=''or call('EXISTS',O)==1)and L
end
local function As(C)
if not C or#C<=Ah then
return C
end
local Bw=match(sub(C,1,Ah),'^%d* %a [%d/]+ !?%d+/?%d* %S* ')
return(Bw or'')..'{"cut":"longer than '..Ah..' bytes"}'
end
local function By(C,K)
return(string.gsub(C,'^(%d+ %a [%d/]+ )!?(%d+)/?%d* ','%1%2/'..K..' '))
end
local function Bk(L)
if#L<=32 then
local M,R=match(L,'^%*([spx])(%d*/?%d*)$')
if M~='p'or match(R,'^%d')then
return M,R
end
end
end
local function Bu(L)
local Ao,B,Aq,Bg=match(L,'^(~?)(%x+)([-+])()')
if not B or#B~=32 then
return nil
end
local C=As(sub(L,Bg))
local P,Z,_,D,J,K=Ab(C)
if Z~='x'then
return nil
end
local Y=call('PTTL',O)
D=tonumber(D)
local Ak=K and Y>K+D
Y=Ak and K+D or Y
local X=Ao==''and Y>D
return{
B=B,Ao=Ao~='',Aq=Aq,C=C,P=P,D=D,J=J,
X=X,Ai=Y,Y=X and Y-D or Y,Ak=Ak,
}
end
local function Br(L)
if not L then
return{}
end
if sub(L,1,1)~='*'then
local E=Bu(L)
return E and{M='x',R='',E=E,P=E.P}
end
local M,R=Bk(L)
return M and{M=M,R=R,P=M=='x'and R or nil}
end
local function Af(Ax,by)
local R=call('HINCRBY',W,Ax,by)
if R<=0 then
call('HDEL',W,Ax)
end
end
local function Ce(A)
local Ag,Aa=match(A.R,'^(%d*)/?(%d*)$')
local Aj=tonumber(Aa~=''and call('HGET',W,'c'..Aa)or 0)
if Aj>0 and Aj==call('HLEN',S)then
Ag,Aj=Aa,0
end
Aa=Aj>0 and Aa
return math.min(Ag,Aa or Ag),Ag,Aa
end
local function Ci(A,J)
if J==''then
return 0
end
if A.E then
return A.E.X and A.E.J==J and 1 or 0
end
return tonumber(call('HGET',W,'o'..J)or 0)
end
local function Be(C)
local _,Z,Ad,_,J=Ab(C)
if J~=''then
Af('o'..J,-1)
if Z=='p'then
Af('p'..J,-Ad)
end
end
end
local function Bs(B,C)
local _,Z,Ad,_,_,_,Ae=Ab(C)
if Z=='p'then
Af('used',-Ad)
if call('HGET',W,'c'..Ae)then
Af('c'..Ae,-1)
end
end
call('HDEL',S,B)
end
local function Bc()
call('UNLINK',O,G,S,W)
end
local function Au(H)
local B=sub(H,-32)
local C=call('HGET',S,B)
local T=H==B
if C then
local _,_,_,D=Ab(C)
if T then
Be(C)
end
if not T or D=='0'then
Bs(B,C)
end
end
end
local function Aw()
local N=call('ZREVRANGE',G,0,0,'WITHSCORES')[2]
for _,U in ipairs({O,G,S,W})do
call('PEXPIREAT',U,N)
end
end
local function Bj(F)
local At,N=false,call('ZREVRANGE',G,0,0,'WITHSCORES')
while N[1]and V>0 do
local H=N[1]
local _,_,_,D,_,K=Ab(call('HGET',S,sub(H,-32))or'')
local Q=K and F+K+(#H>32 and D or 0)
if not Q or tonumber(N[2])<=Q then
break
end
call('PEXPIREAT',O,N[2])
call('ZADD',G,Q,H)
At,V,N=true,V-3,call('ZREVRANGE',G,0,0,'WITHSCORES')
end
if At then
Aw()
end
return N[2]
end
local function Bp(F)
local N=Bj(F)
if not N or tonumber(N)<=F then
Bc()
return false
end
local Q=math.max(1,math.ceil(V/3))
local Ac=call('ZRANGEBYSCORE',G,'-inf',F,'LIMIT',0,Q)
if Ac[1]then
call('ZREM',G,unpack(Ac))
Ar=#Ac==Q
V=V-3*#Ac
end
for _,H in ipairs(Ac)do
Au(H)
end
return true
end
local function Bt(F,B)
local A=Br(Bx())
if A and A.E and A.E.Ak then
call('PEXPIRE',O,A.E.Ai)
end
if A and A.M and not A.E then
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
local function X(A,B)
if A.E then
return A.E.X and A.E.B==B
end
return A.M and call('ZSCORE',G,B)
end
local function Bi(B,Ba,D)
call('ZADD',G,Ba,B)
if D>0 then
call('ZADD',G,Ba+D,'~'..B)
end
end
local function Cg(A,B,K,F)
local An=A.E and A.E.C or call('HGET',S,B)
local C=By(An,K)
local P,_,_,D,J=Ab(C)
D=tonumber(D)
call('PEXPIRE',O,K+D)
if A.E then
if C~=An then
call('SET',O,B..A.E.Aq..C,'PX',K+D)
end
return P,J
end
if C~=An then
call('HSET',S,B,C)
end
Bi(B,F+K,D)
Aw()
return P,J
end
local function Ch(F)
return call('ZRANGEBYSCORE',G,'('..string.format('%.0f',F),'+inf','LIMIT',0,1)[1]
end
local function Cf(H,F)
local B=sub(H,-32)
local T=call('ZSCORE',G,B)
local Ai=call('ZSCORE',G,'~'..B)or T
local A=T and'holding'or'closed'
return sub(B,1,8),A,(T or Ai)-F,Ai-F,As(call('HGET',S,B))
end
local function Bh(A,F)
local Q,I=1000,{}
if A.E then
I[1]=A.E.X and A.E.B or nil
return I,1
end
if not A.M then
return I,1
end
local Bb='('..string.format('%.0f',F)
local Ay=call('ZRANGEBYSCORE',G,Bb,'+inf','LIMIT',0,2*Q+1)
for _,H in ipairs(Ay)do
if#H==32 and#I<Q then
I[#I+1]=H
elseif#H==32 then
return I,0
end
end
return I,#Ay>2*Q and 0 or 1
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
local T=X(A,ARGV[i])
if T and(A.E or tonumber(T)>F)then
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
