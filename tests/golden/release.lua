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
local R=false
local function S(i)
if not O then
local T=tonumber(A('GET',N)or 0)
if not T or not(T<9000000000000000)then
return nil
end
O=math.max(T,K()-1)
end
return Q and math.max(O+1,Q+(i or at))or O+1
end
local function U(V)
if V>P then
local W=V+#KEYS-2
if ARGV[#ARGV]=='0'or R and call('PTTL',N)==-1 then
call('SET',N,W)
else
call('SET',N,W,'PX',ARGV[#ARGV])
end
P=W
end
O=V
end
local G,X,Y,Z,Aa,Ab,Ac
local Ad,Ae,Af,Ag=320,false,false,false
local function on(Ah)
Ad,Ae,Af,Ag=math.max(Ad,5),false,false,false
G,X,Y,Z=Ah,Ah..':h',Ah..':d',Ah..':o'
Aa,Ab,Ac=Ah..':q',Ah..':w',Ah..':p'
end
local function Ai(Aj)
return{'corrupt',Aj or'a value that is no lock'}
end
local function Ak(Al)
local V,Am,An,Ao,Ap,Aq=string.match(Al,'^(%d+) (%a) (%d+) (!?)(%d+) (%S*) ')
return V,Am,An,Ao==''and Ap or'0',Aq
end
local function Ar(Al)
return(string.gsub(Al,'^(%d+ %a %d+ )!','%1'))
end
local function As(I)
return string.match(I,'^%*([spx])(%d*)$')
end
local function At(I)
local Au,Av,Aw,Al=string.match(I,'^(~?)(%x+)([-+])(.*)$')
if not Av or#Av~=32 then
return nil
end
local V,Am,_,Ap,Aq=Ak(Al)
if Am~='x'then
return nil
end
local Ax=call('PTTL',G)
Ap=tonumber(Ap)
local Ay=Au==''and Ax>Ap
return{
Av=Av,Au=Au~='',Aw=Aw,Al=Al,V=V,Ap=Ap,Aq=Aq,
Ay=Ay,Az=Ax,Ax=Ay and Ax-Ap or Ax,
}
end
local function Ba(I)
if not I then
return{}
end
if string.sub(I,1,1)~='*'then
local Bb=At(I)
return Bb and{Bc='x',Bd='',Bb=Bb,V=Bb.V}
end
local Bc,Bd=As(I)
return Bc and{Bc=Bc,Bd=Bd,V=Bc=='x'and Bd or nil}
end
local function Be(Bf,by)
local Bd=call('HINCRBY',Z,Bf,by)
if Bd<=0 then
call('HDEL',Z,Bf)
end
end
local function Bg(Bh,Aq)
if Aq==''then
return 0
end
if Bh.Bb then
return Bh.Bb.Ay and Bh.Bb.Aq==Aq and 1 or 0
end
return tonumber(call('HGET',Z,'o'..Aq)or 0)
end
local function Bi(Al)
local _,Am,An,_,Aq=Ak(Al)
if Aq~=''then
Be('o'..Aq,-1)
if Am=='p'then
Be('p'..Aq,-An)
end
end
end
local function Bj(Av,Al)
local _,Am,An=Ak(Al)
if Am=='p'then
Be('used',-An)
end
call('HDEL',Y,Av)
end
local function Bk()
call('UNLINK',G,X,Y,Z)
end
local function Bl(Bm)
local Av=string.sub(Bm,-32)
local Al=call('HGET',Y,Av)
local Bn=Bm==Av
if Al then
local _,_,_,Ap=Ak(Al)
if Bn then
Bi(Al)
end
if not Bn or Ap=='0'then
Bj(Av,Al)
end
end
end
local function Bo(Bp)
local Bq=call('ZREVRANGE',X,0,0,'WITHSCORES')[2]
if not Bq or tonumber(Bq)<=Bp then
Bk()
return false
end
local Br=math.max(1,math.ceil(Ad/3))
local Bs=call('ZRANGEBYSCORE',X,'-inf',Bp,'LIMIT',0,Br)
if Bs[1]then
call('ZREM',X,unpack(Bs))
Ae=#Bs==Br
Ad=Ad-3*#Bs
end
for _,Bm in ipairs(Bs)do
Bl(Bm)
end
return true
end
local function Bt(I,Bp,Av)
local Bh=Ba(I)
if Bh and Bh.Bc and not Bh.Bb then
if not Bo(Bp)then
return{}
end
if Ae and Av then
for _,Bm in ipairs({Av,'~'..Av})do
local Bu=call('ZSCORE',X,Bm)
if Bu and tonumber(Bu)<=Bp then
call('ZREM',X,Bm)
Bl(Bm)
end
end
end
end
return Bh
end
local function Ay(Bh,Av)
if Bh.Bb then
return Bh.Bb.Ay and Bh.Bb.Av==Av
end
return Bh.Bc and call('ZSCORE',X,Av)
end
local function Bv(Av,Bw,Ap)
call('ZADD',X,Bw,Av)
if Ap>0 then
call('ZADD',X,Bw+Ap,'~'..Av)
end
end
local function Bx()
local Bq=call('ZREVRANGE',X,0,0,'WITHSCORES')[2]
for _,Ah in ipairs({G,X,Y,Z})do
call('PEXPIREAT',Ah,Bq)
end
end
local function By(Bh,Av,Bz,Bp)
local T=Bh.Bb and Bh.Bb.Al or call('HGET',Y,Av)
local Al=Ar(T)
local V,_,_,Ap,Aq=Ak(Al)
Ap=tonumber(Ap)
call('PEXPIRE',G,Bz+Ap)
if Bh.Bb then
if Al~=T then
call('SET',G,Av..'+'..Al,'PX',Bz+Ap)
end
return V,Aq
end
if Al~=T then
call('HSET',Y,Av,Al)
end
Bv(Av,Bp+Bz,Ap)
Bx()
return V,Aq
end
local function Ca(Bp)
return call('ZRANGEBYSCORE',X,'('..string.format('%.0f',Bp),'+inf','LIMIT',0,1)[1]
end
local function Cb(Bm,Bp)
local Av=string.sub(Bm,-32)
local Bn=call('ZSCORE',X,Av)
local Az=call('ZSCORE',X,'~'..Av)or Bn
local Bh=Bn and'holding'or'closed'
return string.sub(Av,1,8),Bh,(Bn or Az)-Bp,Az-Bp,call('HGET',Y,Av)
end
local function Cc(Cd,Bh)
local Am,Bc,Bd=Cd.Am,Bh.Bc,Bh.Bd
if not Bc then
return'fits'
end
if not Ae and Bg(Bh,Cd.Aq)>0 then
if Bc=='x'and Am=='x'and Cd.Ce or Bc=='s'and Am=='s'then
return'passes'
elseif Bc=='x'then
return'deadlock','x',1,''
elseif Am=='x'then
return'deadlock',Bc,call('HGET',Z,'p'..Cd.Aq)or 1,Bd
end
end
if Am=='x'or Bc=='x'then
return'in_the_way'
end
if Am~=Bc or Cd.Cf~=Bd then
local Cg=Ca(M(K()))
local _,_,Ch=Ak(call('HGET',Y,string.sub(Cg,-32)))
return'mismatch',Bc,Ch,Bd
end
local Ch=Bc=='p'and call('HGET',Z,'used')or 0
return(Bc=='s'or Ch+Cd.An<=tonumber(Bd))and'fits'or'in_the_way'
end
local function Ci(Bh)
local V=Bh.V or S()
return V and(Bh.V or string.format('%.0f',V))
end
local function Cj()
return Ai('the fence counter is not a number that can grow')
end
local function Ck()
if call('ZCARD',X)+call('HLEN',Y)+call('HLEN',Z)>0 then
call('UNLINK',X,Y,Z)
end
end
local function Cl(Bb,Bp)
Ck()
call('SET',G,'*x'..Bb.V,'PX',Bb.Az)
call('HSET',Y,Bb.Av,Bb.Al)
Bv(Bb.Av,Bp+Bb.Ax,Bb.Ap)
Be('o'..Bb.Aq,1)
end
local function Cm(Cd,V)
local Bz,Ap,Al=Cd.Bz,Cd.Ap,V..' '..Cd.Al
call('SET',G,Cd.Av..Cd.Aw..Al,'PX',Bz+Ap)
local Bb={
Av=Cd.Av,Au=false,Aw=Cd.Aw,Al=Al,V=V,Ap=Ap,
Aq=Cd.Aq,Ay=true,Az=Bz+Ap,Ax=Bz,
}
return{Bc='x',Bd='',Bb=Bb,V=V}
end
local function Cn(Cd,Bh,V,Bp)
local Av,Aq=Cd.Av,Cd.Aq
if V~=Bh.V then
U(tonumber(V))
end
if not Bh.Bc and Cd.Am=='x'then
return Cm(Cd,V)
end
if Bh.Bb then
Cl(Bh.Bb,Bp)
elseif not Bh.Bc then
Ck()
call('SET',G,'*'..Cd.Am..Cd.Cf,'PX',Cd.Bz+Cd.Ap)
end
Bv(Av,Bp+Cd.Bz,Cd.Ap)
call('HSET',Y,Av,V..' '..Cd.Al)
if Cd.Am=='p'then
Be('used',Cd.An)
end
if Aq~=''then
Be('o'..Aq,1)
if Cd.Am=='p'then
Be('p'..Aq,Cd.An)
end
end
if Cd.Am=='x'then
return{Bc='x',Bd=V,V=V}
end
return{Bc=Cd.Am,Bd=Cd.Cf}
end
local function Co(Av)
if call('ZREM',Ac,Av,'!'..Av)==0 then
return false
end
call('HDEL',Ab,Av)
return call('ZREM',Aa,Av)==1
end
local function Cp()
return string.match(call('HGET',Ab,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function Cq(Bp)
if call('EXISTS',Ac)==0 then
return false
end
local Br=math.max(1,Ad)
local Bs=call('ZRANGEBYSCORE',Ac,'-inf',Bp,'LIMIT',0,Br)
Af=#Bs==Br
Ad=Ad-#Bs
for _,Bm in ipairs(Bs)do
local Av=string.match(Bm,'^!(.*)')
if not Av then
Co(Bm)
else
local Cr=call('ZSCORE',Ac,Av)
if Cr and tonumber(Cr)>Bp then
local Cs=string.match(call('HGET',Ab,Av)or'','^%d+ %d %S+ (%d+)')
local Ct=Cs and call('ZSCORE',Ac,Bm)-Cs
Ag=Ag or Ct and Ct>=tonumber((Cp()))
end
call('ZREM',Ac,Bm)
end
end
return true
end
local function Cu(Av,Cv)
local Cw,Cx,Cy,Cs,Cz,Cf,Ce,Al=string.match(
Cv or'','^(%d+) ([01]) (%S+) (%d+) (%d+) (%d*) ([01]) (.*)$'
)
if not Cy then
return nil
end
local Am,An,Ap,Aq,Da=string.match(Al,'^(%a) (%d+) (%d+) (%S*) (.*)$')
local Db=Ap~='0'
return{
Av=Av,Am=Am,Ce=Ce=='1',An=An,Cf=Cf,Aq=Aq,
Al=string.format('%s %s %s%s %s ',Am,An,Db and'!'or'',Ap,Aq)..Da,
Bz=tonumber(Cs),Ap=0,Aw=Db and'+'or'-',Cy=Cy,Cw=tonumber(Cw),
Cz=tonumber(Cz),Cx=Cx=='1',
}
end
local function Dc(Cy,Aj)
local Dd=A('PUBLISH',Cy,Aj)
return type(Dd)~='number'or Dd>0
end
local function De(Av)
return string.match(call('HGET',Ab,Av)or'','^%d+ %d (%S+)')
end
local function Df(Dg,Aj)
local Dh,Di=8,nil
for _,Av in ipairs(call('ZRANGE',Aa,0,Dh))do
if Av~=Dg and Dh>0 then
Dh=Dh-1
local Cy=De(Av)
if Cy and Dc(Cy,Aj..Av)then
Di=Cy
break
end
end
end
local O=call('ZREVRANGE',Aa,0,0)[1]
local Cy=O and O~=Dg and De(O)
if Cy and Cy~=Di then
Dc(Cy,Aj..O)
end
end
local function Dj(Dg,Bp,T)
local Dk=call('ZREVRANGE',Ac,0,0,'WITHSCORES')[2]
if not Dk then
return
end
local Dl=0
for _,Av in ipairs(call('ZRANGE',Aa,0,319))do
local Cw,Cy=string.match(call('HGET',Ab,Av)or'','^(%d+) %d (%S+)')
if Cy then
Dl=Cw
if Av~=Dg then
Dc(Cy,'!'..Av)
end
end
end
call('HSET',Ab,'?',string.format('%.0f %s %s',Bp,Dl,T))
call('PEXPIREAT',Ab,Dk)
end
local function Dm(Bh,Bp,Dg)
local Dn,Do,Dp,Dq=Ag,false,false,false
local Dr,Ds,Dt,Du=Cp()
if Dn then
Ad=math.max(5,Ad-260)
Ag,Dt,Du=false,Dr,Ds
end
Ad=math.max(5,Ad)
local T=Dt..' '..Du
Dt,Du=tonumber(Dt),tonumber(Du)
local Dv,at,B,Dw,Dx={},0,0,0,{}
while true do
if Bh.Bb and Bh.Bb.Aq==''then
break
end
at=at+1
if at>B then
if Dx[1]then
call('ZREM',Aa,unpack(Dx))
Dx={}
end
local Br=math.min(math.max(Dw,1),64)
Dv=call('ZRANGE',Aa,0,Br)
if not Dv[1]then
break
end
B,at=math.min(#Dv,Br),1
end
local Dy,Dz=Dv[at],Dv[at+1]
local Cv=call('HGET',Ab,Dy)
local Cd=Cu(Dy,Cv)
local Ea=math.floor(#(Cv or'')/256)
local Cr=Cd and(Af or Cd.Cw<=Du)and call('ZSCORE',Ac,Dy)
if not Cd or Af and Cr and tonumber(Cr)<=Bp then
if Ad<=0 then
Dq=true
break
end
Ad=Ad-1-Ea
Dx[#Dx+1]=Dy
Co(Dy)
else
local Eb=Cc(Cd,Bh)
R=true
local V=(Eb=='fits'or Eb=='passes')and Ci(Bh)
if not V then
break
end
if Ad<=0 then
Dq=true
break
end
if Dw==0 then
call('ZREM',Aa,Dy)
else
Dx[#Dx+1]=Dy
end
local Dd=Dy==Dg
local Ec=Cd.Cw<=Du and Cr
if not Dd and not(Ec and Cr-Cd.Cz<Dt)then
Dd=Dc(Cd.Cy,Dy)or Cd.Cx
end
if not Dd then
Ad,Dw=Ad-1-Ea,Dw+1
else
Ad,Dw=Ad-5-Ea,0
if Dx[1]then
call('ZREM',Aa,unpack(Dx))
Dx={}
end
if Dy==Dg then
Co(Dy)
else
call('ZADD',Ac,Bp+Cd.Bz,'!'..Dy)
Dp=true
end
if Dz or Dp then
Cd.Aw='+'
end
Bh=Cn(Cd,Bh,V,Bp)
Do=true
end
end
end
if Dx[1]then
call('ZREM',Aa,unpack(Dx))
end
if Dn then
Dj(Dg,Bp,T)
elseif Dq then
Df(Dg,'!')
elseif Dp then
Df(Dg,'?')
end
if Do and not Bh.Bb then
Bx()
end
return Bh
end
local function Ed(Bh,Av,Al)
if Bh.Bb then
call('DEL',G)
return{}
end
call('ZREM',X,Av,'~'..Av)
Bi(Al)
Bj(Av,Al)
if call('ZCARD',X)==0 then
Bk()
return{}
end
Bx()
return Bh
end
local function Ee(Bh,Av,Aq,Ef)
Co(Av)
if not Ay(Bh,Av)then
return{'not_held',Bg(Bh,Aq)},Bh
end
local Al=Bh.Bb and Bh.Bb.Al or call('HGET',Y,Av)
local _,_,_,_,Eg=Ak(Al)
Bh=Ef(Bh,Av,Al)
local Ax=Bg(Bh,Eg)
return Ax>0 and{'still_held',Ax}or 1,Bh
end
local function Eh(Al)
return(string.gsub(Al,'^(%d+ %a %d+ !?%d+) %S* ','%1  '))
end
local function Ei(Bh,Av,Al,Ej,Bp)
if Bh.Bb then
call('PEXPIRE',G,Ej)
local Au='~'..Av..'-'..Eh(Al)
call('SET',G,Au,'PX',Ej)
return Ba(Au)
end
call('ZREM',X,Av)
Bi(Al)
call('ZADD',X,Bp+Ej,'~'..Av)
call('HSET',Y,Av,Eh(Al))
Bx()
return Bh
end
local function Ek(Cg)
local Av,Aq,Ej=string.sub(ARGV[Cg],1,32),ARGV[Cg+1],tonumber(ARGV[Cg+2])
local Bp=M(K())
local Bh=Bt(call('GET',G),Bp,Av)
if not Bh then
return Ai()
end
local El=Cq(Bp)
local H
H,Bh=Ee(Bh,Av,Aq,Ej==0 and Ed or function(Bn,_,Al)
return Ei(Bn,Av,Al,Ej,Bp)
end)
if El then
Dm(Bh,Bp)
end
return H
end
Ad=Ad-math.floor(#D/3)
for _,i in ipairs(D)do
local H='later'
if Ad>0 then
on(KEYS[i])
local Do
Do,H=pcall(Ek,2+B*(i-1))
if not Do then
H={'error',type(H)=='table'and H.err or H}
end
Ad=Ad-35
end
C[i+1]=H
end
return C
