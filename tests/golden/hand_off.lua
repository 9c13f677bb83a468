local call,Cs,match,sub=redis.call,redis.pcall,string.match,string.sub
local Bl=ARGV[6]
local Ce
local function Bx()
if not Ce then
local Ef=call('TIME')
Ce=Ef[1]*1000000+Ef[2]
end
return Ce
end
local function Du(us)
return math.floor(us/1000)
end
local Bt,Ai,Dr,at,Dj=KEYS[#KEYS]..'fence',nil,0,nil,nil
local Do=false
local function Dv(i)
if not Ai then
local Ak=tonumber(Cs('GET',Bt)or 0)
if not Ak or not(Ak<9000000000000000)then
return nil
end
Ai=math.max(Ak,Bx()-1)
end
return Dj and math.max(Ai+1,Dj+(i or at))or Ai+1
end
local function Dq(D)
if D>Dr then
local Ch=D+#KEYS-2
if ARGV[#ARGV]=='0'or Do and call('PTTL',Bt)==-1 then
call('SET',Bt,Ch)
else
call('SET',Bt,Ch,'PX',ARGV[#ARGV])
end
Dr=Ch
end
Ai=D
end
local T=call('GET',KEYS[1])
if
T
and#ARGV[2]==33
and sub(T,1,32)==Bl
and string.find(T,'^[-+]%d+ x 1 0[/ ]',33)
and call('EXISTS',KEYS[1]..':p')==0
then
local D=Dv()
if D and pcall(Dq,D)then
call('SET',KEYS[1],ARGV[2]..string.format('%.0f',D)..' '..ARGV[4],'PX',ARGV[3])
return{ARGV[1],1,D,0}
end
end
local V,R,W,Ag,P,Ae,Aa
local M,Br,Bq,Bk=320,false,false,false
local function on(Am)
M,Br,Bq,Bk=math.max(M,5),false,false,false
V,R,W,Ag=Am,Am..':h',Am..':d',Am..':o'
P,Ae,Aa=Am..':q',Am..':w',Am..':p'
end
local function Bs(Bf)
return{'corrupt',Bf or'a value that is no lock'}
end
local function Aw(F)
local D,K,S,Q,Fg,I,L,H=
match(F,'^(%d+) (%a) (%d+)/?(%d*) (!?)(%d+)/?(%d*) (%S*) ')
return D,K,S,Fg==''and I or'0',H,tonumber(L),Q
end
local Bw=12000
local function Fr()
local T=Cs('GETRANGE',V,0,Bw+99)
if type(T)~='string'then
return call('GET',V)
end
return(T~=''or call('EXISTS',V)==1)and T
end
local function Cx(F)
if not F or#F<=Bw then
return F
end
local Bz=match(sub(F,1,Bw),'^%d* %a [%d/]+ !?%d+/?%d* %S* ')
return(Bz or'')..'{"cut":"longer than '..Bw..' bytes"}'
end
local function Ft(F,L)
return(string.gsub(F,'^(%d+ %a [%d/]+ )!?(%d+)/?%d* ','%1%2/'..L..' '))
end
local function Fb(T)
if#T<=32 then
if T=='*s'or match(T,'^%*[xp]%d+$')or match(T,'^%*p%d+/%d+$')then
return sub(T,2,2),sub(T,3)
end
end
end
local function Fq(T)
local Bh,B,An,Bl=match(T,'^(~?)(%x+)([-+])()')
if not B or#B~=32 then
return nil
end
local F=Cx(sub(T,Bl))
local D,K,_,I,H,L=Aw(F)
if K~='x'then
return nil
end
local Y=call('PTTL',V)
I=tonumber(I)
local Ca=L and Y>L+I
Y=Ca and L+I or Y
local Al=Bh==''and Y>I
return{
B=B,Bh=Bh~='',An=An,F=F,D=D,I=I,H=H,
Al=Al,Ad=Y,Y=Al and Y-I or Y,Ca=Ca,
}
end
local function Fj(T)
if not T then
return{}
end
if sub(T,1,1)~='*'then
local E=Fq(T)
return E and{J='x',O='',E=E,D=E.D}
end
local J,O=Fb(T)
return J and{J=J,O=O,D=J=='x'and O or nil}
end
local function Ap(Bu,by)
local O=call('HINCRBY',Ag,Bu,by)
if O<=0 then
call('HDEL',Ag,Bu)
end
end
local function Cg(A)
local X,Ab=match(A.O,'^(%d*)/?(%d*)$')
local Bc=tonumber(Ab~=''and call('HGET',Ag,'c'..Ab)or 0)
if Bc>0 and Bc==call('HLEN',W)then
X,Bc=Ab,0
end
Ab=Bc>0 and Ab
return math.min(X,Ab or X),X,Ab
end
local function Bv(A,H)
if H==''then
return 0
end
if A.E then
return A.E.Al and A.E.H==H and 1 or 0
end
return tonumber(call('HGET',Ag,'o'..H)or 0)
end
local function Df(F)
local _,K,S,_,H=Aw(F)
if H~=''then
Ap('o'..H,-1)
if K=='p'then
Ap('p'..H,-S)
end
end
end
local function Dx(B,F)
local _,K,S,_,_,_,Q=Aw(F)
if K=='p'then
Ap('used',-S)
if call('HGET',Ag,'c'..Q)then
Ap('c'..Q,-1)
end
end
call('HDEL',W,B)
end
local function Db()
call('UNLINK',V,R,W,Ag)
end
local function Dg(U)
local B=sub(U,-32)
local F=call('HGET',W,B)
local Bb=U==B
if F then
local _,_,_,I=Aw(F)
if Bb then
Df(F)
end
if not Bb or I=='0'then
Dx(B,F)
end
end
end
local function Bj()
local Ac=call('ZREVRANGE',R,0,0,'WITHSCORES')[2]
for _,Am in ipairs({V,R,W,Ag})do
call('PEXPIREAT',Am,Ac)
end
end
local function Ez(G)
local Dd,Ac=false,call('ZREVRANGE',R,0,0,'WITHSCORES')
while Ac[1]and M>0 do
local U=Ac[1]
local _,_,_,I,_,L=Aw(call('HGET',W,sub(U,-32))or'')
local Z=L and G+L+(#U>32 and I or 0)
if not Z or tonumber(Ac[2])<=Z then
break
end
call('PEXPIREAT',V,Ac[2])
call('ZADD',R,Z,U)
Dd,M,Ac=true,M-3,call('ZREVRANGE',R,0,0,'WITHSCORES')
end
if Dd then
Bj()
end
return Ac[2]
end
local function Fi(G)
local Ac=Ez(G)
if not Ac or tonumber(Ac)<=G then
Db()
return false
end
local Z=math.max(1,math.ceil(M/3))
local Aq=call('ZRANGEBYSCORE',R,'-inf',G,'LIMIT',0,Z)
if Aq[1]then
call('ZREM',R,unpack(Aq))
Br=#Aq==Z
M=M-3*#Aq
end
for _,U in ipairs(Aq)do
Dg(U)
end
return true
end
local function Dz(G,B)
local A=Fj(Fr())
if A and A.E and A.E.Ca then
call('PEXPIRE',V,A.E.Ad)
end
if A and A.J and not A.E then
if not Fi(G)then
return{}
end
if Br and B then
for _,U in ipairs({B,'~'..B})do
local Dh=call('ZSCORE',R,U)
if Dh and tonumber(Dh)<=G then
call('ZREM',R,U)
Dg(U)
end
end
end
end
return A
end
local function Al(A,B)
if A.E then
return A.E.Al and A.E.B==B
end
return A.J and call('ZSCORE',R,B)
end
local function Ck(B,Eg,I)
call('ZADD',R,Eg,B)
if I>0 then
call('ZADD',R,Eg+I,'~'..B)
end
end
local function Et(A,B,L,G)
local Ak=A.E and A.E.F or call('HGET',W,B)
local F=Ft(Ak,L)
local D,_,_,I,H=Aw(F)
I=tonumber(I)
call('PEXPIRE',V,L+I)
if A.E then
if F~=Ak then
call('SET',V,B..A.E.An..F,'PX',L+I)
end
return D,H
end
if F~=Ak then
call('HSET',W,B,F)
end
Ck(B,G+L,I)
Bj()
return D,H
end
local function Dk(G)
return call('ZRANGEBYSCORE',R,'('..string.format('%.0f',G),'+inf','LIMIT',0,1)[1]
end
local function Eo(U,G)
local B=sub(U,-32)
local Bb=call('ZSCORE',R,B)
local Ad=call('ZSCORE',R,'~'..B)or Bb
local A=Bb and'holding'or'closed'
return sub(B,1,8),A,(Bb or Ad)-G,Ad-G,Cx(call('HGET',W,B))
end
local function Da(C,A)
local K,J=C.K,A.J
if not J then
return'fits'
end
if not Br and Bv(A,C.H)>0 then
if J=='x'and K=='x'and C.Ar or J=='s'and K=='s'then
return'passes'
elseif J=='x'then
return'deadlock','x',1
elseif K=='x'then
local S=call('HGET',Ag,'p'..C.H)
return'deadlock',J,S and S..'/'..Cg(A)or 1
end
end
if K=='x'or J=='x'then
return'in_the_way'
end
if K~=J then
local X=Dk(Du(Bx()))
local Ct=match(call('HGET',W,sub(X,-32)),'^%d+ %a (%S+)')
return'mismatch',J,sub(Ct,1,21)
end
if J=='s'then
return'fits'
end
local Q,Fa,X,Ab=C.Q,Cg(A)
if Ab and Q~=X and Q~=Ab then
return'in_the_way'
end
local Ct=call('HGET',Ag,'used')or 0
return Ct+C.S<=math.min(Q,Fa)and'fits'or'in_the_way'
end
local function Ci(A)
local D=A.D or Dv()
return D and(A.D or string.format('%.0f',D))
end
local function Dw()
return Bs('the fence counter is not a number that can grow')
end
local function Dc()
if call('ZCARD',R)+call('HLEN',W)+call('HLEN',Ag)>0 then
call('UNLINK',R,W,Ag)
end
end
local function En(E,G)
Dc()
call('SET',V,'*x'..E.D,'PX',E.Ad)
call('HSET',W,E.B,E.F)
Ck(E.B,G+E.Y,E.I)
Ap('o'..E.H,1)
end
local function Es(C,D)
local L,I,F=C.L,C.I,D..' '..C.F
call('SET',V,C.B..C.An..F,'PX',L+I)
local E={
B=C.B,Bh=false,An=C.An,F=F,D=D,I=I,
H=C.H,Al=true,Ad=L+I,Y=L,
}
return{J='x',O='',E=E,D=D}
end
local function Fd(Q,A)
local _,X,Ab=Cg(A)
if Q~=X then
Ab=Q
end
local O=Ab and X..'/'..Ab or X
if O~=A.O then
call('SET',V,'*p'..O,'KEEPTTL')
end
if Q~=X then
Ap('c'..Q,1)
end
return O
end
local function Di(C,A,D,G)
local B,H=C.B,C.H
if D~=A.D then
Dq(tonumber(D))
end
if not A.J and C.K=='x'then
return Es(C,D)
end
if A.E then
En(A.E,G)
elseif not A.J then
Dc()
call('SET',V,'*'..C.K..C.Q,'PX',C.L+C.I)
end
local O=C.Q
if A.J=='p'then
O=Fd(O,A)
end
Ck(B,G+C.L,C.I)
call('HSET',W,B,D..' '..C.F)
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
return{J='x',O=D,D=D}
end
return{J=C.K,O=O}
end
local function As(B)
if call('ZREM',Aa,B,'!'..B)==0 then
return false
end
call('HDEL',Ae,B)
return call('ZREM',P,B)==1
end
local function Ed()
return match(call('HGET',Ae,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function Cv(G)
if call('EXISTS',Aa)==0 then
return false
end
local Z=math.max(1,M)
local Aq=call('ZRANGEBYSCORE',Aa,'-inf',G,'LIMIT',0,Z)
Bq=#Aq==Z
M=M-#Aq
for _,U in ipairs(Aq)do
local B=match(U,'^!(.*)')
if not B then
As(U)
else
local Ax=call('ZSCORE',Aa,B)
if Ax and tonumber(Ax)>G then
local Au=match(call('HGET',Ae,B)or'','^%d+ %d %S+ (%d+)')
local Cw=Au and call('ZSCORE',Aa,U)-Au
Bk=Bk or Cw and Cw>=tonumber((Ed()))
end
call('ZREM',Aa,U)
end
end
return true
end
local function Fo(B,Ay)
local Af,Cf,N,Au,At,Ar,F=match(
Ay or'','^(%d+) ([01]) (%S+) (%d+) (%d+) ([01]) (.*)$'
)
if not N then
return nil
end
local K,S,I,H,Cq=match(F,'^(%a) ([%d/]+) (%d+)/?%d* (%S*) (.*)$')
if not S then
return nil
end
local Fs,Q=match(S,'^(%d+)/?(%d*)$')
local De=I~='0'
return{
B=B,K=K,Ar=Ar=='1',S=Fs,Q=Q,H=H,
F=string.format('%s %s %s%s/%s %s ',K,S,De and'!'or'',I,Au,H)..Cq,
L=tonumber(Au),I=0,An=De and'+'or'-',N=N,Af=tonumber(Af),
At=tonumber(At),Cf=Cf=='1',
}
end
local function By(N,Bf)
local Bd=Cs('PUBLISH',N,Bf)
return type(Bd)~='number'or Bd>0
end
local function Dp(B)
return match(call('HGET',Ae,B)or'','^%d+ %d (%S+)')
end
local function Ec(Ao,Bf)
local Cb,Be=8,nil
for _,B in ipairs(call('ZRANGE',P,0,Cb))do
if B~=Ao and Cb>0 then
Cb=Cb-1
local N=Dp(B)
if N and By(N,Bf..B)then
Be=N
break
end
end
end
local Ai=call('ZREVRANGE',P,0,0)[1]
local N=Ai and Ai~=Ao and Dp(Ai)
if N and N~=Be then
By(N,Bf..Ai)
end
end
local function Ek(Ao,G,Ak)
local Ds=call('ZREVRANGE',Aa,0,0,'WITHSCORES')[2]
if not Ds then
return
end
local Eh=0
for _,B in ipairs(call('ZRANGE',P,0,319))do
local Af,N=match(call('HGET',Ae,B)or'','^(%d+) %d (%S+)')
if N then
Eh=Af
if B~=Ao then
By(N,'!'..B)
end
end
end
call('HSET',Ae,'?',string.format('%.0f %s %s',G,Eh,Ak))
call('PEXPIREAT',Ae,Ds)
end
local function Dn(A,G,Ao)
local Cy,Dy,Cr,Cn=Bk,false,false,false
local Fp,El,Bi,Ba=Ed()
if Cy then
M=math.max(5,M-260)
Bk,Bi,Ba=false,Fp,El
end
M=math.max(5,M)
local Ak=Bi..' '..Ba
Bi,Ba=tonumber(Bi),tonumber(Ba)
local Bm,at,Ea,Bn,Aj={},0,0,0,{}
while true do
if A.E and A.E.H==''then
break
end
at=at+1
if at>Ea then
if Aj[1]then
call('ZREM',P,unpack(Aj))
Aj={}
end
local Z=math.min(math.max(Bn,1),64)
Bm=call('ZRANGE',P,0,Z)
if not Bm[1]then
break
end
Ea,at=math.min(#Bm,Z),1
end
local Ah,Fc=Bm[at],Bm[at+1]
local Ay=call('HGET',Ae,Ah)
local C=Fo(Ah,Ay)
local Co=math.floor(#(Ay or'')/256)
local Ax=C and(Bq or C.Af<=Ba)and call('ZSCORE',Aa,Ah)
if not C or Bq and Ax and tonumber(Ax)<=G then
if M<=0 then
Cn=true
break
end
M=M-1-Co
Aj[#Aj+1]=Ah
As(Ah)
else
local Av=Da(C,A)
Do=true
local D=(Av=='fits'or Av=='passes')and Ci(A)
if not D then
break
end
if M<=0 then
Cn=true
break
end
if Bn==0 then
call('ZREM',P,Ah)
else
Aj[#Aj+1]=Ah
end
local Bd=Ah==Ao
local Ew=C.Af<=Ba and Ax
if not Bd and not(Ew and Ax-C.At<Bi)then
Bd=By(C.N,Ah)or C.Cf
end
if not Bd then
M,Bn=M-1-Co,Bn+1
else
M,Bn=M-5-Co,0
if Aj[1]then
call('ZREM',P,unpack(Aj))
Aj={}
end
if Ah==Ao then
As(Ah)
else
call('ZADD',Aa,G+C.L,'!'..Ah)
Cr=true
end
if Fc or Cr then
C.An='+'
end
A=Di(C,A,D,G)
Dy=true
end
end
end
if Aj[1]then
call('ZREM',P,unpack(Aj))
end
if Cy then
Ek(Ao,G,Ak)
elseif Cn then
Ec(Ao,'!')
elseif Cr then
Ec(Ao,'?')
end
if Dy and not A.E then
Bj()
end
return A
end
local G=Du(Bx())
local function Fn(X)
local Bz,Bp=ARGV[X],X
while ARGV[Bp+1]==''do
Bp=Bp-4
end
local Ad,F,Fu=unpack(ARGV,Bp+1,Bp+3)
local K,S,Q,I,H=match(F,'^(%a) (%d+)/?(%d*) (%d+)/?%d* (%S*) ')
local Ar,N,Au,At,Z,Cp=
match(Fu,'^([01]) ?(%S*) ?(%d*) ?(%d*) ?(%d*) ?(%d*)$')
return{
B=sub(Bz,1,32),K=K,Ar=Ar=='1',S=S,Q=Q,
L=Ad-I,I=tonumber(I),H=H,F=F,An=sub(Bz,33),
N=N~=''and N,Au=Au,At=tonumber(At),Z=tonumber(Z),
Cp=tonumber(Cp),
}
end
local function Dm(A,D,H)
return{'granted',D,math.max(1,Bv(A,H))}
end
local function Cz(A,B)
if A.E then
return A.E.B==B
end
return A.J and call('HGET',W,B)
end
local function Cl(Cd,C,A,Ey)
local E,Be=A.E,nil
if E then
local Cj=E.Al and'holding'or'closed'
Be={sub(E.B,1,8),Cj,E.Y,E.Ad,E.F}
else
local S=C.K=='p'and A.J=='p'
local U=Ey and'~'..C.B
or S and Dk(G)
or call('ZREVRANGE',R,0,0)[1]
local Fh,Cj,Y,Ad,F=Eo(U,G)
if S and Br then
Ad=0
end
Be={Fh,Cj,Y,Ad,F}
end
for _,Bu in ipairs(Be)do
Cd[#Cd+1]=Bu
end
return Cd
end
local function Dl(C,A)
if As(C.B)then
Dn(A,G)
end
end
local function Dt(A)
if A.E and A.E.An=='-'and not A.E.Bh then
call('SETRANGE',V,32,'+')
end
end
local Cm=0
local function Er(C,A)
local Ai=call('ZREVRANGE',P,0,0,'WITHSCORES')[2]or 0
local O=C.Cp
if not O then
Cm=math.max(Ai+1,Cm+1,Bx())
O=Cm
end
local Af=string.format('%.0f',O)
call('ZADD',P,Af,C.B)
local Ar=C.Ar and'1'or'0'
local Fw={Af,'0',C.N,C.Au,C.At,Ar,C.F}
call('HSET',Ae,C.B,table.concat(Fw,' '))
Dt(A)
end
local function Em(B,A)
if call('ZSCORE',P,B)or not call('ZSCORE',Aa,B)or Al(A,B)
or Cz(A,B)then
return
end
local Ay=call('HGET',Ae,B)
if not Ay then
As(B)
return
end
call('ZREM',Aa,'!'..B)
local Af,Cq=match(Ay,'^(%d+) %d (.*)$')
call('HSET',Ae,B,Af..' 1 '..Cq)
call('ZADD',P,Af,B)
call('PEXPIREAT',P,call('ZREVRANGE',Aa,0,0,'WITHSCORES')[2])
Dt(A)
end
local function Fk(C)
call('ZADD',Aa,G+C.At,C.B)
local Ac=call('ZREVRANGE',Aa,0,0,'WITHSCORES')[2]
for _,Am in ipairs({P,Ae,Aa})do
call('PEXPIREAT',Am,Ac)
end
end
local function Fv(C,A,Az)
local Cc=call('ZRANK',P,C.B)
if Cc then
call('PEXPIRE',P,C.At)
elseif Az>=C.Z and not Bq then
return{'full',Az}
else
Er(C,A)
Cc=call('ZRANK',P,C.B)
end
Fk(C)
return Cl({'queued',Cc},C,A)
end
local function Eb(C,A,D)
local Cu=Di(C,A,D,G)
if not Cu.E then
Bj()
end
return Dm(Cu,D,C.H)
end
local function Ej(C)
local B=C.B
local A=Dz(G,B)
if not A then
return Bs()
end
if A.E and A.E.Ad<0 then
return Bs('a lock without an end')
end
local Az=0
local Ee=Cv(G)
if Ee then
Em(B,A)
A=Dn(A,G,B)
Az=call('ZCARD',P)
end
if Al(A,B)then
local D,H=Et(A,B,C.L,G)
if Ee then
As(B)
end
return Dm(A,D,H)
end
if Cz(A,B)then
return Cl({'refused'},C,A,true)
end
local Av,Eu,Ev=Da(C,A)
if Av=='deadlock'or Av=='mismatch'then
Dl(C,A)
return{Av,Eu,Ev}
end
if Av=='passes'or Av=='fits'and(Az==0 or not A.J)then
local D=Ci(A)
if not D then
return Dw()
end
if Az>0 then
As(B)
end
return Eb(C,A,D)
end
if C.N then
return Fv(C,A,Az)
end
local Fl=Cl({'refused'},C,A)
Dl(C,A)
return Fl
end
local function Fe(A,B,F)
if A.E then
call('DEL',V)
return{}
end
call('ZREM',R,B,'~'..B)
Df(F)
Dx(B,F)
if call('ZCARD',R)==0 then
Db()
return{}
end
Bj()
return A
end
local function Fm(A,B,H,Eq)
As(B)
if not Al(A,B)then
return{'not_held',Bv(A,H)},A
end
local F=A.E and A.E.F or call('HGET',W,B)
local _,_,_,_,Ex=Aw(F)
A=Eq(A,B,F)
local Y=Bv(A,Ex)
return Y>0 and{'still_held',Y}or 1,A
end
on(KEYS[1])
local function Ff(C)
local D=Ci({})
if not D then
return Dw()
end
As(C.B)
if call('EXISTS',P)==1 then
C.An='+'
end
return Eb(C,{},D)
end
local function Ei(Bo,A)
local C=Fn(2)
if ARGV[8]=='1'and Bo==1 and not A.J then
return Ff(C)
end
return Ej(C)
end
local A=Dz(G,Bl)
if not A then
return{ARGV[1],Bs()}
end
Cv(G)
local Bo
Bo,A=Fm(A,Bl,ARGV[7],Fe)
local Ep,Bg=pcall(Ei,Bo,A)
if not Ep then
Bg={'error',type(Bg)=='table'and Bg.err or Bg}
end
local Bc=call('ZCARD',P)-(call('ZSCORE',P,sub(ARGV[2],1,32))and 1 or 0)
return{ARGV[1],Bo,Bg,Bc>0 and 1 or 0}
