local call,Bs,match,sub=redis.call,redis.pcall,string.match,string.sub
local Ak
local function Bh()
if not Ak then
local Ax=call('TIME')
Ak=Ax[1]*1000000+Ax[2]
end
return Ak
end
local function Bi(us)
return math.floor(us/1000)
end
local N,G,P,S,Bl,Bt,Br
local R,Ao,Bo,Bc=320,false,false,false
local function on(Q)
R,Ao,Bo,Bc=math.max(R,5),false,false,false
N,G,P,S=Q,Q..':h',Q..':d',Q..':o'
Bl,Bt,Br=Q..':q',Q..':w',Q..':p'
end
local function Ba(Bu)
return{'corrupt',Bu or'a value that is no lock'}
end
local function Z(C)
local O,W,Ac,Ad,Bj,D,J,H=
match(C,'^(%d+) (%a) (%d+)/?(%d*) (!?)(%d+)/?(%d*) (%S*) ')
return O,W,Ac,Bj==''and D or'0',H,tonumber(J),Ad
end
local Ag=12000
local function Aw()
local F=Bs('GETRANGE',N,0,Ag+99)
if type(F)~='string'then
return call('GET',N)
end
return(F~=''or call('EXISTS',N)==1)and F
end
local function Ap(C)
if not C or#C<=Ag then
return C
end
local Bp=match(sub(C,1,Ag),'^%d* %a [%d/]+ !?%d+/?%d* %S* ')
return(Bp or'')..'{"cut":"longer than '..Ag..' bytes"}'
end
local function Bq(C,J)
return(string.gsub(C,'^(%d+ %a [%d/]+ )!?(%d+)/?%d* ','%1%2/'..J..' '))
end
local function Bg(F)
if#F<=32 then
if F=='*s'or match(F,'^%*[xp]%d+$')or match(F,'^%*p%d+/%d+$')then
return sub(F,2,2),sub(F,3)
end
end
end
local function Bn(F)
local Am,A,An,Bd=match(F,'^(~?)(%x+)([-+])()')
if not A or#A~=32 then
return nil
end
local C=Ap(sub(F,Bd))
local O,W,_,D,H,J=Z(C)
if W~='x'then
return nil
end
local T=call('PTTL',N)
D=tonumber(D)
local Aj=J and T>J+D
T=Aj and J+D or T
local U=Am==''and T>D
return{
A=A,Am=Am~='',An=An,C=C,O=O,D=D,H=H,
U=U,Ah=T,T=U and T-D or T,Aj=Aj,
}
end
local function Av(F)
if not F then
return{}
end
if sub(F,1,1)~='*'then
local E=Bn(F)
return E and{V='x',X='',E=E,O=E.O}
end
local V,X=Bg(F)
return V and{V=V,X=X,O=V=='x'and X or nil}
end
local function Ae(Au,by)
local X=call('HINCRBY',S,Au,by)
if X<=0 then
call('HDEL',S,Au)
end
end
local function Bv(B)
local Af,Y=match(B.X,'^(%d*)/?(%d*)$')
local Ai=tonumber(Y~=''and call('HGET',S,'c'..Y)or 0)
if Ai>0 and Ai==call('HLEN',P)then
Af,Ai=Y,0
end
Y=Ai>0 and Y
return math.min(Af,Y or Af),Af,Y
end
local function Bz(B,H)
if H==''then
return 0
end
if B.E then
return B.E.U and B.E.H==H and 1 or 0
end
return tonumber(call('HGET',S,'o'..H)or 0)
end
local function Bb(C)
local _,W,Ac,_,H=Z(C)
if H~=''then
Ae('o'..H,-1)
if W=='p'then
Ae('p'..H,-Ac)
end
end
end
local function Bm(A,C)
local _,W,Ac,_,_,_,Ad=Z(C)
if W=='p'then
Ae('used',-Ac)
if call('HGET',S,'c'..Ad)then
Ae('c'..Ad,-1)
end
end
call('HDEL',P,A)
end
local function Az()
call('UNLINK',N,G,P,S)
end
local function Ar(K)
local A=sub(K,-32)
local C=call('HGET',P,A)
local L=K==A
if C then
local _,_,_,D=Z(C)
if L then
Bb(C)
end
if not L or D=='0'then
Bm(A,C)
end
end
end
local function At()
local M=call('ZREVRANGE',G,0,0,'WITHSCORES')[2]
for _,Q in ipairs({N,G,P,S})do
call('PEXPIREAT',Q,M)
end
end
local function Bf(I)
local Aq,M=false,call('ZREVRANGE',G,0,0,'WITHSCORES')
while M[1]and R>0 do
local K=M[1]
local _,_,_,D,_,J=Z(call('HGET',P,sub(K,-32))or'')
local Aa=J and I+J+(#K>32 and D or 0)
if not Aa or tonumber(M[2])<=Aa then
break
end
call('PEXPIREAT',N,M[2])
call('ZADD',G,Aa,K)
Aq,R,M=true,R-3,call('ZREVRANGE',G,0,0,'WITHSCORES')
end
if Aq then
At()
end
return M[2]
end
local function Bk(I)
local M=Bf(I)
if not M or tonumber(M)<=I then
Az()
return false
end
local Aa=math.max(1,math.ceil(R/3))
local Ab=call('ZRANGEBYSCORE',G,'-inf',I,'LIMIT',0,Aa)
if Ab[1]then
call('ZREM',G,unpack(Ab))
Ao=#Ab==Aa
R=R-3*#Ab
end
for _,K in ipairs(Ab)do
Ar(K)
end
return true
end
local function Ca(I,A)
local B=Av(Aw())
if B and B.E and B.E.Aj then
call('PEXPIRE',N,B.E.Ah)
end
if B and B.V and not B.E then
if not Bk(I)then
return{}
end
if Ao and A then
for _,K in ipairs({A,'~'..A})do
local As=call('ZSCORE',G,K)
if As and tonumber(As)<=I then
call('ZREM',G,K)
Ar(K)
end
end
end
end
return B
end
local function U(B,A)
if B.E then
return B.E.U and B.E.A==A
end
return B.V and call('ZSCORE',G,A)
end
local function Be(A,Ay,D)
call('ZADD',G,Ay,A)
if D>0 then
call('ZADD',G,Ay+D,'~'..A)
end
end
local function Bx(B,A,J,I)
local Al=B.E and B.E.C or call('HGET',P,A)
local C=Bq(Al,J)
local O,_,_,D,H=Z(C)
D=tonumber(D)
call('PEXPIRE',N,J+D)
if B.E then
if C~=Al then
call('SET',N,A..B.E.An..C,'PX',J+D)
end
return O,H
end
if C~=Al then
call('HSET',P,A,C)
end
Be(A,I+J,D)
At()
return O,H
end
local function By(I)
return call('ZRANGEBYSCORE',G,'('..string.format('%.0f',I),'+inf','LIMIT',0,1)[1]
end
local function Bw(K,I)
local A=sub(K,-32)
local L=call('ZSCORE',G,A)
local Ah=call('ZSCORE',G,'~'..A)or L
local B=L and'holding'or'closed'
return sub(A,1,8),B,(L or Ah)-I,Ah-I,Ap(call('HGET',P,A))
end
on(KEYS[1])
local A=ARGV[2]
local B=Av(Aw())
if not B then
return{ARGV[1],Ba()}
end
local L=U(B,A)
if L and not B.E then
L=tonumber(L)>Bi(Bh())
end
return{ARGV[1],{L and'yes'or'no'}}
