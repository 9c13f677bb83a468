local call,Cp,match,sub=redis.call,redis.pcall,string.match,string.sub
local Cb
local function Bt()
if not Cb then
local Dz=call('TIME')
Cb=Dz[1]*1000000+Dz[2]
end
return Cb
end
local function Dq(us)
return math.floor(us/1000)
end
local Bp,Ai,Dn,at,Dg=KEYS[#KEYS]..'fence',nil,0,nil,nil
local Dl=false
local function Ev(i)
if not Ai then
local Ak=tonumber(Cp('GET',Bp)or 0)
if not Ak or not(Ak<9000000000000000)then
return nil
end
Ai=math.max(Ak,Bt()-1)
end
return Dg and math.max(Ai+1,Dg+(i or at))or Ai+1
end
local function Er(F)
if F>Dn then
local Ce=F+#KEYS-2
if ARGV[#ARGV]=='0'or Dl and call('PTTL',Bp)==-1 then
call('SET',Bp,Ce)
else
call('SET',Bp,Ce,'PX',ARGV[#ARGV])
end
Dn=Ce
end
Ai=F
end
local U,Q,W,Ac,T,Af,Z
local N,Bn,Bm,Bi=320,false,false,false
local function on(Am)
N,Bn,Bm,Bi=math.max(N,5),false,false,false
U,Q,W,Ac=Am,Am..':h',Am..':d',Am..':o'
T,Af,Z=Am..':q',Am..':w',Am..':p'
end
local function Bo(Be)
return{'corrupt',Be or'a value that is no lock'}
end
local function Aw(E)
local F,K,S,P,Fa,I,M,H=
match(E,'^(%d+) (%a) (%d+)/?(%d*) (!?)(%d+)/?(%d*) (%S*) ')
return F,K,S,Fa==''and I or'0',H,tonumber(M),P
end
local Bs=12000
local function Fk()
local Ab=Cp('GETRANGE',U,0,Bs+99)
if type(Ab)~='string'then
return call('GET',U)
end
return(Ab~=''or call('EXISTS',U)==1)and Ab
end
local function Cu(E)
if not E or#E<=Bs then
return E
end
local Bw=match(sub(E,1,Bs),'^%d* %a [%d/]+ !?%d+/?%d* %S* ')
return(Bw or'')..'{"cut":"longer than '..Bs..' bytes"}'
end
local function Fn(E,M)
return(string.gsub(E,'^(%d+ %a [%d/]+ )!?(%d+)/?%d* ','%1%2/'..M..' '))
end
local function Eu(Ab)
if#Ab<=32 then
local J,L=match(Ab,'^%*([spx])(%d*/?%d*)$')
if J~='p'or match(L,'^%d')then
return J,L
end
end
end
local function Fj(Ab)
local Bf,B,Ao,El=match(Ab,'^(~?)(%x+)([-+])()')
if not B or#B~=32 then
return nil
end
local E=Cu(sub(Ab,El))
local F,K,_,I,H,M=Aw(E)
if K~='x'then
return nil
end
local X=call('PTTL',U)
I=tonumber(I)
local Bx=M and X>M+I
X=Bx and M+I or X
local Al=Bf==''and X>I
return{
B=B,Bf=Bf~='',Ao=Ao,E=E,F=F,I=I,H=H,
Al=Al,Ae=X,X=Al and X-I or X,Bx=Bx,
}
end
local function Fd(Ab)
if not Ab then
return{}
end
if sub(Ab,1,1)~='*'then
local D=Fj(Ab)
return D and{J='x',L='',D=D,F=D.F}
end
local J,L=Eu(Ab)
return J and{J=J,L=L,F=J=='x'and L or nil}
end
local function Ap(Bq,by)
local L=call('HINCRBY',Ac,Bq,by)
if L<=0 then
call('HDEL',Ac,Bq)
end
end
local function Cd(A)
local V,Aa=match(A.L,'^(%d*)/?(%d*)$')
local Bu=tonumber(Aa~=''and call('HGET',Ac,'c'..Aa)or 0)
if Bu>0 and Bu==call('HLEN',W)then
V,Bu=Aa,0
end
Aa=Bu>0 and Aa
return math.min(V,Aa or V),V,Aa
end
local function Br(A,H)
if H==''then
return 0
end
if A.D then
return A.D.Al and A.D.H==H and 1 or 0
end
return tonumber(call('HGET',Ac,'o'..H)or 0)
end
local function Db(E)
local _,K,S,_,H=Aw(E)
if H~=''then
Ap('o'..H,-1)
if K=='p'then
Ap('p'..H,-S)
end
end
end
local function Ds(B,E)
local _,K,S,_,_,_,P=Aw(E)
if K=='p'then
Ap('used',-S)
if call('HGET',Ac,'c'..P)then
Ap('c'..P,-1)
end
end
call('HDEL',W,B)
end
local function Cx()
call('UNLINK',U,Q,W,Ac)
end
local function Dc(R)
local B=sub(R,-32)
local E=call('HGET',W,B)
local Bb=R==B
if E then
local _,_,_,I=Aw(E)
if Bb then
Db(E)
end
if not Bb or I=='0'then
Ds(B,E)
end
end
end
local function Bh()
local Ad=call('ZREVRANGE',Q,0,0,'WITHSCORES')[2]
for _,Am in ipairs({U,Q,W,Ac})do
call('PEXPIREAT',Am,Ad)
end
end
local function Es(G)
local Cz,Ad=false,call('ZREVRANGE',Q,0,0,'WITHSCORES')
while Ad[1]and N>0 do
local R=Ad[1]
local _,_,_,I,_,M=Aw(call('HGET',W,sub(R,-32))or'')
local Y=M and G+M+(#R>32 and I or 0)
if not Y or tonumber(Ad[2])<=Y then
break
end
call('PEXPIREAT',U,Ad[2])
call('ZADD',Q,Y,R)
Cz,N,Ad=true,N-3,call('ZREVRANGE',Q,0,0,'WITHSCORES')
end
if Cz then
Bh()
end
return Ad[2]
end
local function Fc(G)
local Ad=Es(G)
if not Ad or tonumber(Ad)<=G then
Cx()
return false
end
local Y=math.max(1,math.ceil(N/3))
local Aq=call('ZRANGEBYSCORE',Q,'-inf',G,'LIMIT',0,Y)
if Aq[1]then
call('ZREM',Q,unpack(Aq))
Bn=#Aq==Y
N=N-3*#Aq
end
for _,R in ipairs(Aq)do
Dc(R)
end
return true
end
local function Du(G,B)
local A=Fd(Fk())
if A and A.D and A.D.Bx then
call('PEXPIRE',U,A.D.Ae)
end
if A and A.J and not A.D then
if not Fc(G)then
return{}
end
if Bn and B then
for _,R in ipairs({B,'~'..B})do
local Dd=call('ZSCORE',Q,R)
if Dd and tonumber(Dd)<=G then
call('ZREM',Q,R)
Dc(R)
end
end
end
end
return A
end
local function Al(A,B)
if A.D then
return A.D.Al and A.D.B==B
end
return A.J and call('ZSCORE',Q,B)
end
local function Ch(B,Ea,I)
call('ZADD',Q,Ea,B)
if I>0 then
call('ZADD',Q,Ea+I,'~'..B)
end
end
local function Ek(A,B,M,G)
local Ak=A.D and A.D.E or call('HGET',W,B)
local E=Fn(Ak,M)
local F,_,_,I,H=Aw(E)
I=tonumber(I)
call('PEXPIRE',U,M+I)
if A.D then
if E~=Ak then
call('SET',U,B..A.D.Ao..E,'PX',M+I)
end
return F,H
end
if E~=Ak then
call('HSET',W,B,E)
end
Ch(B,G+M,I)
Bh()
return F,H
end
local function Di(G)
return call('ZRANGEBYSCORE',Q,'('..string.format('%.0f',G),'+inf','LIMIT',0,1)[1]
end
local function Eh(R,G)
local B=sub(R,-32)
local Bb=call('ZSCORE',Q,B)
local Ae=call('ZSCORE',Q,'~'..B)or Bb
local A=Bb and'holding'or'closed'
return sub(B,1,8),A,(Bb or Ae)-G,Ae-G,Cu(call('HGET',W,B))
end
local function Cw(C,A)
local K,J=C.K,A.J
if not J then
return'fits'
end
if not Bn and Br(A,C.H)>0 then
if J=='x'and K=='x'and C.Ar or J=='s'and K=='s'then
return'passes'
elseif J=='x'then
return'deadlock','x',1
elseif K=='x'then
local S=call('HGET',Ac,'p'..C.H)
return'deadlock',J,S and S..'/'..Cd(A)or 1
end
end
if K=='x'or J=='x'then
return'in_the_way'
end
if K~=J then
local V=Di(Dq(Bt()))
local Cq=match(call('HGET',W,sub(V,-32)),'^%d+ %a (%S+)')
return'mismatch',J,sub(Cq,1,20)
end
if J=='s'then
return'fits'
end
local P,Et,V,Aa=C.P,Cd(A)
if Aa and P~=V and P~=Aa then
return'in_the_way'
end
local Cq=call('HGET',Ac,'used')or 0
return Cq+C.S<=math.min(P,Et)and'fits'or'in_the_way'
end
local function Dh(A)
local F=A.F or Ev()
return F and(A.F or string.format('%.0f',F))
end
local function Ex()
return Bo('the fence counter is not a number that can grow')
end
local function Cy()
if call('ZCARD',Q)+call('HLEN',W)+call('HLEN',Ac)>0 then
call('UNLINK',Q,W,Ac)
end
end
local function Eg(D,G)
Cy()
call('SET',U,'*x'..D.F,'PX',D.Ae)
call('HSET',W,D.B,D.E)
Ch(D.B,G+D.X,D.I)
Ap('o'..D.H,1)
end
local function Ej(C,F)
local M,I,E=C.M,C.I,F..' '..C.E
call('SET',U,C.B..C.Ao..E,'PX',M+I)
local D={
B=C.B,Bf=false,Ao=C.Ao,E=E,F=F,I=I,
H=C.H,Al=true,Ae=M+I,X=M,
}
return{J='x',L='',D=D,F=F}
end
local function Ey(P,A)
local _,V,Aa=Cd(A)
if P~=V then
Aa=P
end
local L=Aa and V..'/'..Aa or V
if L~=A.L then
call('SET',U,'*p'..L,'PX',call('PTTL',U))
call('HDEL',Ac,'c'..V)
end
if P~=V then
Ap('c'..P,1)
end
return L
end
local function Df(C,A,F,G)
local B,H=C.B,C.H
if F~=A.F then
Er(tonumber(F))
end
if not A.J and C.K=='x'then
return Ej(C,F)
end
if A.D then
Eg(A.D,G)
elseif not A.J then
Cy()
call('SET',U,'*'..C.K..C.P,'PX',C.M+C.I)
end
local L=C.P
if A.J=='p'then
L=Ey(L,A)
end
Ch(B,G+C.M,C.I)
call('HSET',W,B,F..' '..C.E)
if C.K=='p'then
Ap('used',C.S)
end
if H~=''then
Ap('o'..H,1)
if C.K=='p'then
Ap('p'..H,C.S)
end
end
if C.K=='x'then
return{J='x',L=F,F=F}
end
return{J=C.K,L=L}
end
local function Au(B)
if call('ZREM',Z,B,'!'..B)==0 then
return false
end
call('HDEL',Af,B)
return call('ZREM',T,B)==1
end
local function Dx()
return match(call('HGET',Af,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function Cs(G)
if call('EXISTS',Z)==0 then
return false
end
local Y=math.max(1,N)
local Aq=call('ZRANGEBYSCORE',Z,'-inf',G,'LIMIT',0,Y)
Bm=#Aq==Y
N=N-#Aq
for _,R in ipairs(Aq)do
local B=match(R,'^!(.*)')
if not B then
Au(R)
else
local Ax=call('ZSCORE',Z,B)
if Ax and tonumber(Ax)>G then
local At=match(call('HGET',Af,B)or'','^%d+ %d %S+ (%d+)')
local Ct=At and call('ZSCORE',Z,R)-At
Bi=Bi or Ct and Ct>=tonumber((Dx()))
end
call('ZREM',Z,R)
end
end
return true
end
local function Fh(B,Ay)
local Ag,Cc,O,At,As,Ar,E=match(
Ay or'','^(%d+) ([01]) (%S+) (%d+) (%d+) ([01]) (.*)$'
)
if not O then
return nil
end
local K,S,I,H,Cn=match(E,'^(%a) ([%d/]+) (%d+)/?%d* (%S*) (.*)$')
local Fm,P=match(S,'^(%d+)/?(%d*)$')
local Da=I~='0'
return{
B=B,K=K,Ar=Ar=='1',S=Fm,P=P,H=H,
E=string.format('%s %s %s%s/%s %s ',K,S,Da and'!'or'',I,At,H)..Cn,
M=tonumber(At),I=0,Ao=Da and'+'or'-',O=O,Ag=tonumber(Ag),
As=tonumber(As),Cc=Cc=='1',
}
end
local function Bv(O,Be)
local Bc=Cp('PUBLISH',O,Be)
return type(Bc)~='number'or Bc>0
end
local function Dm(B)
return match(call('HGET',Af,B)or'','^%d+ %d (%S+)')
end
local function Dw(An,Be)
local By,Bd=8,nil
for _,B in ipairs(call('ZRANGE',T,0,By))do
if B~=An and By>0 then
By=By-1
local O=Dm(B)
if O and Bv(O,Be..B)then
Bd=O
break
end
end
end
local Ai=call('ZREVRANGE',T,0,0)[1]
local O=Ai and Ai~=An and Dm(Ai)
if O and O~=Bd then
Bv(O,Be..Ai)
end
end
local function Ec(An,G,Ak)
local Do=call('ZREVRANGE',Z,0,0,'WITHSCORES')[2]
if not Do then
return
end
local Eb=0
for _,B in ipairs(call('ZRANGE',T,0,319))do
local Ag,O=match(call('HGET',Af,B)or'','^(%d+) %d (%S+)')
if O then
Eb=Ag
if B~=An then
Bv(O,'!'..B)
end
end
end
call('HSET',Af,'?',string.format('%.0f %s %s',G,Eb,Ak))
call('PEXPIREAT',Af,Do)
end
local function Cf(A,G,An)
local Cv,Dt,Co,Ck=Bi,false,false,false
local Fi,Ed,Bg,Ba=Dx()
if Cv then
N=math.max(5,N-260)
Bi,Bg,Ba=false,Fi,Ed
end
N=math.max(5,N)
local Ak=Bg..' '..Ba
Bg,Ba=tonumber(Bg),tonumber(Ba)
local Bj,at,Dv,Bk,Aj={},0,0,0,{}
while true do
if A.D and A.D.H==''then
break
end
at=at+1
if at>Dv then
if Aj[1]then
call('ZREM',T,unpack(Aj))
Aj={}
end
local Y=math.min(math.max(Bk,1),64)
Bj=call('ZRANGE',T,0,Y)
if not Bj[1]then
break
end
Dv,at=math.min(#Bj,Y),1
end
local Ah,Ew=Bj[at],Bj[at+1]
local Ay=call('HGET',Af,Ah)
local C=Fh(Ah,Ay)
local Cl=math.floor(#(Ay or'')/256)
local Ax=C and(Bm or C.Ag<=Ba)and call('ZSCORE',Z,Ah)
if not C or Bm and Ax and tonumber(Ax)<=G then
if N<=0 then
Ck=true
break
end
N=N-1-Cl
Aj[#Aj+1]=Ah
Au(Ah)
else
local Av=Cw(C,A)
Dl=true
local F=(Av=='fits'or Av=='passes')and Dh(A)
if not F then
break
end
if N<=0 then
Ck=true
break
end
if Bk==0 then
call('ZREM',T,Ah)
else
Aj[#Aj+1]=Ah
end
local Bc=Ah==An
local Eo=C.Ag<=Ba and Ax
if not Bc and not(Eo and Ax-C.As<Bg)then
Bc=Bv(C.O,Ah)or C.Cc
end
if not Bc then
N,Bk=N-1-Cl,Bk+1
else
N,Bk=N-5-Cl,0
if Aj[1]then
call('ZREM',T,unpack(Aj))
Aj={}
end
if Ah==An then
Au(Ah)
else
call('ZADD',Z,G+C.M,'!'..Ah)
Co=true
end
if Ew or Co then
C.Ao='+'
end
A=Df(C,A,F,G)
Dt=true
end
end
end
if Aj[1]then
call('ZREM',T,unpack(Aj))
end
if Cv then
Ec(An,G,Ak)
elseif Ck then
Dw(An,'!')
elseif Co then
Dw(An,'?')
end
if Dt and not A.D then
Bh()
end
return A
end
local G=Dq(Bt())
local function Fg(V)
local Bw,Bl=ARGV[V],V
while ARGV[Bl+1]==''do
Bl=Bl-4
end
local Ae,E,Fo=unpack(ARGV,Bl+1,Bl+3)
local K,S,P,I,H=match(E,'^(%a) (%d+)/?(%d*) (%d+)/?%d* (%S*) ')
local Ar,O,At,As,Y,Cm=
match(Fo,'^([01]) ?(%S*) ?(%d*) ?(%d*) ?(%d*) ?(%d*)$')
return{
B=sub(Bw,1,32),K=K,Ar=Ar=='1',S=S,P=P,
M=Ae-I,I=tonumber(I),H=H,E=E,Ao=sub(Bw,33),
O=O~=''and O,At=At,As=tonumber(As),Y=tonumber(Y),
Cm=tonumber(Cm),
}
end
local function Dk(A,F,H)
return{'granted',F,math.max(1,Br(A,H))}
end
local function Ee(A,B)
if A.D then
return A.D.B==B
end
return A.J and call('HGET',W,B)
end
local function Ci(Ca,C,A,Eq)
local D,Bd=A.D,nil
if D then
local Cg=D.Al and'holding'or'closed'
Bd={sub(D.B,1,8),Cg,D.X,D.Ae,D.E}
else
local S=C.K=='p'and A.J=='p'
local R=Eq and'~'..C.B
or S and Di(G)
or call('ZREVRANGE',Q,0,0)[1]
local Fb,Cg,X,Ae,E=Eh(R,G)
if S and Bn then
Ae=0
end
Bd={Fb,Cg,X,Ae,E}
end
for _,Bq in ipairs(Bd)do
Ca[#Ca+1]=Bq
end
return Ca
end
local function Dj(C,A)
if Au(C.B)then
Cf(A,G)
end
end
local function Dp(A)
if A.D and A.D.Ao=='-'and not A.D.Bf then
call('SETRANGE',U,32,'+')
end
end
local Cj=0
local function De(C,A)
local Ai=call('ZREVRANGE',T,0,0,'WITHSCORES')[2]or 0
local L=C.Cm
if not L then
Cj=math.max(Ai+1,Cj+1,Bt())
L=Cj
end
local Ag=string.format('%.0f',L)
call('ZADD',T,Ag,C.B)
local Ar=C.Ar and'1'or'0'
local Fq={Ag,'0',C.O,C.At,C.As,Ar,C.E}
call('HSET',Af,C.B,table.concat(Fq,' '))
Dp(A)
end
local function Ef(B,A)
if call('ZSCORE',T,B)or not call('ZSCORE',Z,B)or Al(A,B)then
return
end
local Ay=call('HGET',Af,B)
if not Ay then
Au(B)
return
end
call('ZREM',Z,'!'..B)
local Ag,Cn=match(Ay,'^(%d+) %d (.*)$')
call('HSET',Af,B,Ag..' 1 '..Cn)
call('ZADD',T,Ag,B)
call('PEXPIREAT',T,call('ZREVRANGE',Z,0,0,'WITHSCORES')[2])
Dp(A)
end
local function Dr(C)
call('ZADD',Z,G+C.As,C.B)
local Ad=call('ZREVRANGE',Z,0,0,'WITHSCORES')[2]
for _,Am in ipairs({T,Af,Z})do
call('PEXPIREAT',Am,Ad)
end
end
local function Fp(C,A,Az)
local Bz=call('ZRANK',T,C.B)
if Bz then
call('PEXPIRE',T,C.As)
elseif Az>=C.Y and not Bm then
return{'full',Az}
else
De(C,A)
Bz=call('ZRANK',T,C.B)
end
Dr(C)
return Ci({'queued',Bz},C,A)
end
local function Fl(C,A,F)
local Cr=Df(C,A,F,G)
if not Cr.D then
Bh()
end
return Dk(Cr,F,C.H)
end
local function Fr(C)
local B=C.B
local A=Du(G,B)
if not A then
return Bo()
end
if A.D and A.D.Ae<0 then
return Bo('a lock without an end')
end
local Az=0
local Dy=Cs(G)
if Dy then
Ef(B,A)
A=Cf(A,G,B)
Az=call('ZCARD',T)
end
if Al(A,B)then
local F,H=Ek(A,B,C.M,G)
if Dy then
Au(B)
end
return Dk(A,F,H)
end
if Ee(A,B)then
return Ci({'refused'},C,A,true)
end
local Av,Em,En=Cw(C,A)
if Av=='deadlock'or Av=='mismatch'then
Dj(C,A)
return{Av,Em,En}
end
if Av=='passes'or Av=='fits'and(Az==0 or not A.J)then
local F=Dh(A)
if not F then
return Ex()
end
if Az>0 then
Au(B)
end
return Fl(C,A,F)
end
if C.O then
return Fp(C,A,Az)
end
local Fe=Ci({'refused'},C,A)
Dj(C,A)
return Fe
end
local function Ez(A,B,E)
if A.D then
call('DEL',U)
return{}
end
call('ZREM',Q,B,'~'..B)
Db(E)
Ds(B,E)
if call('ZCARD',Q)==0 then
Cx()
return{}
end
Bh()
return A
end
local function Ff(A,B,H,Ei)
Au(B)
if not Al(A,B)then
return{'not_held',Br(A,H)},A
end
local E=A.D and A.D.E or call('HGET',W,B)
local _,_,_,_,Ep=Aw(E)
A=Ei(A,B,E)
local X=Br(A,Ep)
return X>0 and{'still_held',X}or 1,A
end
on(KEYS[1])
local C=Fg(2)
local A=Du(G,C.B)
if not A then
return{ARGV[1],Bo()}
end
Cs(G)
local _
_,A=Ff(A,C.B,C.H,Ez)
De(C,A)
Dr(C)
Cf(A,G)
return{ARGV[1],1}
