local call,A=redis.call,redis.pcall
local B,C,D=3,{ARGV[1]},{}
local E=A('MGET',unpack(KEYS,1,#KEYS-1))
local F={}
for i=1,#KEYS-1 do
local G,H=KEYS[i],nil
if not D[G]then
local I=E[i]
if not I then
H=A('EXISTS',G,G..':p')==0 and 0
elseif string.find(I,ARGV[2+B*(i-1)],1,true)==1 then
H,D[G],F[#F+1]=1,true,G
end
end
if H then
C[i+1]=H
else
D[#D+1],D[G]=i,true
end
end
if F[1]then
call('DEL',unpack(F))
end
if not D[1]then
return C
end
local J
local function K()
if not J then
local L=call('TIME')
J=L[1]*1000000+L[2]
end
return J
end
local function M(us)
return math.floor(us/1000)
end
local N,O,P,at,Q=KEYS[#KEYS]..'fence',nil,0,nil,nil
local function R(i)
if not O then
local S=tonumber(A('GET',N)or 0)
if not S or not(S<9000000000000000)then
return nil
end
O=math.max(S,K()-1)
end
return Q and math.max(O+1,Q+(i or at))or O+1
end
local function T(U)
if U>P then
local V=U+#KEYS-2
if ARGV[#ARGV]=='0'then
call('SET',N,V)
else
call('SET',N,V,'PX',ARGV[#ARGV])
end
P=V
end
O=U
end
local G,W,X,Y,Z,Aa,Ab
local Ac,Ad,Ae,Af=320,false,false,false
local function on(Ag)
Ac,Ad,Ae,Af=math.max(Ac,5),false,false,false
G,W,X,Y=Ag,Ag..':h',Ag..':d',Ag..':o'
Z,Aa,Ab=Ag..':q',Ag..':w',Ag..':p'
end
local function Ah(Ai)
return{'corrupt',Ai or'a value that is no lock'}
end
local function Aj(Ak)
local U,Al,Am,An,Ao,Ap=string.match(Ak,'^(%d+) (%a) (%d+) (!?)(%d+) (%S*) ')
return U,Al,Am,An==''and Ao or'0',Ap
end
local function Aq(Ak)
return(string.gsub(Ak,'^(%d+ %a %d+ )!','%1'))
end
local function Ar(I)
return string.match(I,'^%*([spx])(%d*)$')
end
local function As(I)
local At,Au,Av,Ak=string.match(I,'^(~?)(%x+)([-+])(.*)$')
if not Au or#Au~=32 then
return nil
end
local U,Al,_,Ao,Ap=Aj(Ak)
if Al~='x'then
return nil
end
local Aw=call('PTTL',G)
Ao=tonumber(Ao)
local Ax=At==''and Aw>Ao
return{
Au=Au,At=At~='',Av=Av,Ak=Ak,U=U,Ao=Ao,Ap=Ap,
Ax=Ax,Ay=Aw,Aw=Ax and Aw-Ao or Aw,
}
end
local function Az(I)
if not I then
return{}
end
if string.sub(I,1,1)~='*'then
local Ba=As(I)
return Ba and{Bb='x',Bc='',Ba=Ba,U=Ba.U}
end
local Bb,Bc=Ar(I)
return Bb and{Bb=Bb,Bc=Bc,U=Bb=='x'and Bc or nil}
end
local function Bd(Be,by)
local Bc=call('HINCRBY',Y,Be,by)
if Bc<=0 then
call('HDEL',Y,Be)
end
end
local function Bf(Bg,Ap)
if Ap==''then
return 0
end
if Bg.Ba then
return Bg.Ba.Ax and Bg.Ba.Ap==Ap and 1 or 0
end
return tonumber(call('HGET',Y,'o'..Ap)or 0)
end
local function Bh(Ak)
local _,Al,Am,_,Ap=Aj(Ak)
if Ap~=''then
Bd('o'..Ap,-1)
if Al=='p'then
Bd('p'..Ap,-Am)
end
end
end
local function Bi(Au,Ak)
local _,Al,Am=Aj(Ak)
if Al=='p'then
Bd('used',-Am)
end
call('HDEL',X,Au)
end
local function Bj()
call('UNLINK',G,W,X,Y)
end
local function Bk(Bl)
local Au=string.sub(Bl,-32)
local Ak=call('HGET',X,Au)
local Bm=Bl==Au
if Ak then
local _,_,_,Ao=Aj(Ak)
if Bm then
Bh(Ak)
end
if not Bm or Ao=='0'then
Bi(Au,Ak)
end
end
end
local function Bn(Bo)
local Bp=call('ZREVRANGE',W,0,0,'WITHSCORES')[2]
if not Bp or tonumber(Bp)<=Bo then
Bj()
return false
end
local Bq=math.max(1,math.ceil(Ac/3))
local Br=call('ZRANGEBYSCORE',W,'-inf',Bo,'LIMIT',0,Bq)
if Br[1]then
call('ZREM',W,unpack(Br))
Ad=#Br==Bq
Ac=Ac-3*#Br
end
for _,Bl in ipairs(Br)do
Bk(Bl)
end
return true
end
local function Bs(I,Bo,Au)
local Bg=Az(I)
if Bg and Bg.Bb and not Bg.Ba then
if not Bn(Bo)then
return{}
end
if Ad and Au then
for _,Bl in ipairs({Au,'~'..Au})do
local Bt=call('ZSCORE',W,Bl)
if Bt and tonumber(Bt)<=Bo then
call('ZREM',W,Bl)
Bk(Bl)
end
end
end
end
return Bg
end
local function Ax(Bg,Au)
if Bg.Ba then
return Bg.Ba.Ax and Bg.Ba.Au==Au
end
return Bg.Bb and call('ZSCORE',W,Au)
end
local function Bu(Au,Bv,Ao)
call('ZADD',W,Bv,Au)
if Ao>0 then
call('ZADD',W,Bv+Ao,'~'..Au)
end
end
local function Bw()
local Bp=call('ZREVRANGE',W,0,0,'WITHSCORES')[2]
for _,Ag in ipairs({G,W,X,Y})do
call('PEXPIREAT',Ag,Bp)
end
end
local function Bx(Bg,Au,By,Bo)
local S=Bg.Ba and Bg.Ba.Ak or call('HGET',X,Au)
local Ak=Aq(S)
local U,_,_,Ao,Ap=Aj(Ak)
Ao=tonumber(Ao)
call('PEXPIRE',G,By+Ao)
if Bg.Ba then
if Ak~=S then
call('SET',G,Au..'+'..Ak,'PX',By+Ao)
end
return U,Ap
end
if Ak~=S then
call('HSET',X,Au,Ak)
end
Bu(Au,Bo+By,Ao)
Bw()
return U,Ap
end
local function Bz(Bo)
return call('ZRANGEBYSCORE',W,'('..string.format('%.0f',Bo),'+inf','LIMIT',0,1)[1]
end
local function Ca(Bl,Bo)
local Au=string.sub(Bl,-32)
local Bm=call('ZSCORE',W,Au)
local Ay=call('ZSCORE',W,'~'..Au)or Bm
local Bg=Bm and'holding'or'closed'
return string.sub(Au,1,8),Bg,(Bm or Ay)-Bo,Ay-Bo,call('HGET',X,Au)
end
local function Cb(Cc,Bg)
local Al,Bb,Bc=Cc.Al,Bg.Bb,Bg.Bc
if not Bb then
return'fits'
end
if not Ad and Bf(Bg,Cc.Ap)>0 then
if Bb=='x'and Al=='x'and Cc.Cd or Bb=='s'and Al=='s'then
return'passes'
elseif Bb=='x'then
return'deadlock','x',1,''
elseif Al=='x'then
return'deadlock',Bb,call('HGET',Y,'p'..Cc.Ap)or 1,Bc
end
end
if Al=='x'or Bb=='x'then
return'in_the_way'
end
if Al~=Bb or Cc.Ce~=Bc then
local Cf=Bz(M(K()))
local _,_,Cg=Aj(call('HGET',X,string.sub(Cf,-32)))
return'mismatch',Bb,Cg,Bc
end
local Cg=Bb=='p'and call('HGET',Y,'used')or 0
return(Bb=='s'or Cg+Cc.Am<=tonumber(Bc))and'fits'or'in_the_way'
end
local function Ch(Bg)
local U=Bg.U or R()
return U and(Bg.U or string.format('%.0f',U))
end
local function Ci()
return Ah('the fence counter is not a number that can grow')
end
local function Cj()
if call('ZCARD',W)+call('HLEN',X)+call('HLEN',Y)>0 then
call('UNLINK',W,X,Y)
end
end
local function Ck(Ba,Bo)
Cj()
call('SET',G,'*x'..Ba.U,'PX',Ba.Ay)
call('HSET',X,Ba.Au,Ba.Ak)
Bu(Ba.Au,Bo+Ba.Aw,Ba.Ao)
Bd('o'..Ba.Ap,1)
end
local function Cl(Cc,U)
local By,Ao,Ak=Cc.By,Cc.Ao,U..' '..Cc.Ak
call('SET',G,Cc.Au..Cc.Av..Ak,'PX',By+Ao)
local Ba={
Au=Cc.Au,At=false,Av=Cc.Av,Ak=Ak,U=U,Ao=Ao,
Ap=Cc.Ap,Ax=true,Ay=By+Ao,Aw=By,
}
return{Bb='x',Bc='',Ba=Ba,U=U}
end
local function Cm(Cc,Bg,U,Bo)
local Au,Ap=Cc.Au,Cc.Ap
if U~=Bg.U then
T(tonumber(U))
end
if not Bg.Bb and Cc.Al=='x'then
return Cl(Cc,U)
end
if Bg.Ba then
Ck(Bg.Ba,Bo)
elseif not Bg.Bb then
Cj()
call('SET',G,'*'..Cc.Al..Cc.Ce,'PX',Cc.By+Cc.Ao)
end
Bu(Au,Bo+Cc.By,Cc.Ao)
call('HSET',X,Au,U..' '..Cc.Ak)
if Cc.Al=='p'then
Bd('used',Cc.Am)
end
if Ap~=''then
Bd('o'..Ap,1)
if Cc.Al=='p'then
Bd('p'..Ap,Cc.Am)
end
end
if Cc.Al=='x'then
return{Bb='x',Bc=U,U=U}
end
return{Bb=Cc.Al,Bc=Cc.Ce}
end
local function Cn(Au)
if call('ZREM',Ab,Au,'!'..Au)==0 then
return false
end
call('HDEL',Aa,Au)
return call('ZREM',Z,Au)==1
end
local function Co()
return string.match(call('HGET',Aa,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function Cp(Bo)
if call('EXISTS',Ab)==0 then
return false
end
local Bq=math.max(1,Ac)
local Br=call('ZRANGEBYSCORE',Ab,'-inf',Bo,'LIMIT',0,Bq)
Ae=#Br==Bq
Ac=Ac-#Br
for _,Bl in ipairs(Br)do
local Au=string.match(Bl,'^!(.*)')
if not Au then
Cn(Bl)
else
local Cq=call('ZSCORE',Ab,Au)
if Cq and tonumber(Cq)>Bo then
local Cr=string.match(call('HGET',Aa,Au)or'','^%d+ %d %S+ (%d+)')
local Cs=Cr and call('ZSCORE',Ab,Bl)-Cr
Af=Af or Cs and Cs>=tonumber((Co()))
end
call('ZREM',Ab,Bl)
end
end
return true
end
local function Ct(Au,Cu)
local Cv,Cw,Cx,Cr,Cy,Ce,Cd,Ak=string.match(
Cu or'','^(%d+) ([01]) (%S+) (%d+) (%d+) (%d*) ([01]) (.*)$'
)
if not Cx then
return nil
end
local Al,Am,Ao,Ap,Cz=string.match(Ak,'^(%a) (%d+) (%d+) (%S*) (.*)$')
local Da=Ao~='0'
return{
Au=Au,Al=Al,Cd=Cd=='1',Am=Am,Ce=Ce,Ap=Ap,
Ak=string.format('%s %s %s%s %s ',Al,Am,Da and'!'or'',Ao,Ap)..Cz,
By=tonumber(Cr),Ao=0,Av=Da and'+'or'-',Cx=Cx,Cv=tonumber(Cv),
Cy=tonumber(Cy),Cw=Cw=='1',
}
end
local function Db(Cx,Ai)
local Dc=A('PUBLISH',Cx,Ai)
return type(Dc)~='number'or Dc>0
end
local function Dd(Au)
return string.match(call('HGET',Aa,Au)or'','^%d+ %d (%S+)')
end
local function De(Df,Ai)
local Dg,Dh=8,nil
for _,Au in ipairs(call('ZRANGE',Z,0,Dg))do
if Au~=Df and Dg>0 then
Dg=Dg-1
local Cx=Dd(Au)
if Cx and Db(Cx,Ai..Au)then
Dh=Cx
break
end
end
end
local O=call('ZREVRANGE',Z,0,0)[1]
local Cx=O and O~=Df and Dd(O)
if Cx and Cx~=Dh then
Db(Cx,Ai..O)
end
end
local function Di(Df,Bo,S)
local Dj=call('ZREVRANGE',Ab,0,0,'WITHSCORES')[2]
if not Dj then
return
end
local Dk=0
for _,Au in ipairs(call('ZRANGE',Z,0,319))do
local Cv,Cx=string.match(call('HGET',Aa,Au)or'','^(%d+) %d (%S+)')
if Cx then
Dk=Cv
if Au~=Df then
Db(Cx,'!'..Au)
end
end
end
call('HSET',Aa,'?',string.format('%.0f %s %s',Bo,Dk,S))
call('PEXPIREAT',Aa,Dj)
end
local function Dl(Bg,Bo,Df)
local Dm,Dn,Do,Dp=Af,false,false,false
local Dq,Dr,Ds,Dt=Co()
if Dm then
Ac=math.max(5,Ac-260)
Af,Ds,Dt=false,Dq,Dr
end
Ac=math.max(5,Ac)
local S=Ds..' '..Dt
Ds,Dt=tonumber(Ds),tonumber(Dt)
local Du,at,B,Dv,Dw={},0,0,0,{}
while true do
if Bg.Ba and Bg.Ba.Ap==''then
break
end
at=at+1
if at>B then
if Dw[1]then
call('ZREM',Z,unpack(Dw))
Dw={}
end
local Bq=math.min(math.max(Dv,1),64)
Du=call('ZRANGE',Z,0,Bq)
if not Du[1]then
break
end
B,at=math.min(#Du,Bq),1
end
local Dx,Dy=Du[at],Du[at+1]
local Cu=call('HGET',Aa,Dx)
local Cc=Ct(Dx,Cu)
local Dz=math.floor(#(Cu or'')/256)
local Cq=Cc and(Ae or Cc.Cv<=Dt)and call('ZSCORE',Ab,Dx)
if not Cc or Ae and Cq and tonumber(Cq)<=Bo then
if Ac<=0 then
Dp=true
break
end
Ac=Ac-1-Dz
Dw[#Dw+1]=Dx
Cn(Dx)
else
local Ea=Cb(Cc,Bg)
local U=(Ea=='fits'or Ea=='passes')and Ch(Bg)
if not U then
break
end
if Ac<=0 then
Dp=true
break
end
if Dv==0 then
call('ZREM',Z,Dx)
else
Dw[#Dw+1]=Dx
end
local Dc=Dx==Df
local Eb=Cc.Cv<=Dt and Cq
if not Dc and not(Eb and Cq-Cc.Cy<Ds)then
Dc=Db(Cc.Cx,Dx)or Cc.Cw
end
if not Dc then
Ac,Dv=Ac-1-Dz,Dv+1
else
Ac,Dv=Ac-5-Dz,0
if Dw[1]then
call('ZREM',Z,unpack(Dw))
Dw={}
end
if Dx==Df then
Cn(Dx)
else
call('ZADD',Ab,Bo+Cc.By,'!'..Dx)
Do=true
end
if Dy or Do then
Cc.Av='+'
end
Bg=Cm(Cc,Bg,U,Bo)
Dn=true
end
end
end
if Dw[1]then
call('ZREM',Z,unpack(Dw))
end
if Dm then
Di(Df,Bo,S)
elseif Dp then
De(Df,'!')
elseif Do then
De(Df,'?')
end
if Dn and not Bg.Ba then
Bw()
end
return Bg
end
local function Ec(Bg,Au,Ak)
if Bg.Ba then
call('DEL',G)
return{}
end
call('ZREM',W,Au,'~'..Au)
Bh(Ak)
Bi(Au,Ak)
if call('ZCARD',W)==0 then
Bj()
return{}
end
Bw()
return Bg
end
local function Ed(Bg,Au,Ap,Ee)
Cn(Au)
if not Ax(Bg,Au)then
return{'not_held',Bf(Bg,Ap)},Bg
end
local Ak=Bg.Ba and Bg.Ba.Ak or call('HGET',X,Au)
local _,_,_,_,Ef=Aj(Ak)
Bg=Ee(Bg,Au,Ak)
local Aw=Bf(Bg,Ef)
return Aw>0 and{'still_held',Aw}or 1,Bg
end
local function Eg(Ak)
return(string.gsub(Ak,'^(%d+ %a %d+ !?%d+) %S* ','%1  '))
end
local function Eh(Bg,Au,Ak,Ei,Bo)
if Bg.Ba then
call('PEXPIRE',G,Ei)
local At='~'..Au..'-'..Eg(Ak)
call('SET',G,At,'PX',Ei)
return Az(At)
end
call('ZREM',W,Au)
Bh(Ak)
call('ZADD',W,Bo+Ei,'~'..Au)
call('HSET',X,Au,Eg(Ak))
Bw()
return Bg
end
local function Ej(Cf)
local Au,Ap,Ei=string.sub(ARGV[Cf],1,32),ARGV[Cf+1],tonumber(ARGV[Cf+2])
local Bo=M(K())
local Bg=Bs(call('GET',G),Bo,Au)
if not Bg then
return Ah()
end
local Ek=Cp(Bo)
local H
H,Bg=Ed(Bg,Au,Ap,Ei==0 and Ec or function(Bm,_,Ak)
return Eh(Bm,Au,Ak,Ei,Bo)
end)
if Ek then
Dl(Bg,Bo)
end
return H
end
Ac=Ac-math.floor(#D/3)
for _,i in ipairs(D)do
local H='later'
if Ac>0 then
on(KEYS[i])
local Dn
Dn,H=pcall(Ej,2+B*(i-1))
if not Dn then
H={'error',type(H)=='table'and H.err or H}
end
Ac=Ac-35
end
C[i+1]=H
end
return C
