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
local X,Ao,Ap,Aq,Ar,As=string.match(An,'^(%d+) (%a) (%d+) (!?)(%d+) (%S*) ')
return X,Ao,Ap,Aq==''and Ar or'0',As
end
local At=12000
local function Au()
local K=A('GETRANGE',I,0,At+99)
if type(K)~='string'then
return call('GET',I)
end
return(K~=''or call('EXISTS',I)==1)and K
end
local function Av(An)
if not An or#An<=At then
return An
end
local Aw=string.match(string.sub(An,1,At),'^%d* %a %d+ !?%d+ %S* ')
return(Aw or'')..'{"cut":"longer than '..At..' bytes"}'
end
local function Ax(An)
return(string.gsub(An,'^(%d+ %a %d+ )!','%1'))
end
local function Ay(K)
if#K<=32 then
return string.match(K,'^%*([spx])(%d*)$')
end
end
local function Az(K)
local Ba,Bb,Bc,Bd=string.match(K,'^(~?)(%x+)([-+])()')
if not Bb or#Bb~=32 then
return nil
end
local An=Av(string.sub(K,Bd))
local X,Ao,_,Ar,As=Am(An)
if Ao~='x'then
return nil
end
local Be=call('PTTL',I)
Ar=tonumber(Ar)
local Bf=Ba==''and Be>Ar
return{
Bb=Bb,Ba=Ba~='',Bc=Bc,An=An,X=X,Ar=Ar,As=As,
Bf=Bf,Bg=Be,Be=Bf and Be-Ar or Be,
}
end
local function Bh(K)
if not K then
return{}
end
if string.sub(K,1,1)~='*'then
local Bi=Az(K)
return Bi and{Bj='x',Bk='',Bi=Bi,X=Bi.X}
end
local Bj,Bk=Ay(K)
return Bj and{Bj=Bj,Bk=Bk,X=Bj=='x'and Bk or nil}
end
local function Bl(Bm,by)
local Bk=call('HINCRBY',Ab,Bm,by)
if Bk<=0 then
call('HDEL',Ab,Bm)
end
end
local function Bn(Bo,As)
if As==''then
return 0
end
if Bo.Bi then
return Bo.Bi.Bf and Bo.Bi.As==As and 1 or 0
end
return tonumber(call('HGET',Ab,'o'..As)or 0)
end
local function Bp(An)
local _,Ao,Ap,_,As=Am(An)
if As~=''then
Bl('o'..As,-1)
if Ao=='p'then
Bl('p'..As,-Ap)
end
end
end
local function Bq(Bb,An)
local _,Ao,Ap=Am(An)
if Ao=='p'then
Bl('used',-Ap)
end
call('HDEL',Aa,Bb)
end
local function Br()
call('UNLINK',I,Z,Aa,Ab)
end
local function Bs(Bt)
local Bb=string.sub(Bt,-32)
local An=call('HGET',Aa,Bb)
local Bu=Bt==Bb
if An then
local _,_,_,Ar=Am(An)
if Bu then
Bp(An)
end
if not Bu or Ar=='0'then
Bq(Bb,An)
end
end
end
local function Bv(Bw)
local Bx=call('ZREVRANGE',Z,0,0,'WITHSCORES')[2]
if not Bx or tonumber(Bx)<=Bw then
Br()
return false
end
local By=math.max(1,math.ceil(Af/3))
local Bz=call('ZRANGEBYSCORE',Z,'-inf',Bw,'LIMIT',0,By)
if Bz[1]then
call('ZREM',Z,unpack(Bz))
Ag=#Bz==By
Af=Af-3*#Bz
end
for _,Bt in ipairs(Bz)do
Bs(Bt)
end
return true
end
local function Ca(Bw,Bb)
local Bo=Bh(Au())
if Bo and Bo.Bj and not Bo.Bi then
if not Bv(Bw)then
return{}
end
if Ag and Bb then
for _,Bt in ipairs({Bb,'~'..Bb})do
local Cb=call('ZSCORE',Z,Bt)
if Cb and tonumber(Cb)<=Bw then
call('ZREM',Z,Bt)
Bs(Bt)
end
end
end
end
return Bo
end
local function Bf(Bo,Bb)
if Bo.Bi then
return Bo.Bi.Bf and Bo.Bi.Bb==Bb
end
return Bo.Bj and call('ZSCORE',Z,Bb)
end
local function Cc(Bb,Cd,Ar)
call('ZADD',Z,Cd,Bb)
if Ar>0 then
call('ZADD',Z,Cd+Ar,'~'..Bb)
end
end
local function Ce()
local Bx=call('ZREVRANGE',Z,0,0,'WITHSCORES')[2]
for _,Aj in ipairs({I,Z,Aa,Ab})do
call('PEXPIREAT',Aj,Bx)
end
end
local function Cf(Bo,Bb,Cg,Bw)
local V=Bo.Bi and Bo.Bi.An or call('HGET',Aa,Bb)
local An=Ax(V)
local X,_,_,Ar,As=Am(An)
Ar=tonumber(Ar)
call('PEXPIRE',I,Cg+Ar)
if Bo.Bi then
if An~=V then
call('SET',I,Bb..'+'..An,'PX',Cg+Ar)
end
return X,As
end
if An~=V then
call('HSET',Aa,Bb,An)
end
Cc(Bb,Bw+Cg,Ar)
Ce()
return X,As
end
local function Ch(Bw)
return call('ZRANGEBYSCORE',Z,'('..string.format('%.0f',Bw),'+inf','LIMIT',0,1)[1]
end
local function Ci(Bt,Bw)
local Bb=string.sub(Bt,-32)
local Bu=call('ZSCORE',Z,Bb)
local Bg=call('ZSCORE',Z,'~'..Bb)or Bu
local Bo=Bu and'holding'or'closed'
return string.sub(Bb,1,8),Bo,(Bu or Bg)-Bw,Bg-Bw,Av(call('HGET',Aa,Bb))
end
local function Cj(Ck,Bo)
local Ao,Bj,Bk=Ck.Ao,Bo.Bj,Bo.Bk
if not Bj then
return'fits'
end
if not Ag and Bn(Bo,Ck.As)>0 then
if Bj=='x'and Ao=='x'and Ck.Cl or Bj=='s'and Ao=='s'then
return'passes'
elseif Bj=='x'then
return'deadlock','x',1,''
elseif Ao=='x'then
return'deadlock',Bj,call('HGET',Ab,'p'..Ck.As)or 1,Bk
end
end
if Ao=='x'or Bj=='x'then
return'in_the_way'
end
if Ao~=Bj or Ck.Cm~=Bk then
local Cn=Ch(O(M()))
local _,_,Co=Am(call('HGET',Aa,string.sub(Cn,-32)))
return'mismatch',Bj,string.sub(Co,1,20),Bk
end
local Co=Bj=='p'and call('HGET',Ab,'used')or 0
return(Bj=='s'or Co+Ck.Ap<=tonumber(Bk))and'fits'or'in_the_way'
end
local function Cp(Bo)
local X=Bo.X or U()
return X and(Bo.X or string.format('%.0f',X))
end
local function Cq()
return Ak('the fence counter is not a number that can grow')
end
local function Cr()
if call('ZCARD',Z)+call('HLEN',Aa)+call('HLEN',Ab)>0 then
call('UNLINK',Z,Aa,Ab)
end
end
local function Cs(Bi,Bw)
Cr()
call('SET',I,'*x'..Bi.X,'PX',Bi.Bg)
call('HSET',Aa,Bi.Bb,Bi.An)
Cc(Bi.Bb,Bw+Bi.Be,Bi.Ar)
Bl('o'..Bi.As,1)
end
local function Ct(Ck,X)
local Cg,Ar,An=Ck.Cg,Ck.Ar,X..' '..Ck.An
call('SET',I,Ck.Bb..Ck.Bc..An,'PX',Cg+Ar)
local Bi={
Bb=Ck.Bb,Ba=false,Bc=Ck.Bc,An=An,X=X,Ar=Ar,
As=Ck.As,Bf=true,Bg=Cg+Ar,Be=Cg,
}
return{Bj='x',Bk='',Bi=Bi,X=X}
end
local function Cu(Ck,Bo,X,Bw)
local Bb,As=Ck.Bb,Ck.As
if X~=Bo.X then
W(tonumber(X))
end
if not Bo.Bj and Ck.Ao=='x'then
return Ct(Ck,X)
end
if Bo.Bi then
Cs(Bo.Bi,Bw)
elseif not Bo.Bj then
Cr()
call('SET',I,'*'..Ck.Ao..Ck.Cm,'PX',Ck.Cg+Ck.Ar)
end
Cc(Bb,Bw+Ck.Cg,Ck.Ar)
call('HSET',Aa,Bb,X..' '..Ck.An)
if Ck.Ao=='p'then
Bl('used',Ck.Ap)
end
if As~=''then
Bl('o'..As,1)
if Ck.Ao=='p'then
Bl('p'..As,Ck.Ap)
end
end
if Ck.Ao=='x'then
return{Bj='x',Bk=X,X=X}
end
return{Bj=Ck.Ao,Bk=Ck.Cm}
end
local function Cv(Bb)
if call('ZREM',Ae,Bb,'!'..Bb)==0 then
return false
end
call('HDEL',Ad,Bb)
return call('ZREM',Ac,Bb)==1
end
local function Cw()
return string.match(call('HGET',Ad,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function Cx(Bw)
if call('EXISTS',Ae)==0 then
return false
end
local By=math.max(1,Af)
local Bz=call('ZRANGEBYSCORE',Ae,'-inf',Bw,'LIMIT',0,By)
Ah=#Bz==By
Af=Af-#Bz
for _,Bt in ipairs(Bz)do
local Bb=string.match(Bt,'^!(.*)')
if not Bb then
Cv(Bt)
else
local Cy=call('ZSCORE',Ae,Bb)
if Cy and tonumber(Cy)>Bw then
local Cz=string.match(call('HGET',Ad,Bb)or'','^%d+ %d %S+ (%d+)')
local Da=Cz and call('ZSCORE',Ae,Bt)-Cz
Ai=Ai or Da and Da>=tonumber((Cw()))
end
call('ZREM',Ae,Bt)
end
end
return true
end
local function Db(Bb,Dc)
local Dd,De,Df,Cz,Dg,Cm,Cl,An=string.match(
Dc or'','^(%d+) ([01]) (%S+) (%d+) (%d+) (%d*) ([01]) (.*)$'
)
if not Df then
return nil
end
local Ao,Ap,Ar,As,Dh=string.match(An,'^(%a) (%d+) (%d+) (%S*) (.*)$')
local Di=Ar~='0'
return{
Bb=Bb,Ao=Ao,Cl=Cl=='1',Ap=Ap,Cm=Cm,As=As,
An=string.format('%s %s %s%s %s ',Ao,Ap,Di and'!'or'',Ar,As)..Dh,
Cg=tonumber(Cz),Ar=0,Bc=Di and'+'or'-',Df=Df,Dd=tonumber(Dd),
Dg=tonumber(Dg),De=De=='1',
}
end
local function Dj(Df,Al)
local Dk=A('PUBLISH',Df,Al)
return type(Dk)~='number'or Dk>0
end
local function Dl(Bb)
return string.match(call('HGET',Ad,Bb)or'','^%d+ %d (%S+)')
end
local function Dm(Dn,Al)
local Do,Dp=8,nil
for _,Bb in ipairs(call('ZRANGE',Ac,0,Do))do
if Bb~=Dn and Do>0 then
Do=Do-1
local Df=Dl(Bb)
if Df and Dj(Df,Al..Bb)then
Dp=Df
break
end
end
end
local Q=call('ZREVRANGE',Ac,0,0)[1]
local Df=Q and Q~=Dn and Dl(Q)
if Df and Df~=Dp then
Dj(Df,Al..Q)
end
end
local function Dq(Dn,Bw,V)
local Dr=call('ZREVRANGE',Ae,0,0,'WITHSCORES')[2]
if not Dr then
return
end
local Ds=0
for _,Bb in ipairs(call('ZRANGE',Ac,0,319))do
local Dd,Df=string.match(call('HGET',Ad,Bb)or'','^(%d+) %d (%S+)')
if Df then
Ds=Dd
if Bb~=Dn then
Dj(Df,'!'..Bb)
end
end
end
call('HSET',Ad,'?',string.format('%.0f %s %s',Bw,Ds,V))
call('PEXPIREAT',Ad,Dr)
end
local function Dt(Bo,Bw,Dn)
local Du,Dv,Dw,Dx=Ai,false,false,false
local Dy,Dz,Ea,Eb=Cw()
if Du then
Af=math.max(5,Af-260)
Ai,Ea,Eb=false,Dy,Dz
end
Af=math.max(5,Af)
local V=Ea..' '..Eb
Ea,Eb=tonumber(Ea),tonumber(Eb)
local Ec,at,B,Ed,Ee={},0,0,0,{}
while true do
if Bo.Bi and Bo.Bi.As==''then
break
end
at=at+1
if at>B then
if Ee[1]then
call('ZREM',Ac,unpack(Ee))
Ee={}
end
local By=math.min(math.max(Ed,1),64)
Ec=call('ZRANGE',Ac,0,By)
if not Ec[1]then
break
end
B,at=math.min(#Ec,By),1
end
local Ef,Eg=Ec[at],Ec[at+1]
local Dc=call('HGET',Ad,Ef)
local Ck=Db(Ef,Dc)
local Eh=math.floor(#(Dc or'')/256)
local Cy=Ck and(Ah or Ck.Dd<=Eb)and call('ZSCORE',Ae,Ef)
if not Ck or Ah and Cy and tonumber(Cy)<=Bw then
if Af<=0 then
Dx=true
break
end
Af=Af-1-Eh
Ee[#Ee+1]=Ef
Cv(Ef)
else
local Ei=Cj(Ck,Bo)
T=true
local X=(Ei=='fits'or Ei=='passes')and Cp(Bo)
if not X then
break
end
if Af<=0 then
Dx=true
break
end
if Ed==0 then
call('ZREM',Ac,Ef)
else
Ee[#Ee+1]=Ef
end
local Dk=Ef==Dn
local Ej=Ck.Dd<=Eb and Cy
if not Dk and not(Ej and Cy-Ck.Dg<Ea)then
Dk=Dj(Ck.Df,Ef)or Ck.De
end
if not Dk then
Af,Ed=Af-1-Eh,Ed+1
else
Af,Ed=Af-5-Eh,0
if Ee[1]then
call('ZREM',Ac,unpack(Ee))
Ee={}
end
if Ef==Dn then
Cv(Ef)
else
call('ZADD',Ae,Bw+Ck.Cg,'!'..Ef)
Dw=true
end
if Eg or Dw then
Ck.Bc='+'
end
Bo=Cu(Ck,Bo,X,Bw)
Dv=true
end
end
end
if Ee[1]then
call('ZREM',Ac,unpack(Ee))
end
if Du then
Dq(Dn,Bw,V)
elseif Dx then
Dm(Dn,'!')
elseif Dw then
Dm(Dn,'?')
end
if Dv and not Bo.Bi then
Ce()
end
return Bo
end
local function Ek(Bo,Bb,An)
if Bo.Bi then
call('DEL',I)
return{}
end
call('ZREM',Z,Bb,'~'..Bb)
Bp(An)
Bq(Bb,An)
if call('ZCARD',Z)==0 then
Br()
return{}
end
Ce()
return Bo
end
local function El(Bo,Bb,As,Em)
Cv(Bb)
if not Bf(Bo,Bb)then
return{'not_held',Bn(Bo,As)},Bo
end
local An=Bo.Bi and Bo.Bi.An or call('HGET',Aa,Bb)
local _,_,_,_,En=Am(An)
Bo=Em(Bo,Bb,An)
local Be=Bn(Bo,En)
return Be>0 and{'still_held',Be}or 1,Bo
end
local function Eo(An)
return(string.gsub(An,'^(%d+ %a %d+ !?%d+) %S* ','%1  '))
end
local function Ep(Bo,Bb,An,Eq,Bw)
if Bo.Bi then
call('PEXPIRE',I,Eq)
local Ba='~'..Bb..'-'..Eo(An)
call('SET',I,Ba,'PX',Eq)
return Bh(Ba)
end
call('ZREM',Z,Bb)
Bp(An)
call('ZADD',Z,Bw+Eq,'~'..Bb)
call('HSET',Aa,Bb,Eo(An))
Ce()
return Bo
end
local function Er(Cn)
local Bb,As,Eq=string.sub(ARGV[Cn],1,32),ARGV[Cn+1],tonumber(ARGV[Cn+2])
local Bw=O(M())
local Bo=Ca(Bw,Bb)
if not Bo then
return Ak()
end
local Es=Cx(Bw)
local J
J,Bo=El(Bo,Bb,As,Eq==0 and Ek or function(Bu,_,An)
return Ep(Bu,Bb,An,Eq,Bw)
end)
if Es then
Dt(Bo,Bw)
end
return J
end
Af=Af-math.floor(#D/3)
for _,i in ipairs(D)do
local J='later'
if Af>0 then
on(KEYS[i])
local Dv
Dv,J=pcall(Er,2+B*(i-1))
if not Dv then
J={'error',type(J)=='table'and J.err or J}
end
Af=Af-35
end
C[i+1]=J
end
return C
