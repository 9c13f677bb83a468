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
local R,S=nil,false
local function T(i)
if not O then
local U=tonumber(A('GET',N)or 0)
if not U or not(U<9000000000000000)then
return nil
end
O=math.max(U,K()-1)
end
return Q and math.max(O+1,Q+(i or at))or O+1
end
local function V(W)
if W>P then
local X=W+#KEYS-2
if ARGV[#ARGV]=='0'or S and call('PTTL',N)==-1 then
call('SET',N,X)
else
call('SET',N,X,'PX',ARGV[#ARGV])
end
P=X
end
O=W
end
local G,Y,Z,Aa,Ab,Ac,Ad
local Ae,Af,Ag,Ah=320,false,false,false
local function on(Ai)
Ae,Af,Ag,Ah=math.max(Ae,5),false,false,false
G,Y,Z,Aa=Ai,Ai..':h',Ai..':d',Ai..':o'
Ab,Ac,Ad=Ai..':q',Ai..':w',Ai..':p'
end
local function Aj(Ak)
return{'corrupt',Ak or'a value that is no lock'}
end
local function Al(Am)
local W,An,Ao,Ap,Aq,Ar=string.match(Am,'^(%d+) (%a) (%d+) (!?)(%d+) (%S*) ')
return W,An,Ao,Ap==''and Aq or'0',Ar
end
local function As(Am)
return(string.gsub(Am,'^(%d+ %a %d+ )!','%1'))
end
local function At(I)
return string.match(I,'^%*([spx])(%d*)$')
end
local function Au(I)
local Av,Aw,Ax,Am=string.match(I,'^(~?)(%x+)([-+])(.*)$')
if not Aw or#Aw~=32 then
return nil
end
local W,An,_,Aq,Ar=Al(Am)
if An~='x'then
return nil
end
local Ay=call('PTTL',G)
Aq=tonumber(Aq)
local Az=Av==''and Ay>Aq
return{
Aw=Aw,Av=Av~='',Ax=Ax,Am=Am,W=W,Aq=Aq,Ar=Ar,
Az=Az,Ba=Ay,Ay=Az and Ay-Aq or Ay,
}
end
local function Bb(I)
if not I then
return{}
end
if string.sub(I,1,1)~='*'then
local Bc=Au(I)
return Bc and{Bd='x',Be='',Bc=Bc,W=Bc.W}
end
local Bd,Be=At(I)
return Bd and{Bd=Bd,Be=Be,W=Bd=='x'and Be or nil}
end
local function Bf(Bg,by)
local Be=call('HINCRBY',Aa,Bg,by)
if Be<=0 then
call('HDEL',Aa,Bg)
end
end
local function Bh(Bi,Ar)
if Ar==''then
return 0
end
if Bi.Bc then
return Bi.Bc.Az and Bi.Bc.Ar==Ar and 1 or 0
end
return tonumber(call('HGET',Aa,'o'..Ar)or 0)
end
local function Bj(Am)
local _,An,Ao,_,Ar=Al(Am)
if Ar~=''then
Bf('o'..Ar,-1)
if An=='p'then
Bf('p'..Ar,-Ao)
end
end
end
local function Bk(Aw,Am)
local _,An,Ao=Al(Am)
if An=='p'then
Bf('used',-Ao)
end
call('HDEL',Z,Aw)
end
local function Bl()
call('UNLINK',G,Y,Z,Aa)
end
local function Bm(Bn)
local Aw=string.sub(Bn,-32)
local Am=call('HGET',Z,Aw)
local Bo=Bn==Aw
if Am then
local _,_,_,Aq=Al(Am)
if Bo then
Bj(Am)
end
if not Bo or Aq=='0'then
Bk(Aw,Am)
end
end
end
local function Bp(Bq)
local Br=call('ZREVRANGE',Y,0,0,'WITHSCORES')[2]
if not Br or tonumber(Br)<=Bq then
Bl()
return false
end
local Bs=math.max(1,math.ceil(Ae/3))
local Bt=call('ZRANGEBYSCORE',Y,'-inf',Bq,'LIMIT',0,Bs)
if Bt[1]then
call('ZREM',Y,unpack(Bt))
Af=#Bt==Bs
Ae=Ae-3*#Bt
end
for _,Bn in ipairs(Bt)do
Bm(Bn)
end
return true
end
local function Bu(I,Bq,Aw)
local Bi=Bb(I)
if Bi and Bi.Bd and not Bi.Bc then
if not Bp(Bq)then
return{}
end
if Af and Aw then
for _,Bn in ipairs({Aw,'~'..Aw})do
local Bv=call('ZSCORE',Y,Bn)
if Bv and tonumber(Bv)<=Bq then
call('ZREM',Y,Bn)
Bm(Bn)
end
end
end
end
return Bi
end
local function Az(Bi,Aw)
if Bi.Bc then
return Bi.Bc.Az and Bi.Bc.Aw==Aw
end
return Bi.Bd and call('ZSCORE',Y,Aw)
end
local function Bw(Aw,Bx,Aq)
call('ZADD',Y,Bx,Aw)
if Aq>0 then
call('ZADD',Y,Bx+Aq,'~'..Aw)
end
end
local function By()
local Br=call('ZREVRANGE',Y,0,0,'WITHSCORES')[2]
for _,Ai in ipairs({G,Y,Z,Aa})do
call('PEXPIREAT',Ai,Br)
end
end
local function Bz(Bi,Aw,Ca,Bq)
local U=Bi.Bc and Bi.Bc.Am or call('HGET',Z,Aw)
local Am=As(U)
local W,_,_,Aq,Ar=Al(Am)
Aq=tonumber(Aq)
call('PEXPIRE',G,Ca+Aq)
if Bi.Bc then
if Am~=U then
call('SET',G,Aw..'+'..Am,'PX',Ca+Aq)
end
return W,Ar
end
if Am~=U then
call('HSET',Z,Aw,Am)
end
Bw(Aw,Bq+Ca,Aq)
By()
return W,Ar
end
local function Cb(Bq)
return call('ZRANGEBYSCORE',Y,'('..string.format('%.0f',Bq),'+inf','LIMIT',0,1)[1]
end
local function Cc(Bn,Bq)
local Aw=string.sub(Bn,-32)
local Bo=call('ZSCORE',Y,Aw)
local Ba=call('ZSCORE',Y,'~'..Aw)or Bo
local Bi=Bo and'holding'or'closed'
return string.sub(Aw,1,8),Bi,(Bo or Ba)-Bq,Ba-Bq,call('HGET',Z,Aw)
end
local function Cd(Ce,Bi)
local An,Bd,Be=Ce.An,Bi.Bd,Bi.Be
if not Bd then
return'fits'
end
if not Af and Bh(Bi,Ce.Ar)>0 then
if Bd=='x'and An=='x'and Ce.Cf or Bd=='s'and An=='s'then
return'passes'
elseif Bd=='x'then
return'deadlock','x',1,''
elseif An=='x'then
return'deadlock',Bd,call('HGET',Aa,'p'..Ce.Ar)or 1,Be
end
end
if An=='x'or Bd=='x'then
return'in_the_way'
end
if An~=Bd or Ce.Cg~=Be then
local Ch=Cb(M(K()))
local _,_,Ci=Al(call('HGET',Z,string.sub(Ch,-32)))
return'mismatch',Bd,Ci,Be
end
local Ci=Bd=='p'and call('HGET',Aa,'used')or 0
return(Bd=='s'or Ci+Ce.Ao<=tonumber(Be))and'fits'or'in_the_way'
end
local function Cj(Bi)
local W=Bi.W or T()
return W and(Bi.W or string.format('%.0f',W))
end
local function Ck()
return Aj('the fence counter is not a number that can grow')
end
local function Cl()
if call('ZCARD',Y)+call('HLEN',Z)+call('HLEN',Aa)>0 then
call('UNLINK',Y,Z,Aa)
end
end
local function Cm(Bc,Bq)
Cl()
call('SET',G,'*x'..Bc.W,'PX',Bc.Ba)
call('HSET',Z,Bc.Aw,Bc.Am)
Bw(Bc.Aw,Bq+Bc.Ay,Bc.Aq)
Bf('o'..Bc.Ar,1)
end
local function Cn(Ce,W)
local Ca,Aq,Am=Ce.Ca,Ce.Aq,W..' '..Ce.Am
call('SET',G,Ce.Aw..Ce.Ax..Am,'PX',Ca+Aq)
local Bc={
Aw=Ce.Aw,Av=false,Ax=Ce.Ax,Am=Am,W=W,Aq=Aq,
Ar=Ce.Ar,Az=true,Ba=Ca+Aq,Ay=Ca,
}
return{Bd='x',Be='',Bc=Bc,W=W}
end
local function Co(Ce,Bi,W,Bq)
local Aw,Ar=Ce.Aw,Ce.Ar
if W~=Bi.W then
V(tonumber(W))
end
if not Bi.Bd and Ce.An=='x'then
return Cn(Ce,W)
end
if Bi.Bc then
Cm(Bi.Bc,Bq)
elseif not Bi.Bd then
Cl()
call('SET',G,'*'..Ce.An..Ce.Cg,'PX',Ce.Ca+Ce.Aq)
end
Bw(Aw,Bq+Ce.Ca,Ce.Aq)
call('HSET',Z,Aw,W..' '..Ce.Am)
if Ce.An=='p'then
Bf('used',Ce.Ao)
end
if Ar~=''then
Bf('o'..Ar,1)
if Ce.An=='p'then
Bf('p'..Ar,Ce.Ao)
end
end
if Ce.An=='x'then
return{Bd='x',Be=W,W=W}
end
return{Bd=Ce.An,Be=Ce.Cg}
end
local function Cp(Aw)
if call('ZREM',Ad,Aw,'!'..Aw)==0 then
return false
end
call('HDEL',Ac,Aw)
return call('ZREM',Ab,Aw)==1
end
local function Cq()
return string.match(call('HGET',Ac,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function Cr(Bq)
if call('EXISTS',Ad)==0 then
return false
end
local Bs=math.max(1,Ae)
local Bt=call('ZRANGEBYSCORE',Ad,'-inf',Bq,'LIMIT',0,Bs)
Ag=#Bt==Bs
Ae=Ae-#Bt
for _,Bn in ipairs(Bt)do
local Aw=string.match(Bn,'^!(.*)')
if not Aw then
Cp(Bn)
else
local Cs=call('ZSCORE',Ad,Aw)
if Cs and tonumber(Cs)>Bq then
local Ct=string.match(call('HGET',Ac,Aw)or'','^%d+ %d %S+ (%d+)')
local Cu=Ct and call('ZSCORE',Ad,Bn)-Ct
Ah=Ah or Cu and Cu>=tonumber((Cq()))
end
call('ZREM',Ad,Bn)
end
end
return true
end
local function Cv(Aw,Cw)
local Cx,Cy,Cz,Ct,Da,Cg,Cf,Am=string.match(
Cw or'','^(%d+) ([01]) (%S+) (%d+) (%d+) (%d*) ([01]) (.*)$'
)
if not Cz then
return nil
end
local An,Ao,Aq,Ar,Db=string.match(Am,'^(%a) (%d+) (%d+) (%S*) (.*)$')
local Dc=Aq~='0'
return{
Aw=Aw,An=An,Cf=Cf=='1',Ao=Ao,Cg=Cg,Ar=Ar,
Am=string.format('%s %s %s%s %s ',An,Ao,Dc and'!'or'',Aq,Ar)..Db,
Ca=tonumber(Ct),Aq=0,Ax=Dc and'+'or'-',Cz=Cz,Cx=tonumber(Cx),
Da=tonumber(Da),Cy=Cy=='1',
}
end
local function Dd(Cz,Ak)
local De=A('PUBLISH',Cz,Ak)
return type(De)~='number'or De>0
end
local function Df(Aw)
return string.match(call('HGET',Ac,Aw)or'','^%d+ %d (%S+)')
end
local function Dg(Dh,Ak)
local Di,Dj=8,nil
for _,Aw in ipairs(call('ZRANGE',Ab,0,Di))do
if Aw~=Dh and Di>0 then
Di=Di-1
local Cz=Df(Aw)
if Cz and Dd(Cz,Ak..Aw)then
Dj=Cz
break
end
end
end
local O=call('ZREVRANGE',Ab,0,0)[1]
local Cz=O and O~=Dh and Df(O)
if Cz and Cz~=Dj then
Dd(Cz,Ak..O)
end
end
local function Dk(Dh,Bq,U)
local Dl=call('ZREVRANGE',Ad,0,0,'WITHSCORES')[2]
if not Dl then
return
end
local Dm=0
for _,Aw in ipairs(call('ZRANGE',Ab,0,319))do
local Cx,Cz=string.match(call('HGET',Ac,Aw)or'','^(%d+) %d (%S+)')
if Cz then
Dm=Cx
if Aw~=Dh then
Dd(Cz,'!'..Aw)
end
end
end
call('HSET',Ac,'?',string.format('%.0f %s %s',Bq,Dm,U))
call('PEXPIREAT',Ac,Dl)
end
local function Dn(Bi,Bq,Dh)
local Do,Dp,Dq,Dr=Ah,false,false,false
local Ds,Dt,Du,Dv=Cq()
if Do then
Ae=math.max(5,Ae-260)
Ah,Du,Dv=false,Ds,Dt
end
Ae=math.max(5,Ae)
local U=Du..' '..Dv
Du,Dv=tonumber(Du),tonumber(Dv)
local Dw,at,B,Dx,Dy={},0,0,0,{}
while true do
if Bi.Bc and Bi.Bc.Ar==''then
break
end
at=at+1
if at>B then
if Dy[1]then
call('ZREM',Ab,unpack(Dy))
Dy={}
end
local Bs=math.min(math.max(Dx,1),64)
Dw=call('ZRANGE',Ab,0,Bs)
if not Dw[1]then
break
end
B,at=math.min(#Dw,Bs),1
end
local Dz,Ea=Dw[at],Dw[at+1]
local Cw=call('HGET',Ac,Dz)
local Ce=Cv(Dz,Cw)
local Eb=math.floor(#(Cw or'')/256)
local Cs=Ce and(Ag or Ce.Cx<=Dv)and call('ZSCORE',Ad,Dz)
if not Ce or Ag and Cs and tonumber(Cs)<=Bq then
if Ae<=0 then
Dr=true
break
end
Ae=Ae-1-Eb
Dy[#Dy+1]=Dz
Cp(Dz)
else
local Ec=Cd(Ce,Bi)
S=true
local W=(Ec=='fits'or Ec=='passes')and Cj(Bi)
if not W then
break
end
if Ae<=0 then
Dr=true
break
end
if Dx==0 then
call('ZREM',Ab,Dz)
else
Dy[#Dy+1]=Dz
end
local De=Dz==Dh
local Ed=Ce.Cx<=Dv and Cs
if not De and not(Ed and Cs-Ce.Da<Du)then
De=Dd(Ce.Cz,Dz)or Ce.Cy
end
if not De then
Ae,Dx=Ae-1-Eb,Dx+1
else
Ae,Dx=Ae-5-Eb,0
if Dy[1]then
call('ZREM',Ab,unpack(Dy))
Dy={}
end
if Dz==Dh then
Cp(Dz)
else
call('ZADD',Ad,Bq+Ce.Ca,'!'..Dz)
Dq=true
end
if Ea or Dq then
Ce.Ax='+'
end
Bi=Co(Ce,Bi,W,Bq)
Dp=true
end
end
end
if Dy[1]then
call('ZREM',Ab,unpack(Dy))
end
if Do then
Dk(Dh,Bq,U)
elseif Dr then
Dg(Dh,'!')
elseif Dq then
Dg(Dh,'?')
end
if Dp and not Bi.Bc then
By()
end
return Bi
end
local function Ee(Bi,Aw,Am)
if Bi.Bc then
call('DEL',G)
return{}
end
call('ZREM',Y,Aw,'~'..Aw)
Bj(Am)
Bk(Aw,Am)
if call('ZCARD',Y)==0 then
Bl()
return{}
end
By()
return Bi
end
local function Ef(Bi,Aw,Ar,Eg)
Cp(Aw)
if not Az(Bi,Aw)then
return{'not_held',Bh(Bi,Ar)},Bi
end
local Am=Bi.Bc and Bi.Bc.Am or call('HGET',Z,Aw)
local _,_,_,_,Eh=Al(Am)
Bi=Eg(Bi,Aw,Am)
local Ay=Bh(Bi,Eh)
return Ay>0 and{'still_held',Ay}or 1,Bi
end
local function Ei(Am)
return(string.gsub(Am,'^(%d+ %a %d+ !?%d+) %S* ','%1  '))
end
local function Ej(Bi,Aw,Am,Ek,Bq)
if Bi.Bc then
call('PEXPIRE',G,Ek)
local Av='~'..Aw..'-'..Ei(Am)
call('SET',G,Av,'PX',Ek)
return Bb(Av)
end
call('ZREM',Y,Aw)
Bj(Am)
call('ZADD',Y,Bq+Ek,'~'..Aw)
call('HSET',Z,Aw,Ei(Am))
By()
return Bi
end
local function El(Ch)
local Aw,Ar,Ek=string.sub(ARGV[Ch],1,32),ARGV[Ch+1],tonumber(ARGV[Ch+2])
local Bq=M(K())
local Bi=Bu(call('GET',G),Bq,Aw)
if not Bi then
return Aj()
end
local Em=Cr(Bq)
local H
H,Bi=Ef(Bi,Aw,Ar,Ek==0 and Ee or function(Bo,_,Am)
return Ej(Bo,Aw,Am,Ek,Bq)
end)
if Em then
Dn(Bi,Bq)
end
return H
end
Ae=Ae-math.floor(#D/3)
for _,i in ipairs(D)do
local H='later'
if Ae>0 then
on(KEYS[i])
local Dp
Dp,H=pcall(El,2+B*(i-1))
if not Dp then
H={'error',type(H)=='table'and H.err or H}
end
Ae=Ae-35
end
C[i+1]=H
end
return C
