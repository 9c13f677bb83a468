local call,Ct,match,sub=redis.call,redis.pcall,string.match,string.sub
local By,Cv,Dq=4,{ARGV[1],0},{}
local Cd
local function Bu()
if not Cd then
local Eb=call('TIME')
Cd=Eb[1]*1000000+Eb[2]
end
return Cd
end
local function Dv(us)
return math.floor(us/1000)
end
local Bq,Al,Ds,at,Dk=KEYS[#KEYS]..'fence',nil,0,nil,nil
local Dp=false
local function Ey(i)
if not Al then
local Ab=tonumber(Ct('GET',Bq)or 0)
if not Ab or not(Ab<9000000000000000)then
return nil
end
Al=math.max(Ab,Bu()-1)
end
return Dk and math.max(Al+1,Dk+(i or at))or Al+1
end
local function Eu(F)
if F>Ds then
local Ch=F+#KEYS-2
if ARGV[#ARGV]=='0'or Dp and call('PTTL',Bq)==-1 then
call('SET',Bq,Ch)
else
call('SET',Bq,Ch,'PX',ARGV[#ARGV])
end
Ds=Ch
end
Al=F
end
local V,Q,W,Ai,T,Af,Aa
local N,Bo,Bn,Bj=320,false,false,false
local function on(An)
N,Bo,Bn,Bj=math.max(N,5),false,false,false
V,Q,W,Ai=An,An..':h',An..':d',An..':o'
T,Af,Aa=An..':q',An..':w',An..':p'
end
local function Cg(Bf)
return{'corrupt',Bf or'a value that is no lock'}
end
local function Ay(E)
local F,J,R,P,Fd,I,L,H=
match(E,'^(%d+) (%a) (%d+)/?(%d*) (!?)(%d+)/?(%d*) (%S*) ')
return F,J,R,Fd==''and I or'0',H,tonumber(L),P
end
local Bt=12000
local function Fp()
local U=Ct('GETRANGE',V,0,Bt+99)
if type(U)~='string'then
return call('GET',V)
end
return(U~=''or call('EXISTS',V)==1)and U
end
local function Cy(E)
if not E or#E<=Bt then
return E
end
local Bz=match(sub(E,1,Bt),'^%d* %a [%d/]+ !?%d+/?%d* %S* ')
return(Bz or'')..'{"cut":"longer than '..Bt..' bytes"}'
end
local function Fs(E,L)
return(string.gsub(E,'^(%d+ %a [%d/]+ )!?(%d+)/?%d* ','%1%2/'..L..' '))
end
local function Ex(U)
if#U<=32 then
if U=='*s'or match(U,'^%*[xp]%d+$')or match(U,'^%*p%d+/%d+$')then
return sub(U,2,2),sub(U,3)
end
end
end
local function Fo(U)
local Bg,B,Ap,Eo=match(U,'^(~?)(%x+)([-+])()')
if not B or#B~=32 then
return nil
end
local E=Cy(sub(U,Eo))
local F,J,_,I,H,L=Ay(E)
if J~='x'then
return nil
end
local Y=call('PTTL',V)
I=tonumber(I)
local Ca=L and Y>L+I
Y=Ca and L+I or Y
local Ak=Bg==''and Y>I
return{
B=B,Bg=Bg~='',Ap=Ap,E=E,F=F,I=I,H=H,
Ak=Ak,Ae=Y,Y=Ak and Y-I or Y,Ca=Ca,
}
end
local function Fg(U)
if not U then
return{}
end
if sub(U,1,1)~='*'then
local D=Fo(U)
return D and{K='x',O='',D=D,F=D.F}
end
local K,O=Ex(U)
return K and{K=K,O=O,F=K=='x'and O or nil}
end
local function Aq(Br,by)
local O=call('HINCRBY',Ai,Br,by)
if O<=0 then
call('HDEL',Ai,Br)
end
end
local function Cf(A)
local X,Ac=match(A.O,'^(%d*)/?(%d*)$')
local Bv=tonumber(Ac~=''and call('HGET',Ai,'c'..Ac)or 0)
if Bv>0 and Bv==call('HLEN',W)then
X,Bv=Ac,0
end
Ac=Bv>0 and Ac
return math.min(X,Ac or X),X,Ac
end
local function Bs(A,H)
if H==''then
return 0
end
if A.D then
return A.D.Ak and A.D.H==H and 1 or 0
end
return tonumber(call('HGET',Ai,'o'..H)or 0)
end
local function Dg(E)
local _,J,R,_,H=Ay(E)
if H~=''then
Aq('o'..H,-1)
if J=='p'then
Aq('p'..H,-R)
end
end
end
local function Dw(B,E)
local _,J,R,_,_,_,P=Ay(E)
if J=='p'then
Aq('used',-R)
if call('HGET',Ai,'c'..P)then
Aq('c'..P,-1)
end
end
call('HDEL',W,B)
end
local function Dc()
call('UNLINK',V,Q,W,Ai)
end
local function Dh(S)
local B=sub(S,-32)
local E=call('HGET',W,B)
local Bc=S==B
if E then
local _,_,_,I=Ay(E)
if Bc then
Dg(E)
end
if not Bc or I=='0'then
Dw(B,E)
end
end
end
local function Bi()
local Ad=call('ZREVRANGE',Q,0,0,'WITHSCORES')[2]
for _,An in ipairs({V,Q,W,Ai})do
call('PEXPIREAT',An,Ad)
end
end
local function Ev(G)
local De,Ad=false,call('ZREVRANGE',Q,0,0,'WITHSCORES')
while Ad[1]and N>0 do
local S=Ad[1]
local _,_,_,I,_,L=Ay(call('HGET',W,sub(S,-32))or'')
local Z=L and G+L+(#S>32 and I or 0)
if not Z or tonumber(Ad[2])<=Z then
break
end
call('PEXPIREAT',V,Ad[2])
call('ZADD',Q,Z,S)
De,N,Ad=true,N-3,call('ZREVRANGE',Q,0,0,'WITHSCORES')
end
if De then
Bi()
end
return Ad[2]
end
local function Ff(G)
local Ad=Ev(G)
if not Ad or tonumber(Ad)<=G then
Dc()
return false
end
local Z=math.max(1,math.ceil(N/3))
local Ar=call('ZRANGEBYSCORE',Q,'-inf',G,'LIMIT',0,Z)
if Ar[1]then
call('ZREM',Q,unpack(Ar))
Bo=#Ar==Z
N=N-3*#Ar
end
for _,S in ipairs(Ar)do
Dh(S)
end
return true
end
local function Cr(G,B)
local A=Fg(Fp())
if A and A.D and A.D.Ca then
call('PEXPIRE',V,A.D.Ae)
end
if A and A.K and not A.D then
if not Ff(G)then
return{}
end
if Bo and B then
for _,S in ipairs({B,'~'..B})do
local Di=call('ZSCORE',Q,S)
if Di and tonumber(Di)<=G then
call('ZREM',Q,S)
Dh(S)
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
return A.K and call('ZSCORE',Q,B)
end
local function Ck(B,Ec,I)
call('ZADD',Q,Ec,B)
if I>0 then
call('ZADD',Q,Ec+I,'~'..B)
end
end
local function En(A,B,L,G)
local Ab=A.D and A.D.E or call('HGET',W,B)
local E=Fs(Ab,L)
local F,_,_,I,H=Ay(E)
I=tonumber(I)
call('PEXPIRE',V,L+I)
if A.D then
if E~=Ab then
call('SET',V,B..A.D.Ap..E,'PX',L+I)
end
return F,H
end
if E~=Ab then
call('HSET',W,B,E)
end
Ck(B,G+L,I)
Bi()
return F,H
end
local function Dm(G)
return call('ZRANGEBYSCORE',Q,'('..string.format('%.0f',G),'+inf','LIMIT',0,1)[1]
end
local function Ej(S,G)
local B=sub(S,-32)
local Bc=call('ZSCORE',Q,B)
local Ae=call('ZSCORE',Q,'~'..B)or Bc
local A=Bc and'holding'or'closed'
return sub(B,1,8),A,(Bc or Ae)-G,Ae-G,Cy(call('HGET',W,B))
end
local function Db(C,A)
local J,K=C.J,A.K
if not K then
return'fits'
end
if not Bo and Bs(A,C.H)>0 then
if K=='x'and J=='x'and C.As or K=='s'and J=='s'then
return'passes'
elseif K=='x'then
return'deadlock','x',1
elseif J=='x'then
local R=call('HGET',Ai,'p'..C.H)
return'deadlock',K,R and R..'/'..Cf(A)or 1
end
end
if J=='x'or K=='x'then
return'in_the_way'
end
if J~=K then
local X=Dm(Dv(Bu()))
local Cu=match(call('HGET',W,sub(X,-32)),'^%d+ %a (%S+)')
return'mismatch',K,sub(Cu,1,21)
end
if K=='s'then
return'fits'
end
local P,Ew,X,Ac=C.P,Cf(A)
if Ac and P~=X and P~=Ac then
return'in_the_way'
end
local Cu=call('HGET',Ai,'used')or 0
return Cu+C.R<=math.min(P,Ew)and'fits'or'in_the_way'
end
local function Dl(A)
local F=A.F or Ey()
return F and(A.F or string.format('%.0f',F))
end
local function Fa()
return Cg('the fence counter is not a number that can grow')
end
local function Dd()
if call('ZCARD',Q)+call('HLEN',W)+call('HLEN',Ai)>0 then
call('UNLINK',Q,W,Ai)
end
end
local function Ei(D,G)
Dd()
call('SET',V,'*x'..D.F,'PX',D.Ae)
call('HSET',W,D.B,D.E)
Ck(D.B,G+D.Y,D.I)
Aq('o'..D.H,1)
end
local function Em(C,F)
local L,I,E=C.L,C.I,F..' '..C.E
call('SET',V,C.B..C.Ap..E,'PX',L+I)
local D={
B=C.B,Bg=false,Ap=C.Ap,E=E,F=F,I=I,
H=C.H,Ak=true,Ae=L+I,Y=L,
}
return{K='x',O='',D=D,F=F}
end
local function Fb(P,A)
local _,X,Ac=Cf(A)
if P~=X then
Ac=P
end
local O=Ac and X..'/'..Ac or X
if O~=A.O then
call('SET',V,'*p'..O,'KEEPTTL')
end
if P~=X then
Aq('c'..P,1)
end
return O
end
local function Dj(C,A,F,G)
local B,H=C.B,C.H
if F~=A.F then
Eu(tonumber(F))
end
if not A.K and C.J=='x'then
return Em(C,F)
end
if A.D then
Ei(A.D,G)
elseif not A.K then
Dd()
call('SET',V,'*'..C.J..C.P,'PX',C.L+C.I)
end
local O=C.P
if A.K=='p'then
O=Fb(O,A)
end
Ck(B,G+C.L,C.I)
call('HSET',W,B,F..' '..C.E)
if C.J=='p'then
Aq('used',C.R)
end
if H~=''then
Aq('o'..H,1)
if C.J=='p'then
Aq('p'..H,C.R)
end
end
if C.J=='x'then
return{K='x',O=F,F=F}
end
return{K=C.J,O=O}
end
local function Aw(B)
if call('ZREM',Aa,B,'!'..B)==0 then
return false
end
call('HDEL',Af,B)
return call('ZREM',T,B)==1
end
local function Dz()
return match(call('HGET',Af,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function Cw(G)
if call('EXISTS',Aa)==0 then
return false
end
local Z=math.max(1,N)
local Ar=call('ZRANGEBYSCORE',Aa,'-inf',G,'LIMIT',0,Z)
Bn=#Ar==Z
N=N-#Ar
for _,S in ipairs(Ar)do
local B=match(S,'^!(.*)')
if not B then
Aw(S)
else
local Az=call('ZSCORE',Aa,B)
if Az and tonumber(Az)>G then
local Av=match(call('HGET',Af,B)or'','^%d+ %d %S+ (%d+)')
local Cx=Av and call('ZSCORE',Aa,S)-Av
Bj=Bj or Cx and Cx>=tonumber((Dz()))
end
call('ZREM',Aa,S)
end
end
return true
end
local function Fl(B,Ba)
local Ah,Ce,M,Av,At,As,E=match(
Ba or'','^(%d+) ([01]) (%S+) (%d+) (%d+) ([01]) (.*)$'
)
if not M then
return nil
end
local J,R,I,H,Cq=match(E,'^(%a) ([%d/]+) (%d+)/?%d* (%S*) (.*)$')
if not R then
return nil
end
local Fr,P=match(R,'^(%d+)/?(%d*)$')
local Df=I~='0'
return{
B=B,J=J,As=As=='1',R=Fr,P=P,H=H,
E=string.format('%s %s %s%s/%s %s ',J,R,Df and'!'or'',I,Av,H)..Cq,
L=tonumber(Av),I=0,Ap=Df and'+'or'-',M=M,Ah=tonumber(Ah),
At=tonumber(At),Ce=Ce=='1',
}
end
local function Bw(M,Bf)
local Bd=Ct('PUBLISH',M,Bf)
return type(Bd)~='number'or Bd>0
end
local function Dr(B)
return match(call('HGET',Af,B)or'','^%d+ %d (%S+)')
end
local function Dy(Ao,Bf)
local Cb,Be=8,nil
for _,B in ipairs(call('ZRANGE',T,0,Cb))do
if B~=Ao and Cb>0 then
Cb=Cb-1
local M=Dr(B)
if M and Bw(M,Bf..B)then
Be=M
break
end
end
end
local Al=call('ZREVRANGE',T,0,0)[1]
local M=Al and Al~=Ao and Dr(Al)
if M and M~=Be then
Bw(M,Bf..Al)
end
end
local function Ef(Ao,G,Ab)
local Dt=call('ZREVRANGE',Aa,0,0,'WITHSCORES')[2]
if not Dt then
return
end
local Ed=0
for _,B in ipairs(call('ZRANGE',T,0,319))do
local Ah,M=match(call('HGET',Af,B)or'','^(%d+) %d (%S+)')
if M then
Ed=Ah
if B~=Ao then
Bw(M,'!'..B)
end
end
end
call('HSET',Af,'?',string.format('%.0f %s %s',G,Ed,Ab))
call('PEXPIREAT',Af,Dt)
end
local function Ci(A,G,Ao)
local Cz,Bx,Cs,Cn=Bj,false,false,false
local Fm,Eg,Bh,Bb=Dz()
if Cz then
N=math.max(5,N-260)
Bj,Bh,Bb=false,Fm,Eg
end
N=math.max(5,N)
local Ab=Bh..' '..Bb
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
local Z=math.min(math.max(Bl,1),64)
Bk=call('ZRANGE',T,0,Z)
if not Bk[1]then
break
end
By,at=math.min(#Bk,Z),1
end
local Aj,Ez=Bk[at],Bk[at+1]
local Ba=call('HGET',Af,Aj)
local C=Fl(Aj,Ba)
local Co=math.floor(#(Ba or'')/256)
local Az=C and(Bn or C.Ah<=Bb)and call('ZSCORE',Aa,Aj)
if not C or Bn and Az and tonumber(Az)<=G then
if N<=0 then
Cn=true
break
end
N=N-1-Co
Am[#Am+1]=Aj
Aw(Aj)
else
local Ax=Db(C,A)
Dp=true
local F=(Ax=='fits'or Ax=='passes')and Dl(A)
if not F then
break
end
if N<=0 then
Cn=true
break
end
if Bl==0 then
call('ZREM',T,Aj)
else
Am[#Am+1]=Aj
end
local Bd=Aj==Ao
local Er=C.Ah<=Bb and Az
if not Bd and not(Er and Az-C.At<Bh)then
Bd=Bw(C.M,Aj)or C.Ce
end
if not Bd then
N,Bl=N-1-Co,Bl+1
else
N,Bl=N-5-Co,0
if Am[1]then
call('ZREM',T,unpack(Am))
Am={}
end
if Aj==Ao then
Aw(Aj)
else
call('ZADD',Aa,G+C.L,'!'..Aj)
Cs=true
end
if Ez or Cs then
C.Ap='+'
end
A=Dj(C,A,F,G)
Bx=true
end
end
end
if Am[1]then
call('ZREM',T,unpack(Am))
end
if Cz then
Ef(Ao,G,Ab)
elseif Cn then
Dy(Ao,'!')
elseif Cs then
Dy(Ao,'?')
end
if Bx and not A.D then
Bi()
end
return A
end
local G=Dv(Bu())
local function Fk(X)
local Bz,Bm=ARGV[X],X
while ARGV[Bm+1]==''do
Bm=Bm-4
end
local Ae,E,Ft=unpack(ARGV,Bm+1,Bm+3)
local J,R,P,I,H=match(E,'^(%a) (%d+)/?(%d*) (%d+)/?%d* (%S*) ')
local As,M,Av,At,Z,Cp=
match(Ft,'^([01]) ?(%S*) ?(%d*) ?(%d*) ?(%d*) ?(%d*)$')
return{
B=sub(Bz,1,32),J=J,As=As=='1',R=R,P=P,
L=Ae-I,I=tonumber(I),H=H,E=E,Ap=sub(Bz,33),
M=M~=''and M,Av=Av,At=tonumber(At),Z=tonumber(Z),
Cp=tonumber(Cp),
}
end
local function Do(A,F,H)
return{'granted',F,math.max(1,Bs(A,H))}
end
local function Da(A,B)
if A.D then
return A.D.B==B
end
return A.K and call('HGET',W,B)
end
local function Cl(Ag,C,A,Et)
local D,Be=A.D,nil
if D then
local Cj=D.Ak and'holding'or'closed'
Be={sub(D.B,1,8),Cj,D.Y,D.Ae,D.E}
else
local R=C.J=='p'and A.K=='p'
local S=Et and'~'..C.B
or R and Dm(G)
or call('ZREVRANGE',Q,0,0)[1]
local Fe,Cj,Y,Ae,E=Ej(S,G)
if R and Bo then
Ae=0
end
Be={Fe,Cj,Y,Ae,E}
end
for _,Br in ipairs(Be)do
Ag[#Ag+1]=Br
end
return Ag
end
local function Dn(C,A)
if Aw(C.B)then
Ci(A,G)
end
end
local function Du(A)
if A.D and A.D.Ap=='-'and not A.D.Bg then
call('SETRANGE',V,32,'+')
end
end
local Cm=0
local function El(C,A)
local Al=call('ZREVRANGE',T,0,0,'WITHSCORES')[2]or 0
local O=C.Cp
if not O then
Cm=math.max(Al+1,Cm+1,Bu())
O=Cm
end
local Ah=string.format('%.0f',O)
call('ZADD',T,Ah,C.B)
local As=C.As and'1'or'0'
local Fw={Ah,'0',C.M,C.Av,C.At,As,C.E}
call('HSET',Af,C.B,table.concat(Fw,' '))
Du(A)
end
local function Eh(B,A)
if call('ZSCORE',T,B)or not call('ZSCORE',Aa,B)or Ak(A,B)
or Da(A,B)then
return
end
local Ba=call('HGET',Af,B)
if not Ba then
Aw(B)
return
end
call('ZREM',Aa,'!'..B)
local Ah,Cq=match(Ba,'^(%d+) %d (.*)$')
call('HSET',Af,B,Ah..' 1 '..Cq)
call('ZADD',T,Ah,B)
call('PEXPIREAT',T,call('ZREVRANGE',Aa,0,0,'WITHSCORES')[2])
Du(A)
end
local function Fh(C)
call('ZADD',Aa,G+C.At,C.B)
local Ad=call('ZREVRANGE',Aa,0,0,'WITHSCORES')[2]
for _,An in ipairs({T,Af,Aa})do
call('PEXPIREAT',An,Ad)
end
end
local function Fv(C,A,Au)
local Cc=call('ZRANK',T,C.B)
if Cc then
call('PEXPIRE',T,C.At)
elseif Au>=C.Z and not Bn then
return{'full',Au}
else
El(C,A)
Cc=call('ZRANK',T,C.B)
end
Fh(C)
return Cl({'queued',Cc},C,A)
end
local function Fq(C,A,F)
local Bp=Dj(C,A,F,G)
if not Bp.D then
Bi()
end
return Do(Bp,F,C.H)
end
local function Ee(C)
local B=C.B
local A=Cr(G,B)
if not A then
return Cg()
end
if A.D and A.D.Ae<0 then
return Cg('a lock without an end')
end
local Au=0
local Ea=Cw(G)
if Ea then
Eh(B,A)
A=Ci(A,G,B)
Au=call('ZCARD',T)
end
if Ak(A,B)then
local F,H=En(A,B,C.L,G)
if Ea then
Aw(B)
end
return Do(A,F,H)
end
if Da(A,B)then
return Cl({'refused'},C,A,true)
end
local Ax,Ep,Eq=Db(C,A)
if Ax=='deadlock'or Ax=='mismatch'then
Dn(C,A)
return{Ax,Ep,Eq}
end
if Ax=='passes'or Ax=='fits'and(Au==0 or not A.K)then
local F=Dl(A)
if not F then
return Fa()
end
if Au>0 then
Aw(B)
end
return Fq(C,A,F)
end
if C.M then
return Fv(C,A,Au)
end
local Fi=Cl({'refused'},C,A)
Dn(C,A)
return Fi
end
local function Fc(A,B,E)
if A.D then
call('DEL',V)
return{}
end
call('ZREM',Q,B,'~'..B)
Dg(E)
Dw(B,E)
if call('ZCARD',Q)==0 then
Dc()
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
local Y=Bs(A,Es)
return Y>0 and{'still_held',Y}or 1,A
end
local function Dx(i)
on(KEYS[i])
local C=Fk(2+By*(i-1))
C.M=nil
return C
end
local function Fn(i)
local C=Dx(i)
local A=Cr(G,C.B)
Dq[i]=A and Ak(A,C.B)
return Ee(C)
end
local function Fu(i)
local C=Dx(i)
local A=Cr(G,C.B)
local Au=Cw(G)
local _,Bp=Fj(A,C.B,C.H,Fc)
if Au then
Ci(Bp,G)
end
end
for i=1,#KEYS-1 do
local Bx,Ag=pcall(Fn,i)
if not Bx then
Ag={'error',type(Ag)=='table'and Ag.err or Ag}
end
if Ag[1]~='granted'then
for Ab=i-1,1,-1 do
if not Dq[Ab]and not pcall(Fu,Ab)then
Ag={'error','what was granted could not be taken back'}
end
end
return{ARGV[1],i,Ag}
end
Cv[i+2]=Ag
end
return Cv
