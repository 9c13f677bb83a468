local call,Z,match,sub=redis.call,redis.pcall,string.match,string.sub
local function Ef(D,Bf)
return math.min(D,Bf+(ARGV[#ARGV]=='0'and 1000000 or math.min(1000000,500*ARGV[#ARGV])))
end
local Cl=#KEYS==2 and Z('EXISTS',KEYS[1],KEYS[1]..':p')==0
if Cl and#ARGV[2]==33 then
local Ax,Da,Eg=KEYS[2]..'fence',ARGV[7]and ARGV[6],ARGV[#ARGV]
local Ae,Bf=tonumber(Z('GET',Ax)or 0),call('TIME')
local G=Bf[1]*1000000+Bf[2]
if Ae and Ae<9000000000000000 then
local D=math.max(Ae+1,G,Da and Ef(Da,G)or 0)
local Cq,Ay=string.format('%.0f',D),nil
if Eg=='0'then
Ay=Z('SET',Ax,Cq)
else
Ay=Z('SET',Ax,Cq,'PX',Eg)
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
local function Ee(us)
return math.floor(us/1000)
end
local Ax,Aa,Ay,at,Bs=KEYS[#KEYS]..'fence',nil,0,nil,nil
local Dy=false
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
if ARGV[#ARGV]=='0'or Dy and call('PTTL',Ax)==-1 then
call('SET',Ax,Cr)
else
call('SET',Ax,Cr,'PX',ARGV[#ARGV])
end
Ay=Cr
end
Aa=D
end
if#ARGV>2+Be*(#KEYS-1)then
Bs=Ef(ARGV[#ARGV-1],Bm())-1
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
local De,Dz,X,F
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
Dz=string.format('%.0f',De/10000)
end
local O=Au..Dz..string.format('%04d',Cz)..' '..F
Q=Z('SET',J,O,'PX',X).ok and D
end
else
local O=Z('GETRANGE',J,0,12099)
if type(O)=='string'and#O<12100 and sub(O,1,32)==sub(Au,1,32)then
local Ai,D,M,Bw=match(O,'^([-+])(%d+) x 1 0/?(%d*)(  .*)$',33)
Q=D and Z('PEXPIRE',J,X)==1 and tonumber(D)
local B,Az=sub(Au,1,32),nil
if Q and Ai=='+'and Bs and type(Z('ZSCORE',J..':p','!'..B))=='string'then
Az=Dc(i)
if Az and(Az<=Ay or pcall(Cu,Az))then
Aa=Az
else
Az=nil
end
end
if Q and(Az or M~=X)then
Q=Az or Q
local Fk=string.format('%s%.0f x 1 0/%s',sub(O,1,33),Q,X)
Q=Z('SET',J,Fk..Bw,'PX',X).ok and Q
end
if Q and Ai=='+'then
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
local J,W,Ac,Al,Y,Aj,Ad
local K,Ca,Bz,Bt=320,false,false,false
local function on(Ao)
K,Ca,Bz,Bt=math.max(K,5),false,false,false
J,W,Ac,Al=Ao,Ao..':h',Ao..':d',Ao..':o'
Y,Aj,Ad=Ao..':q',Ao..':w',Ao..':p'
end
local function Cp(Bp)
return{'corrupt',Bp or'a value that is no lock'}
end
local function Bk(F)
local D,L,U,T,Fl,H,M,I=
match(F,'^(%d+) (%a) (%d+)/?(%d*) (!?)(%d+)/?(%d*) (%S*) ')
return D,L,U,Fl==''and H or'0',I,tonumber(M),T
end
local Ce=12000
local function Fy()
local O=Z('GETRANGE',J,0,Ce+99)
if type(O)~='string'then
return call('GET',J)
end
return(O~=''or call('EXISTS',J)==1)and O
end
local function Dj(F)
if not F or#F<=Ce then
return F
end
local Au=match(sub(F,1,Ce),'^%d* %a [%d/]+ !?%d+/?%d* %S* ')
return(Au or'')..'{"cut":"longer than '..Ce..' bytes"}'
end
local function Ga(F,M)
return(string.gsub(F,'^(%d+ %a [%d/]+ )!?(%d+)/?%d* ','%1%2/'..M..' '))
end
local function Fg(O)
if#O<=32 then
if O=='*s'or match(O,'^%*[xp]%d+$')or match(O,'^%*p%d+/%d+$')then
return sub(O,2,2),sub(O,3)
end
end
end
local function Fx(O)
local Bq,B,Ai,Ey=match(O,'^(~?)(%x+)([-+])()')
if not B or#B~=32 then
return nil
end
local F=Dj(sub(O,Ey))
local D,L,_,H,I,M=Bk(F)
if L~='x'then
return nil
end
local Ah=call('PTTL',J)
H=tonumber(H)
local Ci=M and Ah>M+H
Ah=Ci and M+H or Ah
local Aq=Bq==''and Ah>H
return{
B=B,Bq=Bq~='',Ai=Ai,F=F,D=D,H=H,I=I,
Aq=Aq,X=Ah,Ah=Aq and Ah-H or Ah,Ci=Ci,
}
end
local function Fo(O)
if not O then
return{}
end
if sub(O,1,1)~='*'then
local E=Fx(O)
return E and{N='x',S='',E=E,D=E.D}
end
local N,S=Fg(O)
return N and{N=N,S=S,D=N=='x'and S or nil}
end
local function Ar(Cd,by)
local S=call('HINCRBY',Al,Cd,by)
if S<=0 then
call('HDEL',Al,Cd)
end
end
local function Co(A)
local P,Af=match(A.S,'^(%d*)/?(%d*)$')
local Cf=tonumber(Af~=''and call('HGET',Al,'c'..Af)or 0)
if Cf>0 and Cf==call('HLEN',Ac)then
P,Cf=Af,0
end
Af=Cf>0 and Af
return math.min(P,Af or P),P,Af
end
local function Ea(A,I)
if I==''then
return 0
end
if A.E then
return A.E.Aq and A.E.I==I and 1 or 0
end
return tonumber(call('HGET',Al,'o'..I)or 0)
end
local function Eu(F)
local _,L,U,_,I=Bk(F)
if I~=''then
Ar('o'..I,-1)
if L=='p'then
Ar('p'..I,-U)
end
end
end
local function Fr(B,F)
local _,L,U,_,_,_,T=Bk(F)
if L=='p'then
Ar('used',-U)
if call('HGET',Al,'c'..T)then
Ar('c'..T,-1)
end
end
call('HDEL',Ac,B)
end
local function Eq()
call('UNLINK',J,W,Ac,Al)
end
local function Dq(V)
local B=sub(V,-32)
local F=call('HGET',Ac,B)
local Bl=V==B
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
local Ag=call('ZREVRANGE',W,0,0,'WITHSCORES')[2]
for _,Ao in ipairs({J,W,Ac,Al})do
call('PEXPIREAT',Ao,Ag)
end
end
local function Fe(G)
local Do,Ag=false,call('ZREVRANGE',W,0,0,'WITHSCORES')
while Ag[1]and K>0 do
local V=Ag[1]
local _,_,_,H,_,M=Bk(call('HGET',Ac,sub(V,-32))or'')
local Ab=M and G+M+(#V>32 and H or 0)
if not Ab or tonumber(Ag[2])<=Ab then
break
end
call('PEXPIREAT',J,Ag[2])
call('ZADD',W,Ab,V)
Do,K,Ag=true,K-3,call('ZREVRANGE',W,0,0,'WITHSCORES')
end
if Do then
Cc()
end
return Ag[2]
end
local function Fn(G)
local Ag=Fe(G)
if not Ag or tonumber(Ag)<=G then
Eq()
return false
end
local Ab=math.max(1,math.ceil(K/3))
local As=call('ZRANGEBYSCORE',W,'-inf',G,'LIMIT',0,Ab)
if As[1]then
call('ZREM',W,unpack(As))
Ca=#As==Ab
K=K-3*#As
end
for _,V in ipairs(As)do
Dq(V)
end
return true
end
local function Fw(G,B)
local A=Fo(Fy())
if A and A.E and A.E.Ci then
call('PEXPIRE',J,A.E.X)
end
if A and A.N and not A.E then
if not Fn(G)then
return{}
end
if Ca and B then
for _,V in ipairs({B,'~'..B})do
local Dr=call('ZSCORE',W,V)
if Dr and tonumber(Dr)<=G then
call('ZREM',W,V)
Dq(V)
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
return A.N and call('ZSCORE',W,B)
end
local function Ct(B,Ek,H)
call('ZADD',W,Ek,B)
if H>0 then
call('ZADD',W,Ek+H,'~'..B)
end
end
local function Ex(A,B,M,G)
local Ae=A.E and A.E.F or call('HGET',Ac,B)
local F=Ga(Ae,M)
local D,_,_,H,I=Bk(F)
H=tonumber(H)
call('PEXPIRE',J,M+H)
if A.E then
if F~=Ae then
call('SET',J,B..A.E.Ai..F,'PX',M+H)
end
return D,I
end
if F~=Ae then
call('HSET',Ac,B,F)
end
Ct(B,G+M,H)
Cc()
return D,I
end
local function Du(G)
return call('ZRANGEBYSCORE',W,'('..string.format('%.0f',G),'+inf','LIMIT',0,1)[1]
end
local function Et(V,G)
local B=sub(V,-32)
local Bl=call('ZSCORE',W,B)
local X=call('ZSCORE',W,'~'..B)or Bl
local A=Bl and'holding'or'closed'
return sub(B,1,8),A,(Bl or X)-G,X-G,Dj(call('HGET',Ac,B))
end
local function Dm(C,A)
local L,N=C.L,A.N
if not N then
return'fits'
end
if not Ca and Ea(A,C.I)>0 then
if N=='x'and L=='x'and C.At or N=='s'and L=='s'then
return'passes'
elseif N=='x'then
return'deadlock','x',1
elseif L=='x'then
local U=call('HGET',Al,'p'..C.I)
return'deadlock',N,U and U..'/'..Co(A)or 1
end
end
if L=='x'or N=='x'then
return'in_the_way'
end
if L~=N then
local P=Du(Ee(Bm()))
local Dg=match(call('HGET',Ac,sub(P,-32)),'^%d+ %a (%S+)')
return'mismatch',N,sub(Dg,1,21)
end
if N=='s'then
return'fits'
end
local T,Ff,P,Af=C.T,Co(A)
if Af and T~=P and T~=Af then
return'in_the_way'
end
local Dg=call('HGET',Al,'used')or 0
return Dg+C.U<=math.min(T,Ff)and'fits'or'in_the_way'
end
local function Dt(A)
local D=A.D or Dc()
return D and(A.D or string.format('%.0f',D))
end
local function Fi()
return Cp('the fence counter is not a number that can grow')
end
local function Dn()
if call('ZCARD',W)+call('HLEN',Ac)+call('HLEN',Al)>0 then
call('UNLINK',W,Ac,Al)
end
end
local function Es(E,G)
Dn()
call('SET',J,'*x'..E.D,'PX',E.X)
call('HSET',Ac,E.B,E.F)
Ct(E.B,G+E.Ah,E.H)
Ar('o'..E.I,1)
end
local function Ew(C,D)
local M,H,F=C.M,C.H,D..' '..C.F
call('SET',J,C.B..C.Ai..F,'PX',M+H)
local E={
B=C.B,Bq=false,Ai=C.Ai,F=F,D=D,H=H,
I=C.I,Aq=true,X=M+H,Ah=M,
}
return{N='x',S='',E=E,D=D}
end
local function Fj(T,A)
local _,P,Af=Co(A)
if T~=P then
Af=T
end
local S=Af and P..'/'..Af or P
if S~=A.S then
call('SET',J,'*p'..S,'KEEPTTL')
end
if T~=P then
Ar('c'..T,1)
end
return S
end
local function Ds(C,A,D,G)
local B,I=C.B,C.I
if D~=A.D then
Cu(tonumber(D))
end
if not A.N and C.L=='x'then
return Ew(C,D)
end
if A.E then
Es(A.E,G)
elseif not A.N then
Dn()
call('SET',J,'*'..C.L..C.T,'PX',C.M+C.H)
end
local S=C.T
if A.N=='p'then
S=Fj(S,A)
end
Ct(B,G+C.M,C.H)
call('HSET',Ac,B,D..' '..C.F)
if C.L=='p'then
Ar('used',C.U)
end
if I~=''then
Ar('o'..I,1)
if C.L=='p'then
Ar('p'..I,C.U)
end
end
if C.L=='x'then
return{N='x',S=D,D=D}
end
return{N=C.L,S=S}
end
local function Bd(B)
if call('ZREM',Ad,B,'!'..B)==0 then
return false
end
call('HDEL',Aj,B)
return call('ZREM',Y,B)==1
end
local function Ei()
return match(call('HGET',Aj,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function Em(G)
if call('EXISTS',Ad)==0 then
return false
end
local Ab=math.max(1,K)
local As=call('ZRANGEBYSCORE',Ad,'-inf',G,'LIMIT',0,Ab)
Bz=#As==Ab
K=K-#As
for _,V in ipairs(As)do
local B=match(V,'^!(.*)')
if not B then
Bd(V)
else
local Bb=call('ZSCORE',Ad,B)
if Bb and tonumber(Bb)>G then
local Aw=match(call('HGET',Aj,B)or'','^%d+ %d %S+ (%d+)')
local Di=Aw and call('ZSCORE',Ad,V)-Aw
Bt=Bt or Di and Di>=tonumber((Ei()))
end
call('ZREM',Ad,V)
end
end
return true
end
local function Ft(B,Bg)
local Ak,Cn,R,Aw,Av,At,F=match(
Bg or'','^(%d+) ([01]) (%S+) (%d+) (%d+) ([01]) (.*)$'
)
if not R then
return nil
end
local L,U,H,I,Bw=match(F,'^(%a) ([%d/]+) (%d+)/?%d* (%S*) (.*)$')
if not U then
return nil
end
local Ch,T=match(U,'^(%d+)/?(%d*)$')
local Dp=H~='0'
return{
B=B,L=L,At=At=='1',U=Ch,T=T,I=I,
F=string.format('%s %s %s%s/%s %s ',L,U,Dp and'!'or'',H,Aw,I)..Bw,
M=tonumber(Aw),H=0,Ai=Dp and'+'or'-',R=R,Ak=tonumber(Ak),
Av=tonumber(Av),Cn=Cn=='1',
}
end
local function Cg(R,Bp)
local Bn=Z('PUBLISH',R,Bp)
return type(Bn)~='number'or Bn>0
end
local function Eb(B)
return match(call('HGET',Aj,B)or'','^%d+ %d (%S+)')
end
local function Eh(Ap,Bp)
local Cj,Bo=8,nil
for _,B in ipairs(call('ZRANGE',Y,0,Cj))do
if B~=Ap and Cj>0 then
Cj=Cj-1
local R=Eb(B)
if R and Cg(R,Bp..B)then
Bo=R
break
end
end
end
local Aa=call('ZREVRANGE',Y,0,0)[1]
local R=Aa and Aa~=Ap and Eb(Aa)
if R and R~=Bo then
Cg(R,Bp..Aa)
end
end
local function Eo(Ap,G,Ae)
local Ec=call('ZREVRANGE',Ad,0,0,'WITHSCORES')[2]
if not Ec then
return
end
local El=0
for _,B in ipairs(call('ZRANGE',Y,0,319))do
local Ak,R=match(call('HGET',Aj,B)or'','^(%d+) %d (%S+)')
if R then
El=Ak
if B~=Ap then
Cg(R,'!'..B)
end
end
end
call('HSET',Aj,'?',string.format('%.0f %s %s',G,El,Ae))
call('PEXPIREAT',Aj,Ec)
end
local function Dx(A,G,Ap)
local Dk,By,Df,Cx=Bt,false,false,false
local Fu,Ep,Br,Bj=Ei()
if Dk then
K=math.max(5,K-260)
Bt,Br,Bj=false,Fu,Ep
end
K=math.max(5,K)
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
local Bg=call('HGET',Aj,Am)
local C=Ft(Am,Bg)
local Cy=math.floor(#(Bg or'')/256)
local Bb=C and(Bz or C.Ak<=Bj)and call('ZSCORE',Ad,Am)
if not C or Bz and Bb and tonumber(Bb)<=G then
if K<=0 then
Cx=true
break
end
K=K-1-Cy
An[#An+1]=Am
Bd(Am)
else
local Ba=Dm(C,A)
Dy=true
local D=(Ba=='fits'or Ba=='passes')and Dt(A)
if not D then
break
end
if K<=0 then
Cx=true
break
end
if Bv==0 then
call('ZREM',Y,Am)
else
An[#An+1]=Am
end
local Bn=Am==Ap
local Fb=C.Ak<=Bj and Bb
if not Bn and not(Fb and Bb-C.Av<Br)then
Bn=Cg(C.R,Am)or C.Cn
end
if not Bn then
K,Bv=K-1-Cy,Bv+1
else
K,Bv=K-5-Cy,0
if An[1]then
call('ZREM',Y,unpack(An))
An={}
end
if Am==Ap then
Bd(Am)
else
call('ZADD',Ad,G+C.M,'!'..Am)
Df=true
end
if Fh or Df then
C.Ai='+'
end
A=Ds(C,A,D,G)
By=true
end
end
end
if An[1]then
call('ZREM',Y,unpack(An))
end
if Dk then
Eo(Ap,G,Ae)
elseif Cx then
Eh(Ap,'!')
elseif Df then
Eh(Ap,'?')
end
if By and not A.E then
Cc()
end
return A
end
local G=Ee(Bm())
local function Fs(P)
local Au,Bx=ARGV[P],P
while ARGV[Bx+1]==''do
Bx=Bx-4
end
local X,F,Gb=unpack(ARGV,Bx+1,Bx+3)
local L,U,T,H,I=match(F,'^(%a) (%d+)/?(%d*) (%d+)/?%d* (%S*) ')
local At,R,Aw,Av,Ab,Dd=
match(Gb,'^([01]) ?(%S*) ?(%d*) ?(%d*) ?(%d*) ?(%d*)$')
return{
B=sub(Au,1,32),L=L,At=At=='1',U=U,T=T,
M=X-H,H=tonumber(H),I=I,F=F,Ai=sub(Au,33),
R=R~=''and R,Aw=Aw,Av=tonumber(Av),Ab=tonumber(Ab),
Dd=tonumber(Dd),
}
end
local function Dw(A,D,I)
return{'granted',D,math.max(1,Ea(A,I))}
end
local function Dl(A,B)
if A.E then
return A.E.B==B
end
return A.N and call('HGET',Ac,B)
end
local function Cv(Q,C,A,Fd)
local E,Bo=A.E,nil
if E then
local Cs=E.Aq and'holding'or'closed'
Bo={sub(E.B,1,8),Cs,E.Ah,E.X,E.F}
else
local U=C.L=='p'and A.N=='p'
local V=Fd and'~'..C.B
or U and Du(G)
or call('ZREVRANGE',W,0,0)[1]
local Fm,Cs,Ah,X,F=Et(V,G)
if U and Ca then
X=0
end
Bo={Fm,Cs,Ah,X,F}
end
for _,Cd in ipairs(Bo)do
Q[#Q+1]=Cd
end
return Q
end
local function Dv(C,A)
if Bd(C.B)then
Dx(A,G)
end
end
local function Ed(A)
if A.E and A.E.Ai=='-'and not A.E.Bq then
call('SETRANGE',J,32,'+')
end
end
local Cw=0
local function Ev(C,A)
local Aa=call('ZREVRANGE',Y,0,0,'WITHSCORES')[2]or 0
local S=C.Dd
if not S then
Cw=math.max(Aa+1,Cw+1,Bm())
S=Cw
end
local Ak=string.format('%.0f',S)
call('ZADD',Y,Ak,C.B)
local At=C.At and'1'or'0'
local Gd={Ak,'0',C.R,C.Aw,C.Av,At,C.F}
call('HSET',Aj,C.B,table.concat(Gd,' '))
Ed(A)
end
local function Er(B,A)
if call('ZSCORE',Y,B)or not call('ZSCORE',Ad,B)or Aq(A,B)
or Dl(A,B)then
return
end
local Bg=call('HGET',Aj,B)
if not Bg then
Bd(B)
return
end
call('ZREM',Ad,'!'..B)
local Ak,Bw=match(Bg,'^(%d+) %d (.*)$')
call('HSET',Aj,B,Ak..' 1 '..Bw)
call('ZADD',Y,Ak,B)
call('PEXPIREAT',Y,call('ZREVRANGE',Ad,0,0,'WITHSCORES')[2])
Ed(A)
end
local function Fp(C)
call('ZADD',Ad,G+C.Av,C.B)
local Ag=call('ZREVRANGE',Ad,0,0,'WITHSCORES')[2]
for _,Ao in ipairs({Y,Aj,Ad})do
call('PEXPIREAT',Ao,Ag)
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
local Dh=Ds(C,A,D,G)
if not Dh.E then
Cc()
end
return Dw(Dh,D,C.I)
end
local function En(C)
local B=C.B
local A=Fw(G,B)
if not A then
return Cp()
end
if A.E and A.E.X<0 then
return Cp('a lock without an end')
end
local Bh=0
local Ej=Em(G)
if Ej then
Er(B,A)
A=Dx(A,G,B)
Bh=call('ZCARD',Y)
end
if Aq(A,B)then
local D,I=Ex(A,B,C.M,G)
if Ej then
Bd(B)
end
return Dw(A,D,I)
end
if Dl(A,B)then
return Cv({'refused'},C,A,true)
end
local Ba,Ez,Fa=Dm(C,A)
if Ba=='deadlock'or Ba=='mismatch'then
Dv(C,A)
return{Ba,Ez,Fa}
end
if Ba=='passes'or Ba=='fits'and(Bh==0 or not A.N)then
local D=Dt(A)
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
Dv(C,A)
return Fq
end
local function Fv(P)
at=(P-2)/Be+1
return En(Fs(P))
end
K=K-math.floor(#Bc/3)
for _,i in ipairs(Bc)do
local Q='later'
if K>0 then
on(KEYS[i])
local By
By,Q=pcall(Fv,2+Be*(i-1))
if not By then
Q={'error',type(Q)=='table'and Q.err or Q}
end
K=K-35
end
Bi[i+1]=Q
end
return Bi
