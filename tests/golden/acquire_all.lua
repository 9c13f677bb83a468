local call,Ct,match,sub=redis.call,redis.pcall,string.match,string.sub
local By,Cv,Dp=4,{ARGV[1],0},{}
local Cd
local function Bu()
if not Cd then
local Ea=call('TIME')
Cd=Ea[1]*1000000+Ea[2]
end
return Cd
end
local function Du(us)
return math.floor(us/1000)
end
local Bq,Al,Dr,at,Dj=KEYS[#KEYS]..'fence',nil,0,nil,nil
local Do=false
local function Ey(i)
if not Al then
local Aa=tonumber(Ct('GET',Bq)or 0)
if not Aa or not(Aa<9000000000000000)then
return nil
end
Al=math.max(Aa,Bu()-1)
end
return Dj and math.max(Al+1,Dj+(i or at))or Al+1
end
local function Eu(F)
if F>Dr then
local Ch=F+#KEYS-2
if ARGV[#ARGV]=='0'or Do and call('PTTL',Bq)==-1 then
call('SET',Bq,Ch)
else
call('SET',Bq,Ch,'PX',ARGV[#ARGV])
end
Dr=Ch
end
Al=F
end
local U,Q,W,Ad,T,Ag,Z
local O,Bo,Bn,Bj=320,false,false,false
local function on(An)
O,Bo,Bn,Bj=math.max(O,5),false,false,false
U,Q,W,Ad=An,An..':h',An..':d',An..':o'
T,Ag,Z=An..':q',An..':w',An..':p'
end
local function Cg(Bf)
return{'corrupt',Bf or'a value that is no lock'}
end
local function Ay(E)
local F,K,S,P,Fd,I,M,H=
match(E,'^(%d+) (%a) (%d+)/?(%d*) (!?)(%d+)/?(%d*) (%S*) ')
return F,K,S,Fd==''and I or'0',H,tonumber(M),P
end
local Bt=12000
local function Fp()
local Ac=Ct('GETRANGE',U,0,Bt+99)
if type(Ac)~='string'then
return call('GET',U)
end
return(Ac~=''or call('EXISTS',U)==1)and Ac
end
local function Cy(E)
if not E or#E<=Bt then
return E
end
local Bz=match(sub(E,1,Bt),'^%d* %a [%d/]+ !?%d+/?%d* %S* ')
return(Bz or'')..'{"cut":"longer than '..Bt..' bytes"}'
end
local function Fs(E,M)
return(string.gsub(E,'^(%d+ %a [%d/]+ )!?(%d+)/?%d* ','%1%2/'..M..' '))
end
local function Ex(Ac)
if#Ac<=32 then
local J,L=match(Ac,'^%*([spx])(%d*/?%d*)$')
if J~='p'or match(L,'^%d')then
return J,L
end
end
end
local function Fo(Ac)
local Bg,B,Ap,Eo=match(Ac,'^(~?)(%x+)([-+])()')
if not B or#B~=32 then
return nil
end
local E=Cy(sub(Ac,Eo))
local F,K,_,I,H,M=Ay(E)
if K~='x'then
return nil
end
local X=call('PTTL',U)
I=tonumber(I)
local Ca=M and X>M+I
X=Ca and M+I or X
local Ak=Bg==''and X>I
return{
B=B,Bg=Bg~='',Ap=Ap,E=E,F=F,I=I,H=H,
Ak=Ak,Af=X,X=Ak and X-I or X,Ca=Ca,
}
end
local function Fg(Ac)
if not Ac then
return{}
end
if sub(Ac,1,1)~='*'then
local D=Fo(Ac)
return D and{J='x',L='',D=D,F=D.F}
end
local J,L=Ex(Ac)
return J and{J=J,L=L,F=J=='x'and L or nil}
end
local function Aq(Br,by)
local L=call('HINCRBY',Ad,Br,by)
if L<=0 then
call('HDEL',Ad,Br)
end
end
local function Cf(A)
local V,Ab=match(A.L,'^(%d*)/?(%d*)$')
local Bv=tonumber(Ab~=''and call('HGET',Ad,'c'..Ab)or 0)
if Bv>0 and Bv==call('HLEN',W)then
V,Bv=Ab,0
end
Ab=Bv>0 and Ab
return math.min(V,Ab or V),V,Ab
end
local function Bs(A,H)
if H==''then
return 0
end
if A.D then
return A.D.Ak and A.D.H==H and 1 or 0
end
return tonumber(call('HGET',Ad,'o'..H)or 0)
end
local function Df(E)
local _,K,S,_,H=Ay(E)
if H~=''then
Aq('o'..H,-1)
if K=='p'then
Aq('p'..H,-S)
end
end
end
local function Dv(B,E)
local _,K,S,_,_,_,P=Ay(E)
if K=='p'then
Aq('used',-S)
if call('HGET',Ad,'c'..P)then
Aq('c'..P,-1)
end
end
call('HDEL',W,B)
end
local function Db()
call('UNLINK',U,Q,W,Ad)
end
local function Dg(R)
local B=sub(R,-32)
local E=call('HGET',W,B)
local Bc=R==B
if E then
local _,_,_,I=Ay(E)
if Bc then
Df(E)
end
if not Bc or I=='0'then
Dv(B,E)
end
end
end
local function Bi()
local Ae=call('ZREVRANGE',Q,0,0,'WITHSCORES')[2]
for _,An in ipairs({U,Q,W,Ad})do
call('PEXPIREAT',An,Ae)
end
end
local function Ev(G)
local Dd,Ae=false,call('ZREVRANGE',Q,0,0,'WITHSCORES')
while Ae[1]and O>0 do
local R=Ae[1]
local _,_,_,I,_,M=Ay(call('HGET',W,sub(R,-32))or'')
local Y=M and G+M+(#R>32 and I or 0)
if not Y or tonumber(Ae[2])<=Y then
break
end
call('PEXPIREAT',U,Ae[2])
call('ZADD',Q,Y,R)
Dd,O,Ae=true,O-3,call('ZREVRANGE',Q,0,0,'WITHSCORES')
end
if Dd then
Bi()
end
return Ae[2]
end
local function Ff(G)
local Ae=Ev(G)
if not Ae or tonumber(Ae)<=G then
Db()
return false
end
local Y=math.max(1,math.ceil(O/3))
local Ar=call('ZRANGEBYSCORE',Q,'-inf',G,'LIMIT',0,Y)
if Ar[1]then
call('ZREM',Q,unpack(Ar))
Bo=#Ar==Y
O=O-3*#Ar
end
for _,R in ipairs(Ar)do
Dg(R)
end
return true
end
local function Cr(G,B)
local A=Fg(Fp())
if A and A.D and A.D.Ca then
call('PEXPIRE',U,A.D.Af)
end
if A and A.J and not A.D then
if not Ff(G)then
return{}
end
if Bo and B then
for _,R in ipairs({B,'~'..B})do
local Dh=call('ZSCORE',Q,R)
if Dh and tonumber(Dh)<=G then
call('ZREM',Q,R)
Dg(R)
end
end
end
end
return A
end
local function Ak(A,B)
if A.D then
return A.D.Ak and A.D.B==B
end
return A.J and call('ZSCORE',Q,B)
end
local function Ck(B,Eb,I)
call('ZADD',Q,Eb,B)
if I>0 then
call('ZADD',Q,Eb+I,'~'..B)
end
end
local function En(A,B,M,G)
local Aa=A.D and A.D.E or call('HGET',W,B)
local E=Fs(Aa,M)
local F,_,_,I,H=Ay(E)
I=tonumber(I)
call('PEXPIRE',U,M+I)
if A.D then
if E~=Aa then
call('SET',U,B..A.D.Ap..E,'PX',M+I)
end
return F,H
end
if E~=Aa then
call('HSET',W,B,E)
end
Ck(B,G+M,I)
Bi()
return F,H
end
local function Dl(G)
return call('ZRANGEBYSCORE',Q,'('..string.format('%.0f',G),'+inf','LIMIT',0,1)[1]
end
local function Ej(R,G)
local B=sub(R,-32)
local Bc=call('ZSCORE',Q,B)
local Af=call('ZSCORE',Q,'~'..B)or Bc
local A=Bc and'holding'or'closed'
return sub(B,1,8),A,(Bc or Af)-G,Af-G,Cy(call('HGET',W,B))
end
local function Da(C,A)
local K,J=C.K,A.J
if not J then
return'fits'
end
if not Bo and Bs(A,C.H)>0 then
if J=='x'and K=='x'and C.As or J=='s'and K=='s'then
return'passes'
elseif J=='x'then
return'deadlock','x',1
elseif K=='x'then
local S=call('HGET',Ad,'p'..C.H)
return'deadlock',J,S and S..'/'..Cf(A)or 1
end
end
if K=='x'or J=='x'then
return'in_the_way'
end
if K~=J then
local V=Dl(Du(Bu()))
local Cu=match(call('HGET',W,sub(V,-32)),'^%d+ %a (%S+)')
return'mismatch',J,sub(Cu,1,20)
end
if J=='s'then
return'fits'
end
local P,Ew,V,Ab=C.P,Cf(A)
if Ab and P~=V and P~=Ab then
return'in_the_way'
end
local Cu=call('HGET',Ad,'used')or 0
return Cu+C.S<=math.min(P,Ew)and'fits'or'in_the_way'
end
local function Dk(A)
local F=A.F or Ey()
return F and(A.F or string.format('%.0f',F))
end
local function Fa()
return Cg('the fence counter is not a number that can grow')
end
local function Dc()
if call('ZCARD',Q)+call('HLEN',W)+call('HLEN',Ad)>0 then
call('UNLINK',Q,W,Ad)
end
end
local function Ei(D,G)
Dc()
call('SET',U,'*x'..D.F,'PX',D.Af)
call('HSET',W,D.B,D.E)
Ck(D.B,G+D.X,D.I)
Aq('o'..D.H,1)
end
local function Em(C,F)
local M,I,E=C.M,C.I,F..' '..C.E
call('SET',U,C.B..C.Ap..E,'PX',M+I)
local D={
B=C.B,Bg=false,Ap=C.Ap,E=E,F=F,I=I,
H=C.H,Ak=true,Af=M+I,X=M,
}
return{J='x',L='',D=D,F=F}
end
local function Fb(P,A)
local _,V,Ab=Cf(A)
if P~=V then
Ab=P
end
local L=Ab and V..'/'..Ab or V
if L~=A.L then
call('SET',U,'*p'..L,'PX',call('PTTL',U))
call('HDEL',Ad,'c'..V)
end
if P~=V then
Aq('c'..P,1)
end
return L
end
local function Di(C,A,F,G)
local B,H=C.B,C.H
if F~=A.F then
Eu(tonumber(F))
end
if not A.J and C.K=='x'then
return Em(C,F)
end
if A.D then
Ei(A.D,G)
elseif not A.J then
Dc()
call('SET',U,'*'..C.K..C.P,'PX',C.M+C.I)
end
local L=C.P
if A.J=='p'then
L=Fb(L,A)
end
Ck(B,G+C.M,C.I)
call('HSET',W,B,F..' '..C.E)
if C.K=='p'then
Aq('used',C.S)
end
if H~=''then
Aq('o'..H,1)
if C.K=='p'then
Aq('p'..H,C.S)
end
end
if C.K=='x'then
return{J='x',L=F,F=F}
end
return{J=C.K,L=L}
end
local function Aw(B)
if call('ZREM',Z,B,'!'..B)==0 then
return false
end
call('HDEL',Ag,B)
return call('ZREM',T,B)==1
end
local function Dy()
return match(call('HGET',Ag,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function Cw(G)
if call('EXISTS',Z)==0 then
return false
end
local Y=math.max(1,O)
local Ar=call('ZRANGEBYSCORE',Z,'-inf',G,'LIMIT',0,Y)
Bn=#Ar==Y
O=O-#Ar
for _,R in ipairs(Ar)do
local B=match(R,'^!(.*)')
if not B then
Aw(R)
else
local Az=call('ZSCORE',Z,B)
if Az and tonumber(Az)>G then
local Av=match(call('HGET',Ag,B)or'','^%d+ %d %S+ (%d+)')
local Cx=Av and call('ZSCORE',Z,R)-Av
Bj=Bj or Cx and Cx>=tonumber((Dy()))
end
call('ZREM',Z,R)
end
end
return true
end
local function Fl(B,Ba)
local Ai,Ce,N,Av,At,As,E=match(
Ba or'','^(%d+) ([01]) (%S+) (%d+) (%d+) ([01]) (.*)$'
)
if not N then
return nil
end
local K,S,I,H,Cq=match(E,'^(%a) ([%d/]+) (%d+)/?%d* (%S*) (.*)$')
local Fr,P=match(S,'^(%d+)/?(%d*)$')
local De=I~='0'
return{
B=B,K=K,As=As=='1',S=Fr,P=P,H=H,
E=string.format('%s %s %s%s/%s %s ',K,S,De and'!'or'',I,Av,H)..Cq,
M=tonumber(Av),I=0,Ap=De and'+'or'-',N=N,Ai=tonumber(Ai),
At=tonumber(At),Ce=Ce=='1',
}
end
local function Bw(N,Bf)
local Bd=Ct('PUBLISH',N,Bf)
return type(Bd)~='number'or Bd>0
end
local function Dq(B)
return match(call('HGET',Ag,B)or'','^%d+ %d (%S+)')
end
local function Dx(Ao,Bf)
local Cb,Be=8,nil
for _,B in ipairs(call('ZRANGE',T,0,Cb))do
if B~=Ao and Cb>0 then
Cb=Cb-1
local N=Dq(B)
if N and Bw(N,Bf..B)then
Be=N
break
end
end
end
local Al=call('ZREVRANGE',T,0,0)[1]
local N=Al and Al~=Ao and Dq(Al)
if N and N~=Be then
Bw(N,Bf..Al)
end
end
local function Ee(Ao,G,Aa)
local Ds=call('ZREVRANGE',Z,0,0,'WITHSCORES')[2]
if not Ds then
return
end
local Ec=0
for _,B in ipairs(call('ZRANGE',T,0,319))do
local Ai,N=match(call('HGET',Ag,B)or'','^(%d+) %d (%S+)')
if N then
Ec=Ai
if B~=Ao then
Bw(N,'!'..B)
end
end
end
call('HSET',Ag,'?',string.format('%.0f %s %s',G,Ec,Aa))
call('PEXPIREAT',Ag,Ds)
end
local function Ci(A,G,Ao)
local Cz,Bx,Cs,Cn=Bj,false,false,false
local Fm,Ef,Bh,Bb=Dy()
if Cz then
O=math.max(5,O-260)
Bj,Bh,Bb=false,Fm,Ef
end
O=math.max(5,O)
local Aa=Bh..' '..Bb
Bh,Bb=tonumber(Bh),tonumber(Bb)
local Bk,at,By,Bl,Am={},0,0,0,{}
while true do
if A.D and A.D.H==''then
break
end
at=at+1
if at>By then
if Am[1]then
call('ZREM',T,unpack(Am))
Am={}
end
local Y=math.min(math.max(Bl,1),64)
Bk=call('ZRANGE',T,0,Y)
if not Bk[1]then
break
end
By,at=math.min(#Bk,Y),1
end
local Aj,Ez=Bk[at],Bk[at+1]
local Ba=call('HGET',Ag,Aj)
local C=Fl(Aj,Ba)
local Co=math.floor(#(Ba or'')/256)
local Az=C and(Bn or C.Ai<=Bb)and call('ZSCORE',Z,Aj)
if not C or Bn and Az and tonumber(Az)<=G then
if O<=0 then
Cn=true
break
end
O=O-1-Co
Am[#Am+1]=Aj
Aw(Aj)
else
local Ax=Da(C,A)
Do=true
local F=(Ax=='fits'or Ax=='passes')and Dk(A)
if not F then
break
end
if O<=0 then
Cn=true
break
end
if Bl==0 then
call('ZREM',T,Aj)
else
Am[#Am+1]=Aj
end
local Bd=Aj==Ao
local Er=C.Ai<=Bb and Az
if not Bd and not(Er and Az-C.At<Bh)then
Bd=Bw(C.N,Aj)or C.Ce
end
if not Bd then
O,Bl=O-1-Co,Bl+1
else
O,Bl=O-5-Co,0
if Am[1]then
call('ZREM',T,unpack(Am))
Am={}
end
if Aj==Ao then
Aw(Aj)
else
call('ZADD',Z,G+C.M,'!'..Aj)
Cs=true
end
if Ez or Cs then
C.Ap='+'
end
A=Di(C,A,F,G)
Bx=true
end
end
end
if Am[1]then
call('ZREM',T,unpack(Am))
end
if Cz then
Ee(Ao,G,Aa)
elseif Cn then
Dx(Ao,'!')
elseif Cs then
Dx(Ao,'?')
end
if Bx and not A.D then
Bi()
end
return A
end
local G=Du(Bu())
local function Fk(V)
local Bz,Bm=ARGV[V],V
while ARGV[Bm+1]==''do
Bm=Bm-4
end
local Af,E,Ft=unpack(ARGV,Bm+1,Bm+3)
local K,S,P,I,H=match(E,'^(%a) (%d+)/?(%d*) (%d+)/?%d* (%S*) ')
local As,N,Av,At,Y,Cp=
match(Ft,'^([01]) ?(%S*) ?(%d*) ?(%d*) ?(%d*) ?(%d*)$')
return{
B=sub(Bz,1,32),K=K,As=As=='1',S=S,P=P,
M=Af-I,I=tonumber(I),H=H,E=E,Ap=sub(Bz,33),
N=N~=''and N,Av=Av,At=tonumber(At),Y=tonumber(Y),
Cp=tonumber(Cp),
}
end
local function Dn(A,F,H)
return{'granted',F,math.max(1,Bs(A,H))}
end
local function Eg(A,B)
if A.D then
return A.D.B==B
end
return A.J and call('HGET',W,B)
end
local function Cl(Ah,C,A,Et)
local D,Be=A.D,nil
if D then
local Cj=D.Ak and'holding'or'closed'
Be={sub(D.B,1,8),Cj,D.X,D.Af,D.E}
else
local S=C.K=='p'and A.J=='p'
local R=Et and'~'..C.B
or S and Dl(G)
or call('ZREVRANGE',Q,0,0)[1]
local Fe,Cj,X,Af,E=Ej(R,G)
if S and Bo then
Af=0
end
Be={Fe,Cj,X,Af,E}
end
for _,Br in ipairs(Be)do
Ah[#Ah+1]=Br
end
return Ah
end
local function Dm(C,A)
if Aw(C.B)then
Ci(A,G)
end
end
local function Dt(A)
if A.D and A.D.Ap=='-'and not A.D.Bg then
call('SETRANGE',U,32,'+')
end
end
local Cm=0
local function El(C,A)
local Al=call('ZREVRANGE',T,0,0,'WITHSCORES')[2]or 0
local L=C.Cp
if not L then
Cm=math.max(Al+1,Cm+1,Bu())
L=Cm
end
local Ai=string.format('%.0f',L)
call('ZADD',T,Ai,C.B)
local As=C.As and'1'or'0'
local Fw={Ai,'0',C.N,C.Av,C.At,As,C.E}
call('HSET',Ag,C.B,table.concat(Fw,' '))
Dt(A)
end
local function Eh(B,A)
if call('ZSCORE',T,B)or not call('ZSCORE',Z,B)or Ak(A,B)then
return
end
local Ba=call('HGET',Ag,B)
if not Ba then
Aw(B)
return
end
call('ZREM',Z,'!'..B)
local Ai,Cq=match(Ba,'^(%d+) %d (.*)$')
call('HSET',Ag,B,Ai..' 1 '..Cq)
call('ZADD',T,Ai,B)
call('PEXPIREAT',T,call('ZREVRANGE',Z,0,0,'WITHSCORES')[2])
Dt(A)
end
local function Fh(C)
call('ZADD',Z,G+C.At,C.B)
local Ae=call('ZREVRANGE',Z,0,0,'WITHSCORES')[2]
for _,An in ipairs({T,Ag,Z})do
call('PEXPIREAT',An,Ae)
end
end
local function Fv(C,A,Au)
local Cc=call('ZRANK',T,C.B)
if Cc then
call('PEXPIRE',T,C.At)
elseif Au>=C.Y and not Bn then
return{'full',Au}
else
El(C,A)
Cc=call('ZRANK',T,C.B)
end
Fh(C)
return Cl({'queued',Cc},C,A)
end
local function Fq(C,A,F)
local Bp=Di(C,A,F,G)
if not Bp.D then
Bi()
end
return Dn(Bp,F,C.H)
end
local function Ed(C)
local B=C.B
local A=Cr(G,B)
if not A then
return Cg()
end
if A.D and A.D.Af<0 then
return Cg('a lock without an end')
end
local Au=0
local Dz=Cw(G)
if Dz then
Eh(B,A)
A=Ci(A,G,B)
Au=call('ZCARD',T)
end
if Ak(A,B)then
local F,H=En(A,B,C.M,G)
if Dz then
Aw(B)
end
return Dn(A,F,H)
end
if Eg(A,B)then
return Cl({'refused'},C,A,true)
end
local Ax,Ep,Eq=Da(C,A)
if Ax=='deadlock'or Ax=='mismatch'then
Dm(C,A)
return{Ax,Ep,Eq}
end
if Ax=='passes'or Ax=='fits'and(Au==0 or not A.J)then
local F=Dk(A)
if not F then
return Fa()
end
if Au>0 then
Aw(B)
end
return Fq(C,A,F)
end
if C.N then
return Fv(C,A,Au)
end
local Fi=Cl({'refused'},C,A)
Dm(C,A)
return Fi
end
local function Fc(A,B,E)
if A.D then
call('DEL',U)
return{}
end
call('ZREM',Q,B,'~'..B)
Df(E)
Dv(B,E)
if call('ZCARD',Q)==0 then
Db()
return{}
end
Bi()
return A
end
local function Fj(A,B,H,Ek)
Aw(B)
if not Ak(A,B)then
return{'not_held',Bs(A,H)},A
end
local E=A.D and A.D.E or call('HGET',W,B)
local _,_,_,_,Es=Ay(E)
A=Ek(A,B,E)
local X=Bs(A,Es)
return X>0 and{'still_held',X}or 1,A
end
local function Dw(i)
on(KEYS[i])
local C=Fk(2+By*(i-1))
C.N=nil
return C
end
local function Fn(i)
local C=Dw(i)
local A=Cr(G,C.B)
Dp[i]=A and Ak(A,C.B)
return Ed(C)
end
local function Fu(i)
local C=Dw(i)
local A=Cr(G,C.B)
local Au=Cw(G)
local _,Bp=Fj(A,C.B,C.H,Fc)
if Au then
Ci(Bp,G)
end
end
for i=1,#KEYS-1 do
local Bx,Ah=pcall(Fn,i)
if not Bx then
Ah={'error',type(Ah)=='table'and Ah.err or Ah}
end
if Ah[1]~='granted'then
for Aa=i-1,1,-1 do
if not Dp[Aa]and not pcall(Fu,Aa)then
Ah={'error','what was granted could not be taken back'}
end
end
return{ARGV[1],i,Ah}
end
Cv[i+2]=Ah
end
return Cv
