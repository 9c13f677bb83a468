local call,A=redis.call,redis.pcall
local B,C,D=3,{ARGV[1]},{}
local E,F,G={},{},{}
for i=1,#KEYS-1 do
if not F[KEYS[i]]then
E[#E+1],F[KEYS[i]]=KEYS[i],#E+1
end
end
local H=E[2]and A('MGET',unpack(E))or{A('GETRANGE',E[1],0,32)}
for i=1,#KEYS-1 do
local I,J=KEYS[i],nil
if not D[I]then
local K=H[F[I]]
if not K or K==''then
J=A('EXISTS',I,I..':p')==0 and 0
elseif type(K)=='string'and string.find(K,ARGV[2+B*(i-1)],1,true)==1 then
J,D[I],G[#G+1]=1,true,I
end
end
if J then
C[i+1]=J
else
D[#D+1],D[I]=i,true
end
end
if G[1]then
call('DEL',unpack(G))
end
if not D[1]then
return C
end
local L
local function M()
if not L then
local N=call('TIME')
L=N[1]*1000000+N[2]
end
return L
end
local function O(us)
return math.floor(us/1000)
end
local P,Q,R,at,S=KEYS[#KEYS]..'fence',nil,0,nil,nil
local T=false
local function U(i)
if not Q then
local V=tonumber(A('GET',P)or 0)
if not V or not(V<9000000000000000)then
return nil
end
Q=math.max(V,M()-1)
end
return S and math.max(Q+1,S+(i or at))or Q+1
end
local function W(X)
if X>R then
local Y=X+#KEYS-2
if ARGV[#ARGV]=='0'or T and call('PTTL',P)==-1 then
call('SET',P,Y)
else
call('SET',P,Y,'PX',ARGV[#ARGV])
end
R=Y
end
Q=X
end
local I,Z,Aa,Ab,Ac,Ad,Ae
local Af,Ag,Ah,Ai=320,false,false,false
local function on(Aj)
Af,Ag,Ah,Ai=math.max(Af,5),false,false,false
I,Z,Aa,Ab=Aj,Aj..':h',Aj..':d',Aj..':o'
Ac,Ad,Ae=Aj..':q',Aj..':w',Aj..':p'
end
local function Ak(Al)
return{'corrupt',Al or'a value that is no lock'}
end
local function Am(An)
local X,Ao,Ap,Aq,Ar,As,At=string.match(An,'^(%d+) (%a) (%d+) (!?)(%d+)/?(%d*) (%S*) ')
return X,Ao,Ap,Aq==''and Ar or'0',At,tonumber(As)
end
local Au=12000
local function Av()
local K=A('GETRANGE',I,0,Au+99)
if type(K)~='string'then
return call('GET',I)
end
return(K~=''or call('EXISTS',I)==1)and K
end
local function Aw(An)
if not An or#An<=Au then
return An
end
local Ax=string.match(string.sub(An,1,Au),'^%d* %a %d+ !?%d+/?%d* %S* ')
return(Ax or'')..'{"cut":"longer than '..Au..' bytes"}'
end
local function Ay(An,As)
return(string.gsub(An,'^(%d+ %a %d+ )!?(%d+)/?%d* ','%1%2/'..As..' '))
end
local function Az(K)
if#K<=32 then
return string.match(K,'^%*([spx])(%d*)$')
end
end
local function Ba(K)
local Bb,Bc,Bd,Be=string.match(K,'^(~?)(%x+)([-+])()')
if not Bc or#Bc~=32 then
return nil
end
local An=Aw(string.sub(K,Be))
local X,Ao,_,Ar,At,As=Am(An)
if Ao~='x'then
return nil
end
local Bf=call('PTTL',I)
Ar=tonumber(Ar)
local Bg=As and Bf>As+Ar
Bf=Bg and As+Ar or Bf
local Bh=Bb==''and Bf>Ar
return{
Bc=Bc,Bb=Bb~='',Bd=Bd,An=An,X=X,Ar=Ar,At=At,
Bh=Bh,Bi=Bf,Bf=Bh and Bf-Ar or Bf,Bg=Bg,
}
end
local function Bj(K)
if not K then
return{}
end
if string.sub(K,1,1)~='*'then
local Bk=Ba(K)
return Bk and{Bl='x',Bm='',Bk=Bk,X=Bk.X}
end
local Bl,Bm=Az(K)
return Bl and{Bl=Bl,Bm=Bm,X=Bl=='x'and Bm or nil}
end
local function Bn(Bo,by)
local Bm=call('HINCRBY',Ab,Bo,by)
if Bm<=0 then
call('HDEL',Ab,Bo)
end
end
local function Bp(Bq,At)
if At==''then
return 0
end
if Bq.Bk then
return Bq.Bk.Bh and Bq.Bk.At==At and 1 or 0
end
return tonumber(call('HGET',Ab,'o'..At)or 0)
end
local function Br(An)
local _,Ao,Ap,_,At=Am(An)
if At~=''then
Bn('o'..At,-1)
if Ao=='p'then
Bn('p'..At,-Ap)
end
end
end
local function Bs(Bc,An)
local _,Ao,Ap=Am(An)
if Ao=='p'then
Bn('used',-Ap)
end
call('HDEL',Aa,Bc)
end
local function Bt()
call('UNLINK',I,Z,Aa,Ab)
end
local function Bu(Bv)
local Bc=string.sub(Bv,-32)
local An=call('HGET',Aa,Bc)
local Bw=Bv==Bc
if An then
local _,_,_,Ar=Am(An)
if Bw then
Br(An)
end
if not Bw or Ar=='0'then
Bs(Bc,An)
end
end
end
local function Bx()
local By=call('ZREVRANGE',Z,0,0,'WITHSCORES')[2]
for _,Aj in ipairs({I,Z,Aa,Ab})do
call('PEXPIREAT',Aj,By)
end
end
local function Bz(Ca)
local Cb,By=false,call('ZREVRANGE',Z,0,0,'WITHSCORES')
while By[1]and Af>0 do
local Bv=By[1]
local _,_,_,Ar,_,As=Am(call('HGET',Aa,string.sub(Bv,-32))or'')
local Cc=As and Ca+As+(#Bv>32 and Ar or 0)
if not Cc or tonumber(By[2])<=Cc then
break
end
call('PEXPIREAT',I,By[2])
call('ZADD',Z,Cc,Bv)
Cb,Af,By=true,Af-3,call('ZREVRANGE',Z,0,0,'WITHSCORES')
end
if Cb then
Bx()
end
return By[2]
end
local function Cd(Ca)
local By=Bz(Ca)
if not By or tonumber(By)<=Ca then
Bt()
return false
end
local Cc=math.max(1,math.ceil(Af/3))
local Ce=call('ZRANGEBYSCORE',Z,'-inf',Ca,'LIMIT',0,Cc)
if Ce[1]then
call('ZREM',Z,unpack(Ce))
Ag=#Ce==Cc
Af=Af-3*#Ce
end
for _,Bv in ipairs(Ce)do
Bu(Bv)
end
return true
end
local function Cf(Ca,Bc)
local Bq=Bj(Av())
if Bq and Bq.Bk and Bq.Bk.Bg then
call('PEXPIRE',I,Bq.Bk.Bi)
end
if Bq and Bq.Bl and not Bq.Bk then
if not Cd(Ca)then
return{}
end
if Ag and Bc then
for _,Bv in ipairs({Bc,'~'..Bc})do
local Cg=call('ZSCORE',Z,Bv)
if Cg and tonumber(Cg)<=Ca then
call('ZREM',Z,Bv)
Bu(Bv)
end
end
end
end
return Bq
end
local function Bh(Bq,Bc)
if Bq.Bk then
return Bq.Bk.Bh and Bq.Bk.Bc==Bc
end
return Bq.Bl and call('ZSCORE',Z,Bc)
end
local function Ch(Bc,Ci,Ar)
call('ZADD',Z,Ci,Bc)
if Ar>0 then
call('ZADD',Z,Ci+Ar,'~'..Bc)
end
end
local function Cj(Bq,Bc,As,Ca)
local V=Bq.Bk and Bq.Bk.An or call('HGET',Aa,Bc)
local An=Ay(V,As)
local X,_,_,Ar,At=Am(An)
Ar=tonumber(Ar)
call('PEXPIRE',I,As+Ar)
if Bq.Bk then
if An~=V then
call('SET',I,Bc..Bq.Bk.Bd..An,'PX',As+Ar)
end
return X,At
end
if An~=V then
call('HSET',Aa,Bc,An)
end
Ch(Bc,Ca+As,Ar)
Bx()
return X,At
end
local function Ck(Ca)
return call('ZRANGEBYSCORE',Z,'('..string.format('%.0f',Ca),'+inf','LIMIT',0,1)[1]
end
local function Cl(Bv,Ca)
local Bc=string.sub(Bv,-32)
local Bw=call('ZSCORE',Z,Bc)
local Bi=call('ZSCORE',Z,'~'..Bc)or Bw
local Bq=Bw and'holding'or'closed'
return string.sub(Bc,1,8),Bq,(Bw or Bi)-Ca,Bi-Ca,Aw(call('HGET',Aa,Bc))
end
local function Cm(Cn,Bq)
local Ao,Bl,Bm=Cn.Ao,Bq.Bl,Bq.Bm
if not Bl then
return'fits'
end
if not Ag and Bp(Bq,Cn.At)>0 then
if Bl=='x'and Ao=='x'and Cn.Co or Bl=='s'and Ao=='s'then
return'passes'
elseif Bl=='x'then
return'deadlock','x',1,''
elseif Ao=='x'then
return'deadlock',Bl,call('HGET',Ab,'p'..Cn.At)or 1,Bm
end
end
if Ao=='x'or Bl=='x'then
return'in_the_way'
end
if Ao~=Bl or Cn.Cp~=Bm then
local Cq=Ck(O(M()))
local _,_,Cr=Am(call('HGET',Aa,string.sub(Cq,-32)))
return'mismatch',Bl,string.sub(Cr,1,20),Bm
end
local Cr=Bl=='p'and call('HGET',Ab,'used')or 0
return(Bl=='s'or Cr+Cn.Ap<=tonumber(Bm))and'fits'or'in_the_way'
end
local function Cs(Bq)
local X=Bq.X or U()
return X and(Bq.X or string.format('%.0f',X))
end
local function Ct()
return Ak('the fence counter is not a number that can grow')
end
local function Cu()
if call('ZCARD',Z)+call('HLEN',Aa)+call('HLEN',Ab)>0 then
call('UNLINK',Z,Aa,Ab)
end
end
local function Cv(Bk,Ca)
Cu()
call('SET',I,'*x'..Bk.X,'PX',Bk.Bi)
call('HSET',Aa,Bk.Bc,Bk.An)
Ch(Bk.Bc,Ca+Bk.Bf,Bk.Ar)
Bn('o'..Bk.At,1)
end
local function Cw(Cn,X)
local As,Ar,An=Cn.As,Cn.Ar,X..' '..Cn.An
call('SET',I,Cn.Bc..Cn.Bd..An,'PX',As+Ar)
local Bk={
Bc=Cn.Bc,Bb=false,Bd=Cn.Bd,An=An,X=X,Ar=Ar,
At=Cn.At,Bh=true,Bi=As+Ar,Bf=As,
}
return{Bl='x',Bm='',Bk=Bk,X=X}
end
local function Cx(Cn,Bq,X,Ca)
local Bc,At=Cn.Bc,Cn.At
if X~=Bq.X then
W(tonumber(X))
end
if not Bq.Bl and Cn.Ao=='x'then
return Cw(Cn,X)
end
if Bq.Bk then
Cv(Bq.Bk,Ca)
elseif not Bq.Bl then
Cu()
call('SET',I,'*'..Cn.Ao..Cn.Cp,'PX',Cn.As+Cn.Ar)
end
Ch(Bc,Ca+Cn.As,Cn.Ar)
call('HSET',Aa,Bc,X..' '..Cn.An)
if Cn.Ao=='p'then
Bn('used',Cn.Ap)
end
if At~=''then
Bn('o'..At,1)
if Cn.Ao=='p'then
Bn('p'..At,Cn.Ap)
end
end
if Cn.Ao=='x'then
return{Bl='x',Bm=X,X=X}
end
return{Bl=Cn.Ao,Bm=Cn.Cp}
end
local function Cy(Bc)
if call('ZREM',Ae,Bc,'!'..Bc)==0 then
return false
end
call('HDEL',Ad,Bc)
return call('ZREM',Ac,Bc)==1
end
local function Cz()
return string.match(call('HGET',Ad,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function Da(Ca)
if call('EXISTS',Ae)==0 then
return false
end
local Cc=math.max(1,Af)
local Ce=call('ZRANGEBYSCORE',Ae,'-inf',Ca,'LIMIT',0,Cc)
Ah=#Ce==Cc
Af=Af-#Ce
for _,Bv in ipairs(Ce)do
local Bc=string.match(Bv,'^!(.*)')
if not Bc then
Cy(Bv)
else
local Db=call('ZSCORE',Ae,Bc)
if Db and tonumber(Db)>Ca then
local Dc=string.match(call('HGET',Ad,Bc)or'','^%d+ %d %S+ (%d+)')
local Dd=Dc and call('ZSCORE',Ae,Bv)-Dc
Ai=Ai or Dd and Dd>=tonumber((Cz()))
end
call('ZREM',Ae,Bv)
end
end
return true
end
local function De(Bc,Df)
local Dg,Dh,Di,Dc,Dj,Cp,Co,An=string.match(
Df or'','^(%d+) ([01]) (%S+) (%d+) (%d+) (%d*) ([01]) (.*)$'
)
if not Di then
return nil
end
local Ao,Ap,Ar,At,Dk=string.match(An,'^(%a) (%d+) (%d+)/?%d* (%S*) (.*)$')
local Dl=Ar~='0'
return{
Bc=Bc,Ao=Ao,Co=Co=='1',Ap=Ap,Cp=Cp,At=At,
An=string.format('%s %s %s%s/%s %s ',Ao,Ap,Dl and'!'or'',Ar,Dc,At)..Dk,
As=tonumber(Dc),Ar=0,Bd=Dl and'+'or'-',Di=Di,Dg=tonumber(Dg),
Dj=tonumber(Dj),Dh=Dh=='1',
}
end
local function Dm(Di,Al)
local Dn=A('PUBLISH',Di,Al)
return type(Dn)~='number'or Dn>0
end
local function Do(Bc)
return string.match(call('HGET',Ad,Bc)or'','^%d+ %d (%S+)')
end
local function Dp(Dq,Al)
local Dr,Ds=8,nil
for _,Bc in ipairs(call('ZRANGE',Ac,0,Dr))do
if Bc~=Dq and Dr>0 then
Dr=Dr-1
local Di=Do(Bc)
if Di and Dm(Di,Al..Bc)then
Ds=Di
break
end
end
end
local Q=call('ZREVRANGE',Ac,0,0)[1]
local Di=Q and Q~=Dq and Do(Q)
if Di and Di~=Ds then
Dm(Di,Al..Q)
end
end
local function Dt(Dq,Ca,V)
local Du=call('ZREVRANGE',Ae,0,0,'WITHSCORES')[2]
if not Du then
return
end
local Dv=0
for _,Bc in ipairs(call('ZRANGE',Ac,0,319))do
local Dg,Di=string.match(call('HGET',Ad,Bc)or'','^(%d+) %d (%S+)')
if Di then
Dv=Dg
if Bc~=Dq then
Dm(Di,'!'..Bc)
end
end
end
call('HSET',Ad,'?',string.format('%.0f %s %s',Ca,Dv,V))
call('PEXPIREAT',Ad,Du)
end
local function Dw(Bq,Ca,Dq)
local Dx,Dy,Dz,Ea=Ai,false,false,false
local Eb,Ec,Ed,Ee=Cz()
if Dx then
Af=math.max(5,Af-260)
Ai,Ed,Ee=false,Eb,Ec
end
Af=math.max(5,Af)
local V=Ed..' '..Ee
Ed,Ee=tonumber(Ed),tonumber(Ee)
local Ef,at,B,Eg,Eh={},0,0,0,{}
while true do
if Bq.Bk and Bq.Bk.At==''then
break
end
at=at+1
if at>B then
if Eh[1]then
call('ZREM',Ac,unpack(Eh))
Eh={}
end
local Cc=math.min(math.max(Eg,1),64)
Ef=call('ZRANGE',Ac,0,Cc)
if not Ef[1]then
break
end
B,at=math.min(#Ef,Cc),1
end
local Ei,Ej=Ef[at],Ef[at+1]
local Df=call('HGET',Ad,Ei)
local Cn=De(Ei,Df)
local Ek=math.floor(#(Df or'')/256)
local Db=Cn and(Ah or Cn.Dg<=Ee)and call('ZSCORE',Ae,Ei)
if not Cn or Ah and Db and tonumber(Db)<=Ca then
if Af<=0 then
Ea=true
break
end
Af=Af-1-Ek
Eh[#Eh+1]=Ei
Cy(Ei)
else
local El=Cm(Cn,Bq)
T=true
local X=(El=='fits'or El=='passes')and Cs(Bq)
if not X then
break
end
if Af<=0 then
Ea=true
break
end
if Eg==0 then
call('ZREM',Ac,Ei)
else
Eh[#Eh+1]=Ei
end
local Dn=Ei==Dq
local Em=Cn.Dg<=Ee and Db
if not Dn and not(Em and Db-Cn.Dj<Ed)then
Dn=Dm(Cn.Di,Ei)or Cn.Dh
end
if not Dn then
Af,Eg=Af-1-Ek,Eg+1
else
Af,Eg=Af-5-Ek,0
if Eh[1]then
call('ZREM',Ac,unpack(Eh))
Eh={}
end
if Ei==Dq then
Cy(Ei)
else
call('ZADD',Ae,Ca+Cn.As,'!'..Ei)
Dz=true
end
if Ej or Dz then
Cn.Bd='+'
end
Bq=Cx(Cn,Bq,X,Ca)
Dy=true
end
end
end
if Eh[1]then
call('ZREM',Ac,unpack(Eh))
end
if Dx then
Dt(Dq,Ca,V)
elseif Ea then
Dp(Dq,'!')
elseif Dz then
Dp(Dq,'?')
end
if Dy and not Bq.Bk then
Bx()
end
return Bq
end
local function En(Bq,Bc,An)
if Bq.Bk then
call('DEL',I)
return{}
end
call('ZREM',Z,Bc,'~'..Bc)
Br(An)
Bs(Bc,An)
if call('ZCARD',Z)==0 then
Bt()
return{}
end
Bx()
return Bq
end
local function Eo(Bq,Bc,At,Ep)
Cy(Bc)
if not Bh(Bq,Bc)then
return{'not_held',Bp(Bq,At)},Bq
end
local An=Bq.Bk and Bq.Bk.An or call('HGET',Aa,Bc)
local _,_,_,_,Eq=Am(An)
Bq=Ep(Bq,Bc,An)
local Bf=Bp(Bq,Eq)
return Bf>0 and{'still_held',Bf}or 1,Bq
end
local function Er(An,Es)
return(string.gsub(An,'^(%d+ %a %d+ !?%d+)/?%d* %S* ','%1/'..Es..'  '))
end
local function Et(Bq,Bc,An,Es,Ca)
if Bq.Bk then
call('PEXPIRE',I,Es)
local Bb='~'..Bc..'-'..Er(An,Es)
call('SET',I,Bb,'PX',Es)
return Bj(Bb)
end
call('ZREM',Z,Bc)
Br(An)
call('ZADD',Z,Ca+Es,'~'..Bc)
call('HSET',Aa,Bc,Er(An,Es))
Bx()
return Bq
end
local function Eu(Cq)
local Bc,At,Es=string.sub(ARGV[Cq],1,32),ARGV[Cq+1],tonumber(ARGV[Cq+2])
local Ca=O(M())
local Bq=Cf(Ca,Bc)
if not Bq then
return Ak()
end
local Ev=Da(Ca)
local J
J,Bq=Eo(Bq,Bc,At,Es==0 and En or function(Bw,_,An)
return Et(Bw,Bc,An,Es,Ca)
end)
if Ev then
Dw(Bq,Ca)
end
return J
end
Af=Af-math.floor(#D/3)
for _,i in ipairs(D)do
local J='later'
if Af>0 then
on(KEYS[i])
local Dy
Dy,J=pcall(Eu,2+B*(i-1))
if not Dy then
J={'error',type(J)=='table'and J.err or J}
end
Af=Af-35
end
C[i+1]=J
end
return C
