local call,Bb,match,sub=redis.call,redis.pcall,string.match,string.sub
local Bj,Bl,As=3,{ARGV[1]},{}
local Ay,Ch,Bn={},{},{}
for i=1,#KEYS-1 do
if not Ch[KEYS[i]]then
Ay[#Ay+1],Ch[KEYS[i]]=KEYS[i],#Ay+1
end
end
local Ex=Ay[2]and Bb('MGET',unpack(Ay))or{Bb('GETRANGE',Ay[1],0,32)}
for i=1,#KEYS-1 do
local K,X=KEYS[i],nil
if not As[K]then
local P=Ex[Ch[K]]
if not P or P==''then
X=Bb('EXISTS',K,K..':p')==0 and 0
elseif type(P)=='string'and string.find(P,ARGV[2+Bj*(i-1)],1,true)==1 then
X,As[K],Bn[#Bn+1]=1,true,K
end
end
if X then
Bl[i+1]=X
else
As[#As+1],As[K]=i,true
end
end
if Bn[1]then
call('DEL',unpack(Bn))
end
if not As[1]then
return Bl
end
local Bx
local function Cg()
if not Bx then
local Dh=call('TIME')
Bx=Dh[1]*1000000+Dh[2]
end
return Bx
end
local function Dc(us)
return math.floor(us/1000)
end
local Bm,Ai,Da,at,Cw=KEYS[#KEYS]..'fence',nil,0,nil,nil
local Cy=false
local function Eg(i)
if not Ai then
local Ae=tonumber(Bb('GET',Bm)or 0)
if not Ae or not(Ae<9000000000000000)then
return nil
end
Ai=math.max(Ae,Cg()-1)
end
return Cw and math.max(Ai+1,Cw+(i or at))or Ai+1
end
local function Ec(F)
if F>Da then
local Cb=F+#KEYS-2
if ARGV[#ARGV]=='0'or Cy and call('PTTL',Bm)==-1 then
call('SET',Bm,Cb)
else
call('SET',Bm,Cb,'PX',ARGV[#ARGV])
end
Da=Cb
end
Ai=F
end
local K,O,V,Aa,Aj,Ao,Ak
local J,Bt,Bs,Bf=320,false,false,false
local function on(Am)
J,Bt,Bs,Bf=math.max(J,5),false,false,false
K,O,V,Aa=Am,Am..':h',Am..':d',Am..':o'
Aj,Ao,Ak=Am..':q',Am..':w',Am..':p'
end
local function Cr(Bc)
return{'corrupt',Bc or'a value that is no lock'}
end
local function Au(C)
local F,M,W,Q,Ek,H,N,I=
match(C,'^(%d+) (%a) (%d+)/?(%d*) (!?)(%d+)/?(%d*) (%S*) ')
return F,M,W,Ek==''and H or'0',I,tonumber(N),Q
end
local Bo=12000
local function Eu()
local P=Bb('GETRANGE',K,0,Bo+99)
if type(P)~='string'then
return call('GET',K)
end
return(P~=''or call('EXISTS',K)==1)and P
end
local function Cn(C)
if not C or#C<=Bo then
return C
end
local Et=match(sub(C,1,Bo),'^%d* %a [%d/]+ !?%d+/?%d* %S* ')
return(Et or'')..'{"cut":"longer than '..Bo..' bytes"}'
end
local function Ew(C,N)
return(string.gsub(C,'^(%d+ %a [%d/]+ )!?(%d+)/?%d* ','%1%2/'..N..' '))
end
local function Ef(P)
if#P<=32 then
if P=='*s'or match(P,'^%*[xp]%d+$')or match(P,'^%*p%d+/%d+$')then
return sub(P,2,2),sub(P,3)
end
end
end
local function Es(P)
local At,A,Ar,Dy=match(P,'^(~?)(%x+)([-+])()')
if not A or#A~=32 then
return nil
end
local C=Cn(sub(P,Dy))
local F,M,_,H,I,N=Au(C)
if M~='x'then
return nil
end
local Z=call('PTTL',K)
H=tonumber(H)
local Bu=N and Z>N+H
Z=Bu and N+H or Z
local Aq=At==''and Z>H
return{
A=A,At=At~='',Ar=Ar,C=C,F=F,H=H,I=I,
Aq=Aq,Az=Z,Z=Aq and Z-H or Z,Bu=Bu,
}
end
local function Dd(P)
if not P then
return{}
end
if sub(P,1,1)~='*'then
local E=Es(P)
return E and{L='x',S='',E=E,F=E.F}
end
local L,S=Ef(P)
return L and{L=L,S=S,F=L=='x'and S or nil}
end
local function Al(Cx,by)
local S=call('HINCRBY',Aa,Cx,by)
if S<=0 then
call('HDEL',Aa,Cx)
end
end
local function Bz(B)
local T,Y=match(B.S,'^(%d*)/?(%d*)$')
local Bp=tonumber(Y~=''and call('HGET',Aa,'c'..Y)or 0)
if Bp>0 and Bp==call('HLEN',V)then
T,Bp=Y,0
end
Y=Bp>0 and Y
return math.min(T,Y or T),T,Y
end
local function Cc(B,I)
if I==''then
return 0
end
if B.E then
return B.E.Aq and B.E.I==I and 1 or 0
end
return tonumber(call('HGET',Aa,'o'..I)or 0)
end
local function Ca(C)
local _,M,W,_,I=Au(C)
if I~=''then
Al('o'..I,-1)
if M=='p'then
Al('p'..I,-W)
end
end
end
local function De(A,C)
local _,M,W,_,_,_,Q=Au(C)
if M=='p'then
Al('used',-W)
if call('HGET',Aa,'c'..Q)then
Al('c'..Q,-1)
end
end
call('HDEL',V,A)
end
local function Cp()
call('UNLINK',K,O,V,Aa)
end
local function Cu(R)
local A=sub(R,-32)
local C=call('HGET',V,A)
local Ap=R==A
if C then
local _,_,_,H=Au(C)
if Ap then
Ca(C)
end
if not Ap or H=='0'then
De(A,C)
end
end
end
local function Be()
local Af=call('ZREVRANGE',O,0,0,'WITHSCORES')[2]
for _,Am in ipairs({K,O,V,Aa})do
call('PEXPIREAT',Am,Af)
end
end
local function Ed(G)
local Cs,Af=false,call('ZREVRANGE',O,0,0,'WITHSCORES')
while Af[1]and J>0 do
local R=Af[1]
local _,_,_,H,_,N=Au(call('HGET',V,sub(R,-32))or'')
local Ac=N and G+N+(#R>32 and H or 0)
if not Ac or tonumber(Af[2])<=Ac then
break
end
call('PEXPIREAT',K,Af[2])
call('ZADD',O,Ac,R)
Cs,J,Af=true,J-3,call('ZREVRANGE',O,0,0,'WITHSCORES')
end
if Cs then
Be()
end
return Af[2]
end
local function El(G)
local Af=Ed(G)
if not Af or tonumber(Af)<=G then
Cp()
return false
end
local Ac=math.max(1,math.ceil(J/3))
local An=call('ZRANGEBYSCORE',O,'-inf',G,'LIMIT',0,Ac)
if An[1]then
call('ZREM',O,unpack(An))
Bt=#An==Ac
J=J-3*#An
end
for _,R in ipairs(An)do
Cu(R)
end
return true
end
local function Er(G,A)
local B=Dd(Eu())
if B and B.E and B.E.Bu then
call('PEXPIRE',K,B.E.Az)
end
if B and B.L and not B.E then
if not El(G)then
return{}
end
if Bt and A then
for _,R in ipairs({A,'~'..A})do
local Cv=call('ZSCORE',O,R)
if Cv and tonumber(Cv)<=G then
call('ZREM',O,R)
Cu(R)
end
end
end
end
return B
end
local function Aq(B,A)
if B.E then
return B.E.Aq and B.E.A==A
end
return B.L and call('ZSCORE',O,A)
end
local function Cd(A,Dj,H)
call('ZADD',O,Dj,A)
if H>0 then
call('ZADD',O,Dj+H,'~'..A)
end
end
local function Fa(B,A,N,G)
local Ae=B.E and B.E.C or call('HGET',V,A)
local C=Ew(Ae,N)
local F,_,_,H,I=Au(C)
H=tonumber(H)
call('PEXPIRE',K,N+H)
if B.E then
if C~=Ae then
call('SET',K,A..B.E.Ar..C,'PX',N+H)
end
return F,I
end
if C~=Ae then
call('HSET',V,A,C)
end
Cd(A,G+N,H)
Be()
return F,I
end
local function Dx(G)
return call('ZRANGEBYSCORE',O,'('..string.format('%.0f',G),'+inf','LIMIT',0,1)[1]
end
local function Ez(R,G)
local A=sub(R,-32)
local Ap=call('ZSCORE',O,A)
local Az=call('ZSCORE',O,'~'..A)or Ap
local B=Ap and'holding'or'closed'
return sub(A,1,8),B,(Ap or Az)-G,Az-G,Cn(call('HGET',V,A))
end
local function Dq(D,B)
local M,L=D.M,B.L
if not L then
return'fits'
end
if not Bt and Cc(B,D.I)>0 then
if L=='x'and M=='x'and D.Ci or L=='s'and M=='s'then
return'passes'
elseif L=='x'then
return'deadlock','x',1
elseif M=='x'then
local W=call('HGET',Aa,'p'..D.I)
return'deadlock',L,W and W..'/'..Bz(B)or 1
end
end
if M=='x'or L=='x'then
return'in_the_way'
end
if M~=L then
local T=Dx(Dc(Cg()))
local Cl=match(call('HGET',V,sub(T,-32)),'^%d+ %a (%S+)')
return'mismatch',L,sub(Cl,1,21)
end
if L=='s'then
return'fits'
end
local Q,Ee,T,Y=D.Q,Bz(B)
if Y and Q~=T and Q~=Y then
return'in_the_way'
end
local Cl=call('HGET',Aa,'used')or 0
return Cl+D.W<=math.min(Q,Ee)and'fits'or'in_the_way'
end
local function Dw(B)
local F=B.F or Eg()
return F and(B.F or string.format('%.0f',F))
end
local function Fb()
return Cr('the fence counter is not a number that can grow')
end
local function Cq()
if call('ZCARD',O)+call('HLEN',V)+call('HLEN',Aa)>0 then
call('UNLINK',O,V,Aa)
end
end
local function Ds(E,G)
Cq()
call('SET',K,'*x'..E.F,'PX',E.Az)
call('HSET',V,E.A,E.C)
Cd(E.A,G+E.Z,E.H)
Al('o'..E.I,1)
end
local function Dv(D,F)
local N,H,C=D.N,D.H,F..' '..D.C
call('SET',K,D.A..D.Ar..C,'PX',N+H)
local E={
A=D.A,At=false,Ar=D.Ar,C=C,F=F,H=H,
I=D.I,Aq=true,Az=N+H,Z=N,
}
return{L='x',S='',E=E,F=F}
end
local function Ei(Q,B)
local _,T,Y=Bz(B)
if Q~=T then
Y=Q
end
local S=Y and T..'/'..Y or T
if S~=B.S then
call('SET',K,'*p'..S,'KEEPTTL')
end
if Q~=T then
Al('c'..Q,1)
end
return S
end
local function Du(D,B,F,G)
local A,I=D.A,D.I
if F~=B.F then
Ec(tonumber(F))
end
if not B.L and D.M=='x'then
return Dv(D,F)
end
if B.E then
Ds(B.E,G)
elseif not B.L then
Cq()
call('SET',K,'*'..D.M..D.Q,'PX',D.N+D.H)
end
local S=D.Q
if B.L=='p'then
S=Ei(S,B)
end
Cd(A,G+D.N,D.H)
call('HSET',V,A,F..' '..D.C)
if D.M=='p'then
Al('used',D.W)
end
if I~=''then
Al('o'..I,1)
if D.M=='p'then
Al('p'..I,D.W)
end
end
if D.M=='x'then
return{L='x',S=F,F=F}
end
return{L=D.M,S=S}
end
local function Br(A)
if call('ZREM',Ak,A,'!'..A)==0 then
return false
end
call('HDEL',Ao,A)
return call('ZREM',Aj,A)==1
end
local function Dg()
return match(call('HGET',Ao,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function Dn(G)
if call('EXISTS',Ak)==0 then
return false
end
local Ac=math.max(1,J)
local An=call('ZRANGEBYSCORE',Ak,'-inf',G,'LIMIT',0,Ac)
Bs=#An==Ac
J=J-#An
for _,R in ipairs(An)do
local A=match(R,'^!(.*)')
if not A then
Br(R)
else
local Av=call('ZSCORE',Ak,A)
if Av and tonumber(Av)>G then
local Bk=match(call('HGET',Ao,A)or'','^%d+ %d %S+ (%d+)')
local Cm=Bk and call('ZSCORE',Ak,R)-Bk
Bf=Bf or Cm and Cm>=tonumber((Dg()))
end
call('ZREM',Ak,R)
end
end
return true
end
local function En(A,Bw)
local Aw,By,U,Bk,Cj,Ci,C=match(
Bw or'','^(%d+) ([01]) (%S+) (%d+) (%d+) ([01]) (.*)$'
)
if not U then
return nil
end
local M,W,H,I,Eo=match(C,'^(%a) ([%d/]+) (%d+)/?%d* (%S*) (.*)$')
if not W then
return nil
end
local Ev,Q=match(W,'^(%d+)/?(%d*)$')
local Ct=H~='0'
return{
A=A,M=M,Ci=Ci=='1',W=Ev,Q=Q,I=I,
C=string.format('%s %s %s%s/%s %s ',M,W,Ct and'!'or'',H,Bk,I)..Eo,
N=tonumber(Bk),H=0,Ar=Ct and'+'or'-',U=U,Aw=tonumber(Aw),
Cj=tonumber(Cj),By=By=='1',
}
end
local function Bq(U,Bc)
local Ba=Bb('PUBLISH',U,Bc)
return type(Ba)~='number'or Ba>0
end
local function Cz(A)
return match(call('HGET',Ao,A)or'','^%d+ %d (%S+)')
end
local function Df(Ag,Bc)
local Bv,Di=8,nil
for _,A in ipairs(call('ZRANGE',Aj,0,Bv))do
if A~=Ag and Bv>0 then
Bv=Bv-1
local U=Cz(A)
if U and Bq(U,Bc..A)then
Di=U
break
end
end
end
local Ai=call('ZREVRANGE',Aj,0,0)[1]
local U=Ai and Ai~=Ag and Cz(Ai)
if U and U~=Di then
Bq(U,Bc..Ai)
end
end
local function Do(Ag,G,Ae)
local Db=call('ZREVRANGE',Ak,0,0,'WITHSCORES')[2]
if not Db then
return
end
local Dk=0
for _,A in ipairs(call('ZRANGE',Aj,0,319))do
local Aw,U=match(call('HGET',Ao,A)or'','^(%d+) %d (%S+)')
if U then
Dk=Aw
if A~=Ag then
Bq(U,'!'..A)
end
end
end
call('HSET',Ao,'?',string.format('%.0f %s %s',G,Dk,Ae))
call('PEXPIREAT',Ao,Db)
end
local function Dz(B,G,Ag)
local Co,Bi,Ck,Ce=Bf,false,false,false
local Ep,Dp,Bd,Ax=Dg()
if Co then
J=math.max(5,J-260)
Bf,Bd,Ax=false,Ep,Dp
end
J=math.max(5,J)
local Ae=Bd..' '..Ax
Bd,Ax=tonumber(Bd),tonumber(Ax)
local Bg,at,Bj,Bh,Ad={},0,0,0,{}
while true do
if B.E and B.E.I==''then
break
end
at=at+1
if at>Bj then
if Ad[1]then
call('ZREM',Aj,unpack(Ad))
Ad={}
end
local Ac=math.min(math.max(Bh,1),64)
Bg=call('ZRANGE',Aj,0,Ac)
if not Bg[1]then
break
end
Bj,at=math.min(#Bg,Ac),1
end
local Ab,Eh=Bg[at],Bg[at+1]
local Bw=call('HGET',Ao,Ab)
local D=En(Ab,Bw)
local Cf=math.floor(#(Bw or'')/256)
local Av=D and(Bs or D.Aw<=Ax)and call('ZSCORE',Ak,Ab)
if not D or Bs and Av and tonumber(Av)<=G then
if J<=0 then
Ce=true
break
end
J=J-1-Cf
Ad[#Ad+1]=Ab
Br(Ab)
else
local Dl=Dq(D,B)
Cy=true
local F=(Dl=='fits'or Dl=='passes')and Dw(B)
if not F then
break
end
if J<=0 then
Ce=true
break
end
if Bh==0 then
call('ZREM',Aj,Ab)
else
Ad[#Ad+1]=Ab
end
local Ba=Ab==Ag
local Ea=D.Aw<=Ax and Av
if not Ba and not(Ea and Av-D.Cj<Bd)then
Ba=Bq(D.U,Ab)or D.By
end
if not Ba then
J,Bh=J-1-Cf,Bh+1
else
J,Bh=J-5-Cf,0
if Ad[1]then
call('ZREM',Aj,unpack(Ad))
Ad={}
end
if Ab==Ag then
Br(Ab)
else
call('ZADD',Ak,G+D.N,'!'..Ab)
Ck=true
end
if Eh or Ck then
D.Ar='+'
end
B=Du(D,B,F,G)
Bi=true
end
end
end
if Ad[1]then
call('ZREM',Aj,unpack(Ad))
end
if Co then
Do(Ag,G,Ae)
elseif Ce then
Df(Ag,'!')
elseif Ck then
Df(Ag,'?')
end
if Bi and not B.E then
Be()
end
return B
end
local function Ej(B,A,C)
if B.E then
call('DEL',K)
return{}
end
call('ZREM',O,A,'~'..A)
Ca(C)
De(A,C)
if call('ZCARD',O)==0 then
Cp()
return{}
end
Be()
return B
end
local function Em(B,A,I,Dt)
Br(A)
if not Aq(B,A)then
return{'not_held',Cc(B,I)},B
end
local C=B.E and B.E.C or call('HGET',V,A)
local _,_,_,_,Eb=Au(C)
B=Dt(B,A,C)
local Z=Cc(B,Eb)
return Z>0 and{'still_held',Z}or 1,B
end
local function Dm(C,Ah)
return(string.gsub(C,'^(%d+ %a [%d/]+ !?%d+)/?%d* %S* ','%1/'..Ah..'  '))
end
local function Dr(B,A,C,Ah,G)
if B.E then
call('PEXPIRE',K,Ah)
local At='~'..A..'-'..Dm(C,Ah)
call('SET',K,At,'PX',Ah)
return Dd(At)
end
call('ZREM',O,A)
Ca(C)
call('ZADD',O,G+Ah,'~'..A)
call('HSET',V,A,Dm(C,Ah))
Be()
return B
end
local function Eq(T)
local A,I,Ah=sub(ARGV[T],1,32),ARGV[T+1],tonumber(ARGV[T+2])
local G=Dc(Cg())
local B=Er(G,A)
if not B then
return Cr()
end
local Ey=Dn(G)
local X
X,B=Em(B,A,I,Ah==0 and Ej or function(Ap,_,C)
return Dr(Ap,A,C,Ah,G)
end)
if Ey then
Dz(B,G)
end
return X
end
J=J-math.floor(#As/3)
for _,i in ipairs(As)do
local X='later'
if J>0 then
on(KEYS[i])
local Bi
Bi,X=pcall(Eq,2+Bj*(i-1))
if not Bi then
X={'error',type(X)=='table'and X.err or X}
end
J=J-35
end
Bl[i+1]=X
end
return Bl
