local call,Cp,match,sub=redis.call,redis.pcall,string.match,string.sub
local Cb
local function Bt()
if not Cb then
local Ea=call('TIME')
Cb=Ea[1]*1000000+Ea[2]
end
return Cb
end
local function Dr(us)
return math.floor(us/1000)
end
local Bp,Ai,Do,at,Dh=KEYS[#KEYS]..'fence',nil,0,nil,nil
local Dm=false
local function Ev(i)
if not Ai then
local Ak=tonumber(Cp('GET',Bp)or 0)
if not Ak or not(Ak<9000000000000000)then
return nil
end
Ai=math.max(Ak,Bt()-1)
end
return Dh and math.max(Ai+1,Dh+(i or at))or Ai+1
end
local function Er(F)
if F>Do then
local Ce=F+#KEYS-2
if ARGV[#ARGV]=='0'or Dm and call('PTTL',Bp)==-1 then
call('SET',Bp,Ce)
else
call('SET',Bp,Ce,'PX',ARGV[#ARGV])
end
Do=Ce
end
Ai=F
end
local V,Q,W,Ag,T,Ae,Aa
local M,Bn,Bm,Bi=320,false,false,false
local function on(Am)
M,Bn,Bm,Bi=math.max(M,5),false,false,false
V,Q,W,Ag=Am,Am..':h',Am..':d',Am..':o'
T,Ae,Aa=Am..':q',Am..':w',Am..':p'
end
local function Bo(Be)
return{'corrupt',Be or'a value that is no lock'}
end
local function Aw(E)
local F,J,R,P,Fa,I,L,H=
match(E,'^(%d+) (%a) (%d+)/?(%d*) (!?)(%d+)/?(%d*) (%S*) ')
return F,J,R,Fa==''and I or'0',H,tonumber(L),P
end
local Bs=12000
local function Fk()
local U=Cp('GETRANGE',V,0,Bs+99)
if type(U)~='string'then
return call('GET',V)
end
return(U~=''or call('EXISTS',V)==1)and U
end
local function Cu(E)
if not E or#E<=Bs then
return E
end
local Bw=match(sub(E,1,Bs),'^%d* %a [%d/]+ !?%d+/?%d* %S* ')
return(Bw or'')..'{"cut":"longer than '..Bs..' bytes"}'
end
local function Fn(E,L)
return(string.gsub(E,'^(%d+ %a [%d/]+ )!?(%d+)/?%d* ','%1%2/'..L..' '))
end
local function Eu(U)
if#U<=32 then
if U=='*s'or match(U,'^%*[xp]%d+$')or match(U,'^%*p%d+/%d+$')then
return sub(U,2,2),sub(U,3)
end
end
end
local function Fj(U)
local Bf,B,Ao,El=match(U,'^(~?)(%x+)([-+])()')
if not B or#B~=32 then
return nil
end
local E=Cu(sub(U,El))
local F,J,_,I,H,L=Aw(E)
if J~='x'then
return nil
end
local Y=call('PTTL',V)
I=tonumber(I)
local Bx=L and Y>L+I
Y=Bx and L+I or Y
local Al=Bf==''and Y>I
return{
B=B,Bf=Bf~='',Ao=Ao,E=E,F=F,I=I,H=H,
Al=Al,Ad=Y,Y=Al and Y-I or Y,Bx=Bx,
}
end
local function Fd(U)
if not U then
return{}
end
if sub(U,1,1)~='*'then
local D=Fj(U)
return D and{K='x',O='',D=D,F=D.F}
end
local K,O=Eu(U)
return K and{K=K,O=O,F=K=='x'and O or nil}
end
local function Ap(Bq,by)
local O=call('HINCRBY',Ag,Bq,by)
if O<=0 then
call('HDEL',Ag,Bq)
end
end
local function Cd(A)
local X,Ab=match(A.O,'^(%d*)/?(%d*)$')
local Bu=tonumber(Ab~=''and call('HGET',Ag,'c'..Ab)or 0)
if Bu>0 and Bu==call('HLEN',W)then
X,Bu=Ab,0
end
Ab=Bu>0 and Ab
return math.min(X,Ab or X),X,Ab
end
local function Br(A,H)
if H==''then
return 0
end
if A.D then
return A.D.Al and A.D.H==H and 1 or 0
end
return tonumber(call('HGET',Ag,'o'..H)or 0)
end
local function Dc(E)
local _,J,R,_,H=Aw(E)
if H~=''then
Ap('o'..H,-1)
if J=='p'then
Ap('p'..H,-R)
end
end
end
local function Dt(B,E)
local _,J,R,_,_,_,P=Aw(E)
if J=='p'then
Ap('used',-R)
if call('HGET',Ag,'c'..P)then
Ap('c'..P,-1)
end
end
call('HDEL',W,B)
end
local function Cy()
call('UNLINK',V,Q,W,Ag)
end
local function Dd(S)
local B=sub(S,-32)
local E=call('HGET',W,B)
local Bb=S==B
if E then
local _,_,_,I=Aw(E)
if Bb then
Dc(E)
end
if not Bb or I=='0'then
Dt(B,E)
end
end
end
local function Bh()
local Ac=call('ZREVRANGE',Q,0,0,'WITHSCORES')[2]
for _,Am in ipairs({V,Q,W,Ag})do
call('PEXPIREAT',Am,Ac)
end
end
local function Es(G)
local Da,Ac=false,call('ZREVRANGE',Q,0,0,'WITHSCORES')
while Ac[1]and M>0 do
local S=Ac[1]
local _,_,_,I,_,L=Aw(call('HGET',W,sub(S,-32))or'')
local Z=L and G+L+(#S>32 and I or 0)
if not Z or tonumber(Ac[2])<=Z then
break
end
call('PEXPIREAT',V,Ac[2])
call('ZADD',Q,Z,S)
Da,M,Ac=true,M-3,call('ZREVRANGE',Q,0,0,'WITHSCORES')
end
if Da then
Bh()
end
return Ac[2]
end
local function Fc(G)
local Ac=Es(G)
if not Ac or tonumber(Ac)<=G then
Cy()
return false
end
local Z=math.max(1,math.ceil(M/3))
local Aq=call('ZRANGEBYSCORE',Q,'-inf',G,'LIMIT',0,Z)
if Aq[1]then
call('ZREM',Q,unpack(Aq))
Bn=#Aq==Z
M=M-3*#Aq
end
for _,S in ipairs(Aq)do
Dd(S)
end
return true
end
local function Dv(G,B)
local A=Fd(Fk())
if A and A.D and A.D.Bx then
call('PEXPIRE',V,A.D.Ad)
end
if A and A.K and not A.D then
if not Fc(G)then
return{}
end
if Bn and B then
for _,S in ipairs({B,'~'..B})do
local De=call('ZSCORE',Q,S)
if De and tonumber(De)<=G then
call('ZREM',Q,S)
Dd(S)
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
return A.K and call('ZSCORE',Q,B)
end
local function Ch(B,Eb,I)
call('ZADD',Q,Eb,B)
if I>0 then
call('ZADD',Q,Eb+I,'~'..B)
end
end
local function Ek(A,B,L,G)
local Ak=A.D and A.D.E or call('HGET',W,B)
local E=Fn(Ak,L)
local F,_,_,I,H=Aw(E)
I=tonumber(I)
call('PEXPIRE',V,L+I)
if A.D then
if E~=Ak then
call('SET',V,B..A.D.Ao..E,'PX',L+I)
end
return F,H
end
if E~=Ak then
call('HSET',W,B,E)
end
Ch(B,G+L,I)
Bh()
return F,H
end
local function Dj(G)
return call('ZRANGEBYSCORE',Q,'('..string.format('%.0f',G),'+inf','LIMIT',0,1)[1]
end
local function Eh(S,G)
local B=sub(S,-32)
local Bb=call('ZSCORE',Q,B)
local Ad=call('ZSCORE',Q,'~'..B)or Bb
local A=Bb and'holding'or'closed'
return sub(B,1,8),A,(Bb or Ad)-G,Ad-G,Cu(call('HGET',W,B))
end
local function Cx(C,A)
local J,K=C.J,A.K
if not K then
return'fits'
end
if not Bn and Br(A,C.H)>0 then
if K=='x'and J=='x'and C.Ar or K=='s'and J=='s'then
return'passes'
elseif K=='x'then
return'deadlock','x',1
elseif J=='x'then
local R=call('HGET',Ag,'p'..C.H)
return'deadlock',K,R and R..'/'..Cd(A)or 1
end
end
if J=='x'or K=='x'then
return'in_the_way'
end
if J~=K then
local X=Dj(Dr(Bt()))
local Cq=match(call('HGET',W,sub(X,-32)),'^%d+ %a (%S+)')
return'mismatch',K,sub(Cq,1,21)
end
if K=='s'then
return'fits'
end
local P,Et,X,Ab=C.P,Cd(A)
if Ab and P~=X and P~=Ab then
return'in_the_way'
end
local Cq=call('HGET',Ag,'used')or 0
return Cq+C.R<=math.min(P,Et)and'fits'or'in_the_way'
end
local function Di(A)
local F=A.F or Ev()
return F and(A.F or string.format('%.0f',F))
end
local function Ex()
return Bo('the fence counter is not a number that can grow')
end
local function Cz()
if call('ZCARD',Q)+call('HLEN',W)+call('HLEN',Ag)>0 then
call('UNLINK',Q,W,Ag)
end
end
local function Eg(D,G)
Cz()
call('SET',V,'*x'..D.F,'PX',D.Ad)
call('HSET',W,D.B,D.E)
Ch(D.B,G+D.Y,D.I)
Ap('o'..D.H,1)
end
local function Ej(C,F)
local L,I,E=C.L,C.I,F..' '..C.E
call('SET',V,C.B..C.Ao..E,'PX',L+I)
local D={
B=C.B,Bf=false,Ao=C.Ao,E=E,F=F,I=I,
H=C.H,Al=true,Ad=L+I,Y=L,
}
return{K='x',O='',D=D,F=F}
end
local function Ey(P,A)
local _,X,Ab=Cd(A)
if P~=X then
Ab=P
end
local O=Ab and X..'/'..Ab or X
if O~=A.O then
call('SET',V,'*p'..O,'KEEPTTL')
end
if P~=X then
Ap('c'..P,1)
end
return O
end
local function Dg(C,A,F,G)
local B,H=C.B,C.H
if F~=A.F then
Er(tonumber(F))
end
if not A.K and C.J=='x'then
return Ej(C,F)
end
if A.D then
Eg(A.D,G)
elseif not A.K then
Cz()
call('SET',V,'*'..C.J..C.P,'PX',C.L+C.I)
end
local O=C.P
if A.K=='p'then
O=Ey(O,A)
end
Ch(B,G+C.L,C.I)
call('HSET',W,B,F..' '..C.E)
if C.J=='p'then
Ap('used',C.R)
end
if H~=''then
Ap('o'..H,1)
if C.J=='p'then
Ap('p'..H,C.R)
end
end
if C.J=='x'then
return{K='x',O=F,F=F}
end
return{K=C.J,O=O}
end
local function Au(B)
if call('ZREM',Aa,B,'!'..B)==0 then
return false
end
call('HDEL',Ae,B)
return call('ZREM',T,B)==1
end
local function Dy()
return match(call('HGET',Ae,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function Cs(G)
if call('EXISTS',Aa)==0 then
return false
end
local Z=math.max(1,M)
local Aq=call('ZRANGEBYSCORE',Aa,'-inf',G,'LIMIT',0,Z)
Bm=#Aq==Z
M=M-#Aq
for _,S in ipairs(Aq)do
local B=match(S,'^!(.*)')
if not B then
Au(S)
else
local Ax=call('ZSCORE',Aa,B)
if Ax and tonumber(Ax)>G then
local At=match(call('HGET',Ae,B)or'','^%d+ %d %S+ (%d+)')
local Ct=At and call('ZSCORE',Aa,S)-At
Bi=Bi or Ct and Ct>=tonumber((Dy()))
end
call('ZREM',Aa,S)
end
end
return true
end
local function Fh(B,Ay)
local Af,Cc,N,At,As,Ar,E=match(
Ay or'','^(%d+) ([01]) (%S+) (%d+) (%d+) ([01]) (.*)$'
)
if not N then
return nil
end
local J,R,I,H,Cn=match(E,'^(%a) ([%d/]+) (%d+)/?%d* (%S*) (.*)$')
if not R then
return nil
end
local Fm,P=match(R,'^(%d+)/?(%d*)$')
local Db=I~='0'
return{
B=B,J=J,Ar=Ar=='1',R=Fm,P=P,H=H,
E=string.format('%s %s %s%s/%s %s ',J,R,Db and'!'or'',I,At,H)..Cn,
L=tonumber(At),I=0,Ao=Db and'+'or'-',N=N,Af=tonumber(Af),
As=tonumber(As),Cc=Cc=='1',
}
end
local function Bv(N,Be)
local Bc=Cp('PUBLISH',N,Be)
return type(Bc)~='number'or Bc>0
end
local function Dn(B)
return match(call('HGET',Ae,B)or'','^%d+ %d (%S+)')
end
local function Dx(An,Be)
local By,Bd=8,nil
for _,B in ipairs(call('ZRANGE',T,0,By))do
if B~=An and By>0 then
By=By-1
local N=Dn(B)
if N and Bv(N,Be..B)then
Bd=N
break
end
end
end
local Ai=call('ZREVRANGE',T,0,0)[1]
local N=Ai and Ai~=An and Dn(Ai)
if N and N~=Bd then
Bv(N,Be..Ai)
end
end
local function Ed(An,G,Ak)
local Dp=call('ZREVRANGE',Aa,0,0,'WITHSCORES')[2]
if not Dp then
return
end
local Ec=0
for _,B in ipairs(call('ZRANGE',T,0,319))do
local Af,N=match(call('HGET',Ae,B)or'','^(%d+) %d (%S+)')
if N then
Ec=Af
if B~=An then
Bv(N,'!'..B)
end
end
end
call('HSET',Ae,'?',string.format('%.0f %s %s',G,Ec,Ak))
call('PEXPIREAT',Ae,Dp)
end
local function Cf(A,G,An)
local Cv,Du,Co,Ck=Bi,false,false,false
local Fi,Ee,Bg,Ba=Dy()
if Cv then
M=math.max(5,M-260)
Bi,Bg,Ba=false,Fi,Ee
end
M=math.max(5,M)
local Ak=Bg..' '..Ba
Bg,Ba=tonumber(Bg),tonumber(Ba)
local Bj,at,Dw,Bk,Aj={},0,0,0,{}
while true do
if A.D and A.D.H==''then
break
end
at=at+1
if at>Dw then
if Aj[1]then
call('ZREM',T,unpack(Aj))
Aj={}
end
local Z=math.min(math.max(Bk,1),64)
Bj=call('ZRANGE',T,0,Z)
if not Bj[1]then
break
end
Dw,at=math.min(#Bj,Z),1
end
local Ah,Ew=Bj[at],Bj[at+1]
local Ay=call('HGET',Ae,Ah)
local C=Fh(Ah,Ay)
local Cl=math.floor(#(Ay or'')/256)
local Ax=C and(Bm or C.Af<=Ba)and call('ZSCORE',Aa,Ah)
if not C or Bm and Ax and tonumber(Ax)<=G then
if M<=0 then
Ck=true
break
end
M=M-1-Cl
Aj[#Aj+1]=Ah
Au(Ah)
else
local Av=Cx(C,A)
Dm=true
local F=(Av=='fits'or Av=='passes')and Di(A)
if not F then
break
end
if M<=0 then
Ck=true
break
end
if Bk==0 then
call('ZREM',T,Ah)
else
Aj[#Aj+1]=Ah
end
local Bc=Ah==An
local Eo=C.Af<=Ba and Ax
if not Bc and not(Eo and Ax-C.As<Bg)then
Bc=Bv(C.N,Ah)or C.Cc
end
if not Bc then
M,Bk=M-1-Cl,Bk+1
else
M,Bk=M-5-Cl,0
if Aj[1]then
call('ZREM',T,unpack(Aj))
Aj={}
end
if Ah==An then
Au(Ah)
else
call('ZADD',Aa,G+C.L,'!'..Ah)
Co=true
end
if Ew or Co then
C.Ao='+'
end
A=Dg(C,A,F,G)
Du=true
end
end
end
if Aj[1]then
call('ZREM',T,unpack(Aj))
end
if Cv then
Ed(An,G,Ak)
elseif Ck then
Dx(An,'!')
elseif Co then
Dx(An,'?')
end
if Du and not A.D then
Bh()
end
return A
end
local G=Dr(Bt())
local function Fg(X)
local Bw,Bl=ARGV[X],X
while ARGV[Bl+1]==''do
Bl=Bl-4
end
local Ad,E,Fo=unpack(ARGV,Bl+1,Bl+3)
local J,R,P,I,H=match(E,'^(%a) (%d+)/?(%d*) (%d+)/?%d* (%S*) ')
local Ar,N,At,As,Z,Cm=
match(Fo,'^([01]) ?(%S*) ?(%d*) ?(%d*) ?(%d*) ?(%d*)$')
return{
B=sub(Bw,1,32),J=J,Ar=Ar=='1',R=R,P=P,
L=Ad-I,I=tonumber(I),H=H,E=E,Ao=sub(Bw,33),
N=N~=''and N,At=At,As=tonumber(As),Z=tonumber(Z),
Cm=tonumber(Cm),
}
end
local function Dl(A,F,H)
return{'granted',F,math.max(1,Br(A,H))}
end
local function Cw(A,B)
if A.D then
return A.D.B==B
end
return A.K and call('HGET',W,B)
end
local function Ci(Ca,C,A,Eq)
local D,Bd=A.D,nil
if D then
local Cg=D.Al and'holding'or'closed'
Bd={sub(D.B,1,8),Cg,D.Y,D.Ad,D.E}
else
local R=C.J=='p'and A.K=='p'
local S=Eq and'~'..C.B
or R and Dj(G)
or call('ZREVRANGE',Q,0,0)[1]
local Fb,Cg,Y,Ad,E=Eh(S,G)
if R and Bn then
Ad=0
end
Bd={Fb,Cg,Y,Ad,E}
end
for _,Bq in ipairs(Bd)do
Ca[#Ca+1]=Bq
end
return Ca
end
local function Dk(C,A)
if Au(C.B)then
Cf(A,G)
end
end
local function Dq(A)
if A.D and A.D.Ao=='-'and not A.D.Bf then
call('SETRANGE',V,32,'+')
end
end
local Cj=0
local function Df(C,A)
local Ai=call('ZREVRANGE',T,0,0,'WITHSCORES')[2]or 0
local O=C.Cm
if not O then
Cj=math.max(Ai+1,Cj+1,Bt())
O=Cj
end
local Af=string.format('%.0f',O)
call('ZADD',T,Af,C.B)
local Ar=C.Ar and'1'or'0'
local Fq={Af,'0',C.N,C.At,C.As,Ar,C.E}
call('HSET',Ae,C.B,table.concat(Fq,' '))
Dq(A)
end
local function Ef(B,A)
if call('ZSCORE',T,B)or not call('ZSCORE',Aa,B)or Al(A,B)
or Cw(A,B)then
return
end
local Ay=call('HGET',Ae,B)
if not Ay then
Au(B)
return
end
call('ZREM',Aa,'!'..B)
local Af,Cn=match(Ay,'^(%d+) %d (.*)$')
call('HSET',Ae,B,Af..' 1 '..Cn)
call('ZADD',T,Af,B)
call('PEXPIREAT',T,call('ZREVRANGE',Aa,0,0,'WITHSCORES')[2])
Dq(A)
end
local function Ds(C)
call('ZADD',Aa,G+C.As,C.B)
local Ac=call('ZREVRANGE',Aa,0,0,'WITHSCORES')[2]
for _,Am in ipairs({T,Ae,Aa})do
call('PEXPIREAT',Am,Ac)
end
end
local function Fp(C,A,Az)
local Bz=call('ZRANK',T,C.B)
if Bz then
call('PEXPIRE',T,C.As)
elseif Az>=C.Z and not Bm then
return{'full',Az}
else
Df(C,A)
Bz=call('ZRANK',T,C.B)
end
Ds(C)
return Ci({'queued',Bz},C,A)
end
local function Fl(C,A,F)
local Cr=Dg(C,A,F,G)
if not Cr.D then
Bh()
end
return Dl(Cr,F,C.H)
end
local function Fr(C)
local B=C.B
local A=Dv(G,B)
if not A then
return Bo()
end
if A.D and A.D.Ad<0 then
return Bo('a lock without an end')
end
local Az=0
local Dz=Cs(G)
if Dz then
Ef(B,A)
A=Cf(A,G,B)
Az=call('ZCARD',T)
end
if Al(A,B)then
local F,H=Ek(A,B,C.L,G)
if Dz then
Au(B)
end
return Dl(A,F,H)
end
if Cw(A,B)then
return Ci({'refused'},C,A,true)
end
local Av,Em,En=Cx(C,A)
if Av=='deadlock'or Av=='mismatch'then
Dk(C,A)
return{Av,Em,En}
end
if Av=='passes'or Av=='fits'and(Az==0 or not A.K)then
local F=Di(A)
if not F then
return Ex()
end
if Az>0 then
Au(B)
end
return Fl(C,A,F)
end
if C.N then
return Fp(C,A,Az)
end
local Fe=Ci({'refused'},C,A)
Dk(C,A)
return Fe
end
local function Ez(A,B,E)
if A.D then
call('DEL',V)
return{}
end
call('ZREM',Q,B,'~'..B)
Dc(E)
Dt(B,E)
if call('ZCARD',Q)==0 then
Cy()
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
local Y=Br(A,Ep)
return Y>0 and{'still_held',Y}or 1,A
end
on(KEYS[1])
local C=Fg(2)
local A=Dv(G,C.B)
if not A then
return{ARGV[1],Bo()}
end
Cs(G)
local _
_,A=Ff(A,C.B,C.H,Ez)
Df(C,A)
Ds(C)
Cf(A,G)
return{ARGV[1],1}
