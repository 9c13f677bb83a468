local call,Z,match,sub=redis.call,redis.pcall,string.match,string.sub
local function Ee(D,Bf)
return math.min(D,Bf+(ARGV[#ARGV]=='0'and 1000000 or math.min(1000000,500*ARGV[#ARGV])))
end
local Cl=#KEYS==2 and Z('EXISTS',KEYS[1],KEYS[1]..':p')==0
if Cl and#ARGV[2]==33 then
local Ax,Da,Ef=KEYS[2]..'fence',ARGV[7]and ARGV[6],ARGV[#ARGV]
local Ae,Bf=tonumber(Z('GET',Ax)or 0),call('TIME')
local G=Bf[1]*1000000+Bf[2]
if Ae and Ae<9000000000000000 then
local D=math.max(Ae+1,G,Da and Ee(Da,G)or 0)
local Cq,Ay=string.format('%.0f',D),nil
if Ef=='0'then
Ay=Z('SET',Ax,Cq)
else
Ay=Z('SET',Ax,Cq,'PX',Ef)
end
if Ay.ok and Z('SET',KEYS[1],ARGV[2]..Cq..' '..ARGV[4],'PX',ARGV[3]).ok then
if not Da then
return{ARGV[1],D}
end
local Cb=Z('GET',KEYS[2]..'recovered')
return{ARGV[1],D,G,type(Cb)=='string'and sub(Cb,1,400)or''}
end
end
end
local Be,Bi,Bc=4,{ARGV[1]},{}
local Cm
local function Bm()
if not Cm then
local Bf=call('TIME')
Cm=Bf[1]*1000000+Bf[2]
end
return Cm
end
local function Ed(us)
return math.floor(us/1000)
end
local Ax,Aa,Ay,at,Bs=KEYS[#KEYS]..'fence',nil,0,nil,nil
local Dx=false
local function Dc(i)
if not Aa then
local Ae=tonumber(Z('GET',Ax)or 0)
if not Ae or not(Ae<9000000000000000)then
return nil
end
Aa=math.max(Ae,Bm()-1)
end
return Bs and math.max(Aa+1,Bs+(i or at))or Aa+1
end
local function Cu(D)
if D>Ay then
local Cr=D+#KEYS-2
if ARGV[#ARGV]=='0'or Dx and call('PTTL',Ax)==-1 then
call('SET',Ax,Cr)
else
call('SET',Ax,Cr,'PX',ARGV[#ARGV])
end
Ay=Cr
end
Aa=D
end
if#ARGV>2+Be*(#KEYS-1)then
Bs=Ee(ARGV[#ARGV-1],Bm())-1
Bi[#KEYS+1]=Bm()
local Cb=Z('GET',KEYS[#KEYS]..'recovered')
Bi[#KEYS+2]=type(Cb)=='string'and sub(Cb,1,400)or''
end
if#KEYS>2 then
local Db={}
for i=1,#KEYS-1 do
Db[2*i-1],Db[2*i]=KEYS[i],KEYS[i]..':p'
end
Cl=Z('EXISTS',unpack(Db))==0
end
local Ch={}
local function Fc(J)
if Cl then
return not Ch[J]
end
return#KEYS>2 and Z('EXISTS',J,J..':p')==0
end
local De,Dy,X,F
for i=1,#KEYS-1 do
local J,P,Q=KEYS[i],2+Be*(i-1),nil
local Au=ARGV[P]
if ARGV[P+1]~=''then
X,F=ARGV[P+1],ARGV[P+2]
end
if#Au==33 and not Bc[J]then
if Fc(J)then
local D=Aa and not Bs and Aa+1 or Dc(i)
if D and(D<=Ay or pcall(Cu,D))then
Aa,Ch[J]=D,true
local Cz=D%10000
if D-Cz~=De then
De=D-Cz
Dy=string.format('%.0f',De/10000)
end
local T=Au..Dy..string.format('%04d',Cz)..' '..F
Q=Z('SET',J,T,'PX',X).ok and D
end
else
local T=Z('GETRANGE',J,0,12099)
if type(T)=='string'and#T<12100 and sub(T,1,32)==sub(Au,1,32)then
local Aj,D,N,Bw=match(T,'^([-+])(%d+) x 1 0/?(%d*)(  .*)$',33)
Q=D and Z('PEXPIRE',J,X)==1 and tonumber(D)
local B,Az=sub(Au,1,32),nil
if Q and Aj=='+'and Bs and type(Z('ZSCORE',J..':p','!'..B))=='string'then
Az=Dc(i)
if Az and(Az<=Ay or pcall(Cu,Az))then
Aa=Az
else
Az=nil
end
end
if Q and(Az or N~=X)then
Q=Az or Q
local Fk=string.format('%s%.0f x 1 0/%s',sub(T,1,33),Q,X)
Q=Z('SET',J,Fk..Bw,'PX',X).ok and Q
end
if Q and Aj=='+'then
if Z('ZREM',J..':p',B,'!'..B)~=0 then
Z('HDEL',J..':w',B)
end
end
end
end
end
if Q then
Bi[i+1]=Q
else
Bc[#Bc+1],Bc[J]=i,true
end
end
if not Bc[1]then
return Bi
end
local J,W,Ac,Ag,Y,Ak,Ad
local L,Ca,Bz,Bt=320,false,false,false
local function on(Ao)
L,Ca,Bz,Bt=math.max(L,5),false,false,false
J,W,Ac,Ag=Ao,Ao..':h',Ao..':d',Ao..':o'
Y,Ak,Ad=Ao..':q',Ao..':w',Ao..':p'
end
local function Cp(Bp)
return{'corrupt',Bp or'a value that is no lock'}
end
local function Bk(F)
local D,M,V,S,Fl,H,N,I=
match(F,'^(%d+) (%a) (%d+)/?(%d*) (!?)(%d+)/?(%d*) (%S*) ')
return D,M,V,Fl==''and H or'0',I,tonumber(N),S
end
local Ce=12000
local function Fy()
local T=Z('GETRANGE',J,0,Ce+99)
if type(T)~='string'then
return call('GET',J)
end
return(T~=''or call('EXISTS',J)==1)and T
end
local function Dj(F)
if not F or#F<=Ce then
return F
end
local Au=match(sub(F,1,Ce),'^%d* %a [%d/]+ !?%d+/?%d* %S* ')
return(Au or'')..'{"cut":"longer than '..Ce..' bytes"}'
end
local function Ga(F,N)
return(string.gsub(F,'^(%d+ %a [%d/]+ )!?(%d+)/?%d* ','%1%2/'..N..' '))
end
local function Fg(T)
if#T<=32 then
local K,O=match(T,'^%*([spx])(%d*/?%d*)$')
if K~='p'or match(O,'^%d')then
return K,O
end
end
end
local function Fx(T)
local Bq,B,Aj,Ey=match(T,'^(~?)(%x+)([-+])()')
if not B or#B~=32 then
return nil
end
local F=Dj(sub(T,Ey))
local D,M,_,H,I,N=Bk(F)
if M~='x'then
return nil
end
local Ai=call('PTTL',J)
H=tonumber(H)
local Ci=N and Ai>N+H
Ai=Ci and N+H or Ai
local Aq=Bq==''and Ai>H
return{
B=B,Bq=Bq~='',Aj=Aj,F=F,D=D,H=H,I=I,
Aq=Aq,X=Ai,Ai=Aq and Ai-H or Ai,Ci=Ci,
}
end
local function Fo(T)
if not T then
return{}
end
if sub(T,1,1)~='*'then
local E=Fx(T)
return E and{K='x',O='',E=E,D=E.D}
end
local K,O=Fg(T)
return K and{K=K,O=O,D=K=='x'and O or nil}
end
local function Ar(Cd,by)
local O=call('HINCRBY',Ag,Cd,by)
if O<=0 then
call('HDEL',Ag,Cd)
end
end
local function Co(A)
local P,Af=match(A.O,'^(%d*)/?(%d*)$')
local Cf=tonumber(Af~=''and call('HGET',Ag,'c'..Af)or 0)
if Cf>0 and Cf==call('HLEN',Ac)then
P,Cf=Af,0
end
Af=Cf>0 and Af
return math.min(P,Af or P),P,Af
end
local function Dz(A,I)
if I==''then
return 0
end
if A.E then
return A.E.Aq and A.E.I==I and 1 or 0
end
return tonumber(call('HGET',Ag,'o'..I)or 0)
end
local function Eu(F)
local _,M,V,_,I=Bk(F)
if I~=''then
Ar('o'..I,-1)
if M=='p'then
Ar('p'..I,-V)
end
end
end
local function Fr(B,F)
local _,M,V,_,_,_,S=Bk(F)
if M=='p'then
Ar('used',-V)
if call('HGET',Ag,'c'..S)then
Ar('c'..S,-1)
end
end
call('HDEL',Ac,B)
end
local function Eq()
call('UNLINK',J,W,Ac,Ag)
end
local function Dp(U)
local B=sub(U,-32)
local F=call('HGET',Ac,B)
local Bl=U==B
if F then
local _,_,_,H=Bk(F)
if Bl then
Eu(F)
end
if not Bl or H=='0'then
Fr(B,F)
end
end
end
local function Cc()
local Ah=call('ZREVRANGE',W,0,0,'WITHSCORES')[2]
for _,Ao in ipairs({J,W,Ac,Ag})do
call('PEXPIREAT',Ao,Ah)
end
end
local function Fe(G)
local Dn,Ah=false,call('ZREVRANGE',W,0,0,'WITHSCORES')
while Ah[1]and L>0 do
local U=Ah[1]
local _,_,_,H,_,N=Bk(call('HGET',Ac,sub(U,-32))or'')
local Ab=N and G+N+(#U>32 and H or 0)
if not Ab or tonumber(Ah[2])<=Ab then
break
end
call('PEXPIREAT',J,Ah[2])
call('ZADD',W,Ab,U)
Dn,L,Ah=true,L-3,call('ZREVRANGE',W,0,0,'WITHSCORES')
end
if Dn then
Cc()
end
return Ah[2]
end
local function Fn(G)
local Ah=Fe(G)
if not Ah or tonumber(Ah)<=G then
Eq()
return false
end
local Ab=math.max(1,math.ceil(L/3))
local As=call('ZRANGEBYSCORE',W,'-inf',G,'LIMIT',0,Ab)
if As[1]then
call('ZREM',W,unpack(As))
Ca=#As==Ab
L=L-3*#As
end
for _,U in ipairs(As)do
Dp(U)
end
return true
end
local function Fw(G,B)
local A=Fo(Fy())
if A and A.E and A.E.Ci then
call('PEXPIRE',J,A.E.X)
end
if A and A.K and not A.E then
if not Fn(G)then
return{}
end
if Ca and B then
for _,U in ipairs({B,'~'..B})do
local Dq=call('ZSCORE',W,U)
if Dq and tonumber(Dq)<=G then
call('ZREM',W,U)
Dp(U)
end
end
end
end
return A
end
local function Aq(A,B)
if A.E then
return A.E.Aq and A.E.B==B
end
return A.K and call('ZSCORE',W,B)
end
local function Ct(B,Ej,H)
call('ZADD',W,Ej,B)
if H>0 then
call('ZADD',W,Ej+H,'~'..B)
end
end
local function Ex(A,B,N,G)
local Ae=A.E and A.E.F or call('HGET',Ac,B)
local F=Ga(Ae,N)
local D,_,_,H,I=Bk(F)
H=tonumber(H)
call('PEXPIRE',J,N+H)
if A.E then
if F~=Ae then
call('SET',J,B..A.E.Aj..F,'PX',N+H)
end
return D,I
end
if F~=Ae then
call('HSET',Ac,B,F)
end
Ct(B,G+N,H)
Cc()
return D,I
end
local function Dt(G)
return call('ZRANGEBYSCORE',W,'('..string.format('%.0f',G),'+inf','LIMIT',0,1)[1]
end
local function Et(U,G)
local B=sub(U,-32)
local Bl=call('ZSCORE',W,B)
local X=call('ZSCORE',W,'~'..B)or Bl
local A=Bl and'holding'or'closed'
return sub(B,1,8),A,(Bl or X)-G,X-G,Dj(call('HGET',Ac,B))
end
local function Dl(C,A)
local M,K=C.M,A.K
if not K then
return'fits'
end
if not Ca and Dz(A,C.I)>0 then
if K=='x'and M=='x'and C.At or K=='s'and M=='s'then
return'passes'
elseif K=='x'then
return'deadlock','x',1
elseif M=='x'then
local V=call('HGET',Ag,'p'..C.I)
return'deadlock',K,V and V..'/'..Co(A)or 1
end
end
if M=='x'or K=='x'then
return'in_the_way'
end
if M~=K then
local P=Dt(Ed(Bm()))
local Dg=match(call('HGET',Ac,sub(P,-32)),'^%d+ %a (%S+)')
return'mismatch',K,sub(Dg,1,20)
end
if K=='s'then
return'fits'
end
local S,Ff,P,Af=C.S,Co(A)
if Af and S~=P and S~=Af then
return'in_the_way'
end
local Dg=call('HGET',Ag,'used')or 0
return Dg+C.V<=math.min(S,Ff)and'fits'or'in_the_way'
end
local function Ds(A)
local D=A.D or Dc()
return D and(A.D or string.format('%.0f',D))
end
local function Fi()
return Cp('the fence counter is not a number that can grow')
end
local function Dm()
if call('ZCARD',W)+call('HLEN',Ac)+call('HLEN',Ag)>0 then
call('UNLINK',W,Ac,Ag)
end
end
local function Es(E,G)
Dm()
call('SET',J,'*x'..E.D,'PX',E.X)
call('HSET',Ac,E.B,E.F)
Ct(E.B,G+E.Ai,E.H)
Ar('o'..E.I,1)
end
local function Ew(C,D)
local N,H,F=C.N,C.H,D..' '..C.F
call('SET',J,C.B..C.Aj..F,'PX',N+H)
local E={
B=C.B,Bq=false,Aj=C.Aj,F=F,D=D,H=H,
I=C.I,Aq=true,X=N+H,Ai=N,
}
return{K='x',O='',E=E,D=D}
end
local function Fj(S,A)
local _,P,Af=Co(A)
if S~=P then
Af=S
end
local O=Af and P..'/'..Af or P
if O~=A.O then
call('SET',J,'*p'..O,'PX',call('PTTL',J))
call('HDEL',Ag,'c'..P)
end
if S~=P then
Ar('c'..S,1)
end
return O
end
local function Dr(C,A,D,G)
local B,I=C.B,C.I
if D~=A.D then
Cu(tonumber(D))
end
if not A.K and C.M=='x'then
return Ew(C,D)
end
if A.E then
Es(A.E,G)
elseif not A.K then
Dm()
call('SET',J,'*'..C.M..C.S,'PX',C.N+C.H)
end
local O=C.S
if A.K=='p'then
O=Fj(O,A)
end
Ct(B,G+C.N,C.H)
call('HSET',Ac,B,D..' '..C.F)
if C.M=='p'then
Ar('used',C.V)
end
if I~=''then
Ar('o'..I,1)
if C.M=='p'then
Ar('p'..I,C.V)
end
end
if C.M=='x'then
return{K='x',O=D,D=D}
end
return{K=C.M,O=O}
end
local function Bd(B)
if call('ZREM',Ad,B,'!'..B)==0 then
return false
end
call('HDEL',Ak,B)
return call('ZREM',Y,B)==1
end
local function Eh()
return match(call('HGET',Ak,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function El(G)
if call('EXISTS',Ad)==0 then
return false
end
local Ab=math.max(1,L)
local As=call('ZRANGEBYSCORE',Ad,'-inf',G,'LIMIT',0,Ab)
Bz=#As==Ab
L=L-#As
for _,U in ipairs(As)do
local B=match(U,'^!(.*)')
if not B then
Bd(U)
else
local Bb=call('ZSCORE',Ad,B)
if Bb and tonumber(Bb)>G then
local Aw=match(call('HGET',Ak,B)or'','^%d+ %d %S+ (%d+)')
local Di=Aw and call('ZSCORE',Ad,U)-Aw
Bt=Bt or Di and Di>=tonumber((Eh()))
end
call('ZREM',Ad,U)
end
end
return true
end
local function Ft(B,Bg)
local Al,Cn,R,Aw,Av,At,F=match(
Bg or'','^(%d+) ([01]) (%S+) (%d+) (%d+) ([01]) (.*)$'
)
if not R then
return nil
end
local M,V,H,I,Bw=match(F,'^(%a) ([%d/]+) (%d+)/?%d* (%S*) (.*)$')
local Ch,S=match(V,'^(%d+)/?(%d*)$')
local Do=H~='0'
return{
B=B,M=M,At=At=='1',V=Ch,S=S,I=I,
F=string.format('%s %s %s%s/%s %s ',M,V,Do and'!'or'',H,Aw,I)..Bw,
N=tonumber(Aw),H=0,Aj=Do and'+'or'-',R=R,Al=tonumber(Al),
Av=tonumber(Av),Cn=Cn=='1',
}
end
local function Cg(R,Bp)
local Bn=Z('PUBLISH',R,Bp)
return type(Bn)~='number'or Bn>0
end
local function Ea(B)
return match(call('HGET',Ak,B)or'','^%d+ %d (%S+)')
end
local function Eg(Ap,Bp)
local Cj,Bo=8,nil
for _,B in ipairs(call('ZRANGE',Y,0,Cj))do
if B~=Ap and Cj>0 then
Cj=Cj-1
local R=Ea(B)
if R and Cg(R,Bp..B)then
Bo=R
break
end
end
end
local Aa=call('ZREVRANGE',Y,0,0)[1]
local R=Aa and Aa~=Ap and Ea(Aa)
if R and R~=Bo then
Cg(R,Bp..Aa)
end
end
local function En(Ap,G,Ae)
local Eb=call('ZREVRANGE',Ad,0,0,'WITHSCORES')[2]
if not Eb then
return
end
local Ek=0
for _,B in ipairs(call('ZRANGE',Y,0,319))do
local Al,R=match(call('HGET',Ak,B)or'','^(%d+) %d (%S+)')
if R then
Ek=Al
if B~=Ap then
Cg(R,'!'..B)
end
end
end
call('HSET',Ak,'?',string.format('%.0f %s %s',G,Ek,Ae))
call('PEXPIREAT',Ak,Eb)
end
local function Dw(A,G,Ap)
local Dk,By,Df,Cx=Bt,false,false,false
local Fu,Eo,Br,Bj=Eh()
if Dk then
L=math.max(5,L-260)
Bt,Br,Bj=false,Fu,Eo
end
L=math.max(5,L)
local Ae=Br..' '..Bj
Br,Bj=tonumber(Br),tonumber(Bj)
local Bu,at,Be,Bv,An={},0,0,0,{}
while true do
if A.E and A.E.I==''then
break
end
at=at+1
if at>Be then
if An[1]then
call('ZREM',Y,unpack(An))
An={}
end
local Ab=math.min(math.max(Bv,1),64)
Bu=call('ZRANGE',Y,0,Ab)
if not Bu[1]then
break
end
Be,at=math.min(#Bu,Ab),1
end
local Am,Fh=Bu[at],Bu[at+1]
local Bg=call('HGET',Ak,Am)
local C=Ft(Am,Bg)
local Cy=math.floor(#(Bg or'')/256)
local Bb=C and(Bz or C.Al<=Bj)and call('ZSCORE',Ad,Am)
if not C or Bz and Bb and tonumber(Bb)<=G then
if L<=0 then
Cx=true
break
end
L=L-1-Cy
An[#An+1]=Am
Bd(Am)
else
local Ba=Dl(C,A)
Dx=true
local D=(Ba=='fits'or Ba=='passes')and Ds(A)
if not D then
break
end
if L<=0 then
Cx=true
break
end
if Bv==0 then
call('ZREM',Y,Am)
else
An[#An+1]=Am
end
local Bn=Am==Ap
local Fb=C.Al<=Bj and Bb
if not Bn and not(Fb and Bb-C.Av<Br)then
Bn=Cg(C.R,Am)or C.Cn
end
if not Bn then
L,Bv=L-1-Cy,Bv+1
else
L,Bv=L-5-Cy,0
if An[1]then
call('ZREM',Y,unpack(An))
An={}
end
if Am==Ap then
Bd(Am)
else
call('ZADD',Ad,G+C.N,'!'..Am)
Df=true
end
if Fh or Df then
C.Aj='+'
end
A=Dr(C,A,D,G)
By=true
end
end
end
if An[1]then
call('ZREM',Y,unpack(An))
end
if Dk then
En(Ap,G,Ae)
elseif Cx then
Eg(Ap,'!')
elseif Df then
Eg(Ap,'?')
end
if By and not A.E then
Cc()
end
return A
end
local G=Ed(Bm())
local function Fs(P)
local Au,Bx=ARGV[P],P
while ARGV[Bx+1]==''do
Bx=Bx-4
end
local X,F,Gb=unpack(ARGV,Bx+1,Bx+3)
local M,V,S,H,I=match(F,'^(%a) (%d+)/?(%d*) (%d+)/?%d* (%S*) ')
local At,R,Aw,Av,Ab,Dd=
match(Gb,'^([01]) ?(%S*) ?(%d*) ?(%d*) ?(%d*) ?(%d*)$')
return{
B=sub(Au,1,32),M=M,At=At=='1',V=V,S=S,
N=X-H,H=tonumber(H),I=I,F=F,Aj=sub(Au,33),
R=R~=''and R,Aw=Aw,Av=tonumber(Av),Ab=tonumber(Ab),
Dd=tonumber(Dd),
}
end
local function Dv(A,D,I)
return{'granted',D,math.max(1,Dz(A,I))}
end
local function Ep(A,B)
if A.E then
return A.E.B==B
end
return A.K and call('HGET',Ac,B)
end
local function Cv(Q,C,A,Fd)
local E,Bo=A.E,nil
if E then
local Cs=E.Aq and'holding'or'closed'
Bo={sub(E.B,1,8),Cs,E.Ai,E.X,E.F}
else
local V=C.M=='p'and A.K=='p'
local U=Fd and'~'..C.B
or V and Dt(G)
or call('ZREVRANGE',W,0,0)[1]
local Fm,Cs,Ai,X,F=Et(U,G)
if V and Ca then
X=0
end
Bo={Fm,Cs,Ai,X,F}
end
for _,Cd in ipairs(Bo)do
Q[#Q+1]=Cd
end
return Q
end
local function Du(C,A)
if Bd(C.B)then
Dw(A,G)
end
end
local function Ec(A)
if A.E and A.E.Aj=='-'and not A.E.Bq then
call('SETRANGE',J,32,'+')
end
end
local Cw=0
local function Ev(C,A)
local Aa=call('ZREVRANGE',Y,0,0,'WITHSCORES')[2]or 0
local O=C.Dd
if not O then
Cw=math.max(Aa+1,Cw+1,Bm())
O=Cw
end
local Al=string.format('%.0f',O)
call('ZADD',Y,Al,C.B)
local At=C.At and'1'or'0'
local Gd={Al,'0',C.R,C.Aw,C.Av,At,C.F}
call('HSET',Ak,C.B,table.concat(Gd,' '))
Ec(A)
end
local function Er(B,A)
if call('ZSCORE',Y,B)or not call('ZSCORE',Ad,B)or Aq(A,B)then
return
end
local Bg=call('HGET',Ak,B)
if not Bg then
Bd(B)
return
end
call('ZREM',Ad,'!'..B)
local Al,Bw=match(Bg,'^(%d+) %d (.*)$')
call('HSET',Ak,B,Al..' 1 '..Bw)
call('ZADD',Y,Al,B)
call('PEXPIREAT',Y,call('ZREVRANGE',Ad,0,0,'WITHSCORES')[2])
Ec(A)
end
local function Fp(C)
call('ZADD',Ad,G+C.Av,C.B)
local Ah=call('ZREVRANGE',Ad,0,0,'WITHSCORES')[2]
for _,Ao in ipairs({Y,Ak,Ad})do
call('PEXPIREAT',Ao,Ah)
end
end
local function Gc(C,A,Bh)
local Ck=call('ZRANK',Y,C.B)
if Ck then
call('PEXPIRE',Y,C.Av)
elseif Bh>=C.Ab and not Bz then
return{'full',Bh}
else
Ev(C,A)
Ck=call('ZRANK',Y,C.B)
end
Fp(C)
return Cv({'queued',Ck},C,A)
end
local function Fz(C,A,D)
local Dh=Dr(C,A,D,G)
if not Dh.E then
Cc()
end
return Dv(Dh,D,C.I)
end
local function Em(C)
local B=C.B
local A=Fw(G,B)
if not A then
return Cp()
end
if A.E and A.E.X<0 then
return Cp('a lock without an end')
end
local Bh=0
local Ei=El(G)
if Ei then
Er(B,A)
A=Dw(A,G,B)
Bh=call('ZCARD',Y)
end
if Aq(A,B)then
local D,I=Ex(A,B,C.N,G)
if Ei then
Bd(B)
end
return Dv(A,D,I)
end
if Ep(A,B)then
return Cv({'refused'},C,A,true)
end
local Ba,Ez,Fa=Dl(C,A)
if Ba=='deadlock'or Ba=='mismatch'then
Du(C,A)
return{Ba,Ez,Fa}
end
if Ba=='passes'or Ba=='fits'and(Bh==0 or not A.K)then
local D=Ds(A)
if not D then
return Fi()
end
if Bh>0 then
Bd(B)
end
return Fz(C,A,D)
end
if C.R then
return Gc(C,A,Bh)
end
local Fq=Cv({'refused'},C,A)
Du(C,A)
return Fq
end
local function Fv(P)
at=(P-2)/Be+1
return Em(Fs(P))
end
L=L-math.floor(#Bc/3)
for _,i in ipairs(Bc)do
local Q='later'
if L>0 then
on(KEYS[i])
local By
By,Q=pcall(Fv,2+Be*(i-1))
if not By then
Q={'error',type(Q)=='table'and Q.err or Q}
end
L=L-35
end
Bi[i+1]=Q
end
return Bi
