local call,Cs,match,sub=redis.call,redis.pcall,string.match,string.sub
local Bl=ARGV[6]
local Ce
local function Bx()
if not Ce then
local Ee=call('TIME')
Ce=Ee[1]*1000000+Ee[2]
end
return Ce
end
local function Dt(us)
return math.floor(us/1000)
end
local Bt,Ai,Dq,at,Di=KEYS[#KEYS]..'fence',nil,0,nil,nil
local Dn=false
local function Du(i)
if not Ai then
local Ak=tonumber(Cs('GET',Bt)or 0)
if not Ak or not(Ak<9000000000000000)then
return nil
end
Ai=math.max(Ak,Bx()-1)
end
return Di and math.max(Ai+1,Di+(i or at))or Ai+1
end
local function Dp(D)
if D>Dq then
local Ch=D+#KEYS-2
if ARGV[#ARGV]=='0'or Dn and call('PTTL',Bt)==-1 then
call('SET',Bt,Ch)
else
call('SET',Bt,Ch,'PX',ARGV[#ARGV])
end
Dq=Ch
end
Ai=D
end
local V=call('GET',KEYS[1])
if
V
and#ARGV[2]==33
and sub(V,1,32)==Bl
and string.find(V,'^[-+]%d+ x 1 0[/ ]',33)
and call('EXISTS',KEYS[1]..':p')==0
then
local D=Du()
if D and pcall(Dp,D)then
call('SET',KEYS[1],ARGV[2]..string.format('%.0f',D)..' '..ARGV[4],'PX',ARGV[3])
return{ARGV[1],1,D,0}
end
end
local U,R,X,Ac,P,Af,Aa
local N,Br,Bq,Bk=320,false,false,false
local function on(Am)
N,Br,Bq,Bk=math.max(N,5),false,false,false
U,R,X,Ac=Am,Am..':h',Am..':d',Am..':o'
P,Af,Aa=Am..':q',Am..':w',Am..':p'
end
local function Bs(Bf)
return{'corrupt',Bf or'a value that is no lock'}
end
local function Aw(F)
local D,K,T,Q,Fg,I,M,H=
match(F,'^(%d+) (%a) (%d+)/?(%d*) (!?)(%d+)/?(%d*) (%S*) ')
return D,K,T,Fg==''and I or'0',H,tonumber(M),Q
end
local Bw=12000
local function Fr()
local V=Cs('GETRANGE',U,0,Bw+99)
if type(V)~='string'then
return call('GET',U)
end
return(V~=''or call('EXISTS',U)==1)and V
end
local function Cx(F)
if not F or#F<=Bw then
return F
end
local Bz=match(sub(F,1,Bw),'^%d* %a [%d/]+ !?%d+/?%d* %S* ')
return(Bz or'')..'{"cut":"longer than '..Bw..' bytes"}'
end
local function Ft(F,M)
return(string.gsub(F,'^(%d+ %a [%d/]+ )!?(%d+)/?%d* ','%1%2/'..M..' '))
end
local function Fb(V)
if#V<=32 then
local J,L=match(V,'^%*([spx])(%d*/?%d*)$')
if J~='p'or match(L,'^%d')then
return J,L
end
end
end
local function Fq(V)
local Bh,B,An,Bl=match(V,'^(~?)(%x+)([-+])()')
if not B or#B~=32 then
return nil
end
local F=Cx(sub(V,Bl))
local D,K,_,I,H,M=Aw(F)
if K~='x'then
return nil
end
local Y=call('PTTL',U)
I=tonumber(I)
local Ca=M and Y>M+I
Y=Ca and M+I or Y
local Al=Bh==''and Y>I
return{
B=B,Bh=Bh~='',An=An,F=F,D=D,I=I,H=H,
Al=Al,Ae=Y,Y=Al and Y-I or Y,Ca=Ca,
}
end
local function Fj(V)
if not V then
return{}
end
if sub(V,1,1)~='*'then
local E=Fq(V)
return E and{J='x',L='',E=E,D=E.D}
end
local J,L=Fb(V)
return J and{J=J,L=L,D=J=='x'and L or nil}
end
local function Ap(Bu,by)
local L=call('HINCRBY',Ac,Bu,by)
if L<=0 then
call('HDEL',Ac,Bu)
end
end
local function Cg(A)
local W,Ab=match(A.L,'^(%d*)/?(%d*)$')
local Bc=tonumber(Ab~=''and call('HGET',Ac,'c'..Ab)or 0)
if Bc>0 and Bc==call('HLEN',X)then
W,Bc=Ab,0
end
Ab=Bc>0 and Ab
return math.min(W,Ab or W),W,Ab
end
local function Bv(A,H)
if H==''then
return 0
end
if A.E then
return A.E.Al and A.E.H==H and 1 or 0
end
return tonumber(call('HGET',Ac,'o'..H)or 0)
end
local function De(F)
local _,K,T,_,H=Aw(F)
if H~=''then
Ap('o'..H,-1)
if K=='p'then
Ap('p'..H,-T)
end
end
end
local function Dw(B,F)
local _,K,T,_,_,_,Q=Aw(F)
if K=='p'then
Ap('used',-T)
if call('HGET',Ac,'c'..Q)then
Ap('c'..Q,-1)
end
end
call('HDEL',X,B)
end
local function Da()
call('UNLINK',U,R,X,Ac)
end
local function Df(S)
local B=sub(S,-32)
local F=call('HGET',X,B)
local Bb=S==B
if F then
local _,_,_,I=Aw(F)
if Bb then
De(F)
end
if not Bb or I=='0'then
Dw(B,F)
end
end
end
local function Bj()
local Ad=call('ZREVRANGE',R,0,0,'WITHSCORES')[2]
for _,Am in ipairs({U,R,X,Ac})do
call('PEXPIREAT',Am,Ad)
end
end
local function Ez(G)
local Dc,Ad=false,call('ZREVRANGE',R,0,0,'WITHSCORES')
while Ad[1]and N>0 do
local S=Ad[1]
local _,_,_,I,_,M=Aw(call('HGET',X,sub(S,-32))or'')
local Z=M and G+M+(#S>32 and I or 0)
if not Z or tonumber(Ad[2])<=Z then
break
end
call('PEXPIREAT',U,Ad[2])
call('ZADD',R,Z,S)
Dc,N,Ad=true,N-3,call('ZREVRANGE',R,0,0,'WITHSCORES')
end
if Dc then
Bj()
end
return Ad[2]
end
local function Fi(G)
local Ad=Ez(G)
if not Ad or tonumber(Ad)<=G then
Da()
return false
end
local Z=math.max(1,math.ceil(N/3))
local Aq=call('ZRANGEBYSCORE',R,'-inf',G,'LIMIT',0,Z)
if Aq[1]then
call('ZREM',R,unpack(Aq))
Br=#Aq==Z
N=N-3*#Aq
end
for _,S in ipairs(Aq)do
Df(S)
end
return true
end
local function Dy(G,B)
local A=Fj(Fr())
if A and A.E and A.E.Ca then
call('PEXPIRE',U,A.E.Ae)
end
if A and A.J and not A.E then
if not Fi(G)then
return{}
end
if Br and B then
for _,S in ipairs({B,'~'..B})do
local Dg=call('ZSCORE',R,S)
if Dg and tonumber(Dg)<=G then
call('ZREM',R,S)
Df(S)
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
local function Ck(B,Ef,I)
call('ZADD',R,Ef,B)
if I>0 then
call('ZADD',R,Ef+I,'~'..B)
end
end
local function Et(A,B,M,G)
local Ak=A.E and A.E.F or call('HGET',X,B)
local F=Ft(Ak,M)
local D,_,_,I,H=Aw(F)
I=tonumber(I)
call('PEXPIRE',U,M+I)
if A.E then
if F~=Ak then
call('SET',U,B..A.E.An..F,'PX',M+I)
end
return D,H
end
if F~=Ak then
call('HSET',X,B,F)
end
Ck(B,G+M,I)
Bj()
return D,H
end
local function Dj(G)
return call('ZRANGEBYSCORE',R,'('..string.format('%.0f',G),'+inf','LIMIT',0,1)[1]
end
local function Eo(S,G)
local B=sub(S,-32)
local Bb=call('ZSCORE',R,B)
local Ae=call('ZSCORE',R,'~'..B)or Bb
local A=Bb and'holding'or'closed'
return sub(B,1,8),A,(Bb or Ae)-G,Ae-G,Cx(call('HGET',X,B))
end
local function Cz(C,A)
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
local T=call('HGET',Ac,'p'..C.H)
return'deadlock',J,T and T..'/'..Cg(A)or 1
end
end
if K=='x'or J=='x'then
return'in_the_way'
end
if K~=J then
local W=Dj(Dt(Bx()))
local Ct=match(call('HGET',X,sub(W,-32)),'^%d+ %a (%S+)')
return'mismatch',J,sub(Ct,1,20)
end
if J=='s'then
return'fits'
end
local Q,Fa,W,Ab=C.Q,Cg(A)
if Ab and Q~=W and Q~=Ab then
return'in_the_way'
end
local Ct=call('HGET',Ac,'used')or 0
return Ct+C.T<=math.min(Q,Fa)and'fits'or'in_the_way'
end
local function Ci(A)
local D=A.D or Du()
return D and(A.D or string.format('%.0f',D))
end
local function Dv()
return Bs('the fence counter is not a number that can grow')
end
local function Db()
if call('ZCARD',R)+call('HLEN',X)+call('HLEN',Ac)>0 then
call('UNLINK',R,X,Ac)
end
end
local function En(E,G)
Db()
call('SET',U,'*x'..E.D,'PX',E.Ae)
call('HSET',X,E.B,E.F)
Ck(E.B,G+E.Y,E.I)
Ap('o'..E.H,1)
end
local function Es(C,D)
local M,I,F=C.M,C.I,D..' '..C.F
call('SET',U,C.B..C.An..F,'PX',M+I)
local E={
B=C.B,Bh=false,An=C.An,F=F,D=D,I=I,
H=C.H,Al=true,Ae=M+I,Y=M,
}
return{J='x',L='',E=E,D=D}
end
local function Fd(Q,A)
local _,W,Ab=Cg(A)
if Q~=W then
Ab=Q
end
local L=Ab and W..'/'..Ab or W
if L~=A.L then
call('SET',U,'*p'..L,'PX',call('PTTL',U))
call('HDEL',Ac,'c'..W)
end
if Q~=W then
Ap('c'..Q,1)
end
return L
end
local function Dh(C,A,D,G)
local B,H=C.B,C.H
if D~=A.D then
Dp(tonumber(D))
end
if not A.J and C.K=='x'then
return Es(C,D)
end
if A.E then
En(A.E,G)
elseif not A.J then
Db()
call('SET',U,'*'..C.K..C.Q,'PX',C.M+C.I)
end
local L=C.Q
if A.J=='p'then
L=Fd(L,A)
end
Ck(B,G+C.M,C.I)
call('HSET',X,B,D..' '..C.F)
if C.K=='p'then
Ap('used',C.T)
end
if H~=''then
Ap('o'..H,1)
if C.K=='p'then
Ap('p'..H,C.T)
end
end
if C.K=='x'then
return{J='x',L=D,D=D}
end
return{J=C.K,L=L}
end
local function As(B)
if call('ZREM',Aa,B,'!'..B)==0 then
return false
end
call('HDEL',Af,B)
return call('ZREM',P,B)==1
end
local function Ec()
return match(call('HGET',Af,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function Cv(G)
if call('EXISTS',Aa)==0 then
return false
end
local Z=math.max(1,N)
local Aq=call('ZRANGEBYSCORE',Aa,'-inf',G,'LIMIT',0,Z)
Bq=#Aq==Z
N=N-#Aq
for _,S in ipairs(Aq)do
local B=match(S,'^!(.*)')
if not B then
As(S)
else
local Ax=call('ZSCORE',Aa,B)
if Ax and tonumber(Ax)>G then
local Au=match(call('HGET',Af,B)or'','^%d+ %d %S+ (%d+)')
local Cw=Au and call('ZSCORE',Aa,S)-Au
Bk=Bk or Cw and Cw>=tonumber((Ec()))
end
call('ZREM',Aa,S)
end
end
return true
end
local function Fo(B,Ay)
local Ag,Cf,O,Au,At,Ar,F=match(
Ay or'','^(%d+) ([01]) (%S+) (%d+) (%d+) ([01]) (.*)$'
)
if not O then
return nil
end
local K,T,I,H,Cq=match(F,'^(%a) ([%d/]+) (%d+)/?%d* (%S*) (.*)$')
local Fs,Q=match(T,'^(%d+)/?(%d*)$')
local Dd=I~='0'
return{
B=B,K=K,Ar=Ar=='1',T=Fs,Q=Q,H=H,
F=string.format('%s %s %s%s/%s %s ',K,T,Dd and'!'or'',I,Au,H)..Cq,
M=tonumber(Au),I=0,An=Dd and'+'or'-',O=O,Ag=tonumber(Ag),
At=tonumber(At),Cf=Cf=='1',
}
end
local function By(O,Bf)
local Bd=Cs('PUBLISH',O,Bf)
return type(Bd)~='number'or Bd>0
end
local function Do(B)
return match(call('HGET',Af,B)or'','^%d+ %d (%S+)')
end
local function Eb(Ao,Bf)
local Cb,Be=8,nil
for _,B in ipairs(call('ZRANGE',P,0,Cb))do
if B~=Ao and Cb>0 then
Cb=Cb-1
local O=Do(B)
if O and By(O,Bf..B)then
Be=O
break
end
end
end
local Ai=call('ZREVRANGE',P,0,0)[1]
local O=Ai and Ai~=Ao and Do(Ai)
if O and O~=Be then
By(O,Bf..Ai)
end
end
local function Ej(Ao,G,Ak)
local Dr=call('ZREVRANGE',Aa,0,0,'WITHSCORES')[2]
if not Dr then
return
end
local Eg=0
for _,B in ipairs(call('ZRANGE',P,0,319))do
local Ag,O=match(call('HGET',Af,B)or'','^(%d+) %d (%S+)')
if O then
Eg=Ag
if B~=Ao then
By(O,'!'..B)
end
end
end
call('HSET',Af,'?',string.format('%.0f %s %s',G,Eg,Ak))
call('PEXPIREAT',Af,Dr)
end
local function Dm(A,G,Ao)
local Cy,Dx,Cr,Cn=Bk,false,false,false
local Fp,Ek,Bi,Ba=Ec()
if Cy then
N=math.max(5,N-260)
Bk,Bi,Ba=false,Fp,Ek
end
N=math.max(5,N)
local Ak=Bi..' '..Ba
Bi,Ba=tonumber(Bi),tonumber(Ba)
local Bm,at,Dz,Bn,Aj={},0,0,0,{}
while true do
if A.E and A.E.H==''then
break
end
at=at+1
if at>Dz then
if Aj[1]then
call('ZREM',P,unpack(Aj))
Aj={}
end
local Z=math.min(math.max(Bn,1),64)
Bm=call('ZRANGE',P,0,Z)
if not Bm[1]then
break
end
Dz,at=math.min(#Bm,Z),1
end
local Ah,Fc=Bm[at],Bm[at+1]
local Ay=call('HGET',Af,Ah)
local C=Fo(Ah,Ay)
local Co=math.floor(#(Ay or'')/256)
local Ax=C and(Bq or C.Ag<=Ba)and call('ZSCORE',Aa,Ah)
if not C or Bq and Ax and tonumber(Ax)<=G then
if N<=0 then
Cn=true
break
end
N=N-1-Co
Aj[#Aj+1]=Ah
As(Ah)
else
local Av=Cz(C,A)
Dn=true
local D=(Av=='fits'or Av=='passes')and Ci(A)
if not D then
break
end
if N<=0 then
Cn=true
break
end
if Bn==0 then
call('ZREM',P,Ah)
else
Aj[#Aj+1]=Ah
end
local Bd=Ah==Ao
local Ew=C.Ag<=Ba and Ax
if not Bd and not(Ew and Ax-C.At<Bi)then
Bd=By(C.O,Ah)or C.Cf
end
if not Bd then
N,Bn=N-1-Co,Bn+1
else
N,Bn=N-5-Co,0
if Aj[1]then
call('ZREM',P,unpack(Aj))
Aj={}
end
if Ah==Ao then
As(Ah)
else
call('ZADD',Aa,G+C.M,'!'..Ah)
Cr=true
end
if Fc or Cr then
C.An='+'
end
A=Dh(C,A,D,G)
Dx=true
end
end
end
if Aj[1]then
call('ZREM',P,unpack(Aj))
end
if Cy then
Ej(Ao,G,Ak)
elseif Cn then
Eb(Ao,'!')
elseif Cr then
Eb(Ao,'?')
end
if Dx and not A.E then
Bj()
end
return A
end
local G=Dt(Bx())
local function Fn(W)
local Bz,Bp=ARGV[W],W
while ARGV[Bp+1]==''do
Bp=Bp-4
end
local Ae,F,Fu=unpack(ARGV,Bp+1,Bp+3)
local K,T,Q,I,H=match(F,'^(%a) (%d+)/?(%d*) (%d+)/?%d* (%S*) ')
local Ar,O,Au,At,Z,Cp=
match(Fu,'^([01]) ?(%S*) ?(%d*) ?(%d*) ?(%d*) ?(%d*)$')
return{
B=sub(Bz,1,32),K=K,Ar=Ar=='1',T=T,Q=Q,
M=Ae-I,I=tonumber(I),H=H,F=F,An=sub(Bz,33),
O=O~=''and O,Au=Au,At=tonumber(At),Z=tonumber(Z),
Cp=tonumber(Cp),
}
end
local function Dl(A,D,H)
return{'granted',D,math.max(1,Bv(A,H))}
end
local function El(A,B)
if A.E then
return A.E.B==B
end
return A.J and call('HGET',X,B)
end
local function Cl(Cd,C,A,Ey)
local E,Be=A.E,nil
if E then
local Cj=E.Al and'holding'or'closed'
Be={sub(E.B,1,8),Cj,E.Y,E.Ae,E.F}
else
local T=C.K=='p'and A.J=='p'
local S=Ey and'~'..C.B
or T and Dj(G)
or call('ZREVRANGE',R,0,0)[1]
local Fh,Cj,Y,Ae,F=Eo(S,G)
if T and Br then
Ae=0
end
Be={Fh,Cj,Y,Ae,F}
end
for _,Bu in ipairs(Be)do
Cd[#Cd+1]=Bu
end
return Cd
end
local function Dk(C,A)
if As(C.B)then
Dm(A,G)
end
end
local function Ds(A)
if A.E and A.E.An=='-'and not A.E.Bh then
call('SETRANGE',U,32,'+')
end
end
local Cm=0
local function Er(C,A)
local Ai=call('ZREVRANGE',P,0,0,'WITHSCORES')[2]or 0
local L=C.Cp
if not L then
Cm=math.max(Ai+1,Cm+1,Bx())
L=Cm
end
local Ag=string.format('%.0f',L)
call('ZADD',P,Ag,C.B)
local Ar=C.Ar and'1'or'0'
local Fw={Ag,'0',C.O,C.Au,C.At,Ar,C.F}
call('HSET',Af,C.B,table.concat(Fw,' '))
Ds(A)
end
local function Em(B,A)
if call('ZSCORE',P,B)or not call('ZSCORE',Aa,B)or Al(A,B)then
return
end
local Ay=call('HGET',Af,B)
if not Ay then
As(B)
return
end
call('ZREM',Aa,'!'..B)
local Ag,Cq=match(Ay,'^(%d+) %d (.*)$')
call('HSET',Af,B,Ag..' 1 '..Cq)
call('ZADD',P,Ag,B)
call('PEXPIREAT',P,call('ZREVRANGE',Aa,0,0,'WITHSCORES')[2])
Ds(A)
end
local function Fk(C)
call('ZADD',Aa,G+C.At,C.B)
local Ad=call('ZREVRANGE',Aa,0,0,'WITHSCORES')[2]
for _,Am in ipairs({P,Af,Aa})do
call('PEXPIREAT',Am,Ad)
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
local function Ea(C,A,D)
local Cu=Dh(C,A,D,G)
if not Cu.E then
Bj()
end
return Dl(Cu,D,C.H)
end
local function Ei(C)
local B=C.B
local A=Dy(G,B)
if not A then
return Bs()
end
if A.E and A.E.Ae<0 then
return Bs('a lock without an end')
end
local Az=0
local Ed=Cv(G)
if Ed then
Em(B,A)
A=Dm(A,G,B)
Az=call('ZCARD',P)
end
if Al(A,B)then
local D,H=Et(A,B,C.M,G)
if Ed then
As(B)
end
return Dl(A,D,H)
end
if El(A,B)then
return Cl({'refused'},C,A,true)
end
local Av,Eu,Ev=Cz(C,A)
if Av=='deadlock'or Av=='mismatch'then
Dk(C,A)
return{Av,Eu,Ev}
end
if Av=='passes'or Av=='fits'and(Az==0 or not A.J)then
local D=Ci(A)
if not D then
return Dv()
end
if Az>0 then
As(B)
end
return Ea(C,A,D)
end
if C.O then
return Fv(C,A,Az)
end
local Fl=Cl({'refused'},C,A)
Dk(C,A)
return Fl
end
local function Fe(A,B,F)
if A.E then
call('DEL',U)
return{}
end
call('ZREM',R,B,'~'..B)
De(F)
Dw(B,F)
if call('ZCARD',R)==0 then
Da()
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
local F=A.E and A.E.F or call('HGET',X,B)
local _,_,_,_,Ex=Aw(F)
A=Eq(A,B,F)
local Y=Bv(A,Ex)
return Y>0 and{'still_held',Y}or 1,A
end
on(KEYS[1])
local function Ff(C)
local D=Ci({})
if not D then
return Dv()
end
As(C.B)
if call('EXISTS',P)==1 then
C.An='+'
end
return Ea(C,{},D)
end
local function Eh(Bo,A)
local C=Fn(2)
if ARGV[8]=='1'and Bo==1 and not A.J then
return Ff(C)
end
return Ei(C)
end
local A=Dy(G,Bl)
if not A then
return{ARGV[1],Bs()}
end
Cv(G)
local Bo
Bo,A=Fm(A,Bl,ARGV[7],Fe)
local Ep,Bg=pcall(Eh,Bo,A)
if not Ep then
Bg={'error',type(Bg)=='table'and Bg.err or Bg}
end
local Bc=call('ZCARD',P)-(call('ZSCORE',P,sub(ARGV[2],1,32))and 1 or 0)
return{ARGV[1],Bo,Bg,Bc>0 and 1 or 0}
