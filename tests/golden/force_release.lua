local call,A=redis.call,redis.pcall
local B
local function C()
if not B then
local D=call('TIME')
B=D[1]*1000000+D[2]
end
return B
end
local function E(us)
return math.floor(us/1000)
end
local F,G,H,at,I=KEYS[#KEYS]..'fence',nil,0,nil,nil
local J=false
local function K(i)
if not G then
local L=tonumber(A('GET',F)or 0)
if not L or not(L<9000000000000000)then
return nil
end
G=math.max(L,C()-1)
end
return I and math.max(G+1,I+(i or at))or G+1
end
local function M(N)
if N>H then
local O=N+#KEYS-2
if ARGV[#ARGV]=='0'or J and call('PTTL',F)==-1 then
call('SET',F,O)
else
call('SET',F,O,'PX',ARGV[#ARGV])
end
H=O
end
G=N
end
local P,Q,R,S,T,U,V
local W,X,Y,Z=320,false,false,false
local function on(Aa)
W,X,Y,Z=math.max(W,5),false,false,false
P,Q,R,S=Aa,Aa..':h',Aa..':d',Aa..':o'
T,U,V=Aa..':q',Aa..':w',Aa..':p'
end
local function Ab(Ac)
return{'corrupt',Ac or'a value that is no lock'}
end
local function Ad(Ae)
local N,Af,Ag,Ah,Ai,Aj=string.match(Ae,'^(%d+) (%a) (%d+) (!?)(%d+) (%S*) ')
return N,Af,Ag,Ah==''and Ai or'0',Aj
end
local function Ak(Ae)
return(string.gsub(Ae,'^(%d+ %a %d+ )!','%1'))
end
local function Al(Am)
return string.match(Am,'^%*([spx])(%d*)$')
end
local function An(Am)
local Ao,Ap,Aq,Ae=string.match(Am,'^(~?)(%x+)([-+])(.*)$')
if not Ap or#Ap~=32 then
return nil
end
local N,Af,_,Ai,Aj=Ad(Ae)
if Af~='x'then
return nil
end
local Ar=call('PTTL',P)
Ai=tonumber(Ai)
local As=Ao==''and Ar>Ai
return{
Ap=Ap,Ao=Ao~='',Aq=Aq,Ae=Ae,N=N,Ai=Ai,Aj=Aj,
As=As,At=Ar,Ar=As and Ar-Ai or Ar,
}
end
local function Au(Am)
if not Am then
return{}
end
if string.sub(Am,1,1)~='*'then
local Av=An(Am)
return Av and{Aw='x',Ax='',Av=Av,N=Av.N}
end
local Aw,Ax=Al(Am)
return Aw and{Aw=Aw,Ax=Ax,N=Aw=='x'and Ax or nil}
end
local function Ay(Az,by)
local Ax=call('HINCRBY',S,Az,by)
if Ax<=0 then
call('HDEL',S,Az)
end
end
local function Ba(Bb,Aj)
if Aj==''then
return 0
end
if Bb.Av then
return Bb.Av.As and Bb.Av.Aj==Aj and 1 or 0
end
return tonumber(call('HGET',S,'o'..Aj)or 0)
end
local function Bc(Ae)
local _,Af,Ag,_,Aj=Ad(Ae)
if Aj~=''then
Ay('o'..Aj,-1)
if Af=='p'then
Ay('p'..Aj,-Ag)
end
end
end
local function Bd(Ap,Ae)
local _,Af,Ag=Ad(Ae)
if Af=='p'then
Ay('used',-Ag)
end
call('HDEL',R,Ap)
end
local function Be()
call('UNLINK',P,Q,R,S)
end
local function Bf(Bg)
local Ap=string.sub(Bg,-32)
local Ae=call('HGET',R,Ap)
local Bh=Bg==Ap
if Ae then
local _,_,_,Ai=Ad(Ae)
if Bh then
Bc(Ae)
end
if not Bh or Ai=='0'then
Bd(Ap,Ae)
end
end
end
local function Bi(Bj)
local Bk=call('ZREVRANGE',Q,0,0,'WITHSCORES')[2]
if not Bk or tonumber(Bk)<=Bj then
Be()
return false
end
local Bl=math.max(1,math.ceil(W/3))
local Bm=call('ZRANGEBYSCORE',Q,'-inf',Bj,'LIMIT',0,Bl)
if Bm[1]then
call('ZREM',Q,unpack(Bm))
X=#Bm==Bl
W=W-3*#Bm
end
for _,Bg in ipairs(Bm)do
Bf(Bg)
end
return true
end
local function Bn(Am,Bj,Ap)
local Bb=Au(Am)
if Bb and Bb.Aw and not Bb.Av then
if not Bi(Bj)then
return{}
end
if X and Ap then
for _,Bg in ipairs({Ap,'~'..Ap})do
local Bo=call('ZSCORE',Q,Bg)
if Bo and tonumber(Bo)<=Bj then
call('ZREM',Q,Bg)
Bf(Bg)
end
end
end
end
return Bb
end
local function As(Bb,Ap)
if Bb.Av then
return Bb.Av.As and Bb.Av.Ap==Ap
end
return Bb.Aw and call('ZSCORE',Q,Ap)
end
local function Bp(Ap,Bq,Ai)
call('ZADD',Q,Bq,Ap)
if Ai>0 then
call('ZADD',Q,Bq+Ai,'~'..Ap)
end
end
local function Br()
local Bk=call('ZREVRANGE',Q,0,0,'WITHSCORES')[2]
for _,Aa in ipairs({P,Q,R,S})do
call('PEXPIREAT',Aa,Bk)
end
end
local function Bs(Bb,Ap,Bt,Bj)
local L=Bb.Av and Bb.Av.Ae or call('HGET',R,Ap)
local Ae=Ak(L)
local N,_,_,Ai,Aj=Ad(Ae)
Ai=tonumber(Ai)
call('PEXPIRE',P,Bt+Ai)
if Bb.Av then
if Ae~=L then
call('SET',P,Ap..'+'..Ae,'PX',Bt+Ai)
end
return N,Aj
end
if Ae~=L then
call('HSET',R,Ap,Ae)
end
Bp(Ap,Bj+Bt,Ai)
Br()
return N,Aj
end
local function Bu(Bj)
return call('ZRANGEBYSCORE',Q,'('..string.format('%.0f',Bj),'+inf','LIMIT',0,1)[1]
end
local function Bv(Bg,Bj)
local Ap=string.sub(Bg,-32)
local Bh=call('ZSCORE',Q,Ap)
local At=call('ZSCORE',Q,'~'..Ap)or Bh
local Bb=Bh and'holding'or'closed'
return string.sub(Ap,1,8),Bb,(Bh or At)-Bj,At-Bj,call('HGET',R,Ap)
end
local function Bw(Bx,Bb)
local Af,Aw,Ax=Bx.Af,Bb.Aw,Bb.Ax
if not Aw then
return'fits'
end
if not X and Ba(Bb,Bx.Aj)>0 then
if Aw=='x'and Af=='x'and Bx.By or Aw=='s'and Af=='s'then
return'passes'
elseif Aw=='x'then
return'deadlock','x',1,''
elseif Af=='x'then
return'deadlock',Aw,call('HGET',S,'p'..Bx.Aj)or 1,Ax
end
end
if Af=='x'or Aw=='x'then
return'in_the_way'
end
if Af~=Aw or Bx.Bz~=Ax then
local Ca=Bu(E(C()))
local _,_,Cb=Ad(call('HGET',R,string.sub(Ca,-32)))
return'mismatch',Aw,Cb,Ax
end
local Cb=Aw=='p'and call('HGET',S,'used')or 0
return(Aw=='s'or Cb+Bx.Ag<=tonumber(Ax))and'fits'or'in_the_way'
end
local function Cc(Bb)
local N=Bb.N or K()
return N and(Bb.N or string.format('%.0f',N))
end
local function Cd()
return Ab('the fence counter is not a number that can grow')
end
local function Ce()
if call('ZCARD',Q)+call('HLEN',R)+call('HLEN',S)>0 then
call('UNLINK',Q,R,S)
end
end
local function Cf(Av,Bj)
Ce()
call('SET',P,'*x'..Av.N,'PX',Av.At)
call('HSET',R,Av.Ap,Av.Ae)
Bp(Av.Ap,Bj+Av.Ar,Av.Ai)
Ay('o'..Av.Aj,1)
end
local function Cg(Bx,N)
local Bt,Ai,Ae=Bx.Bt,Bx.Ai,N..' '..Bx.Ae
call('SET',P,Bx.Ap..Bx.Aq..Ae,'PX',Bt+Ai)
local Av={
Ap=Bx.Ap,Ao=false,Aq=Bx.Aq,Ae=Ae,N=N,Ai=Ai,
Aj=Bx.Aj,As=true,At=Bt+Ai,Ar=Bt,
}
return{Aw='x',Ax='',Av=Av,N=N}
end
local function Ch(Bx,Bb,N,Bj)
local Ap,Aj=Bx.Ap,Bx.Aj
if N~=Bb.N then
M(tonumber(N))
end
if not Bb.Aw and Bx.Af=='x'then
return Cg(Bx,N)
end
if Bb.Av then
Cf(Bb.Av,Bj)
elseif not Bb.Aw then
Ce()
call('SET',P,'*'..Bx.Af..Bx.Bz,'PX',Bx.Bt+Bx.Ai)
end
Bp(Ap,Bj+Bx.Bt,Bx.Ai)
call('HSET',R,Ap,N..' '..Bx.Ae)
if Bx.Af=='p'then
Ay('used',Bx.Ag)
end
if Aj~=''then
Ay('o'..Aj,1)
if Bx.Af=='p'then
Ay('p'..Aj,Bx.Ag)
end
end
if Bx.Af=='x'then
return{Aw='x',Ax=N,N=N}
end
return{Aw=Bx.Af,Ax=Bx.Bz}
end
local function Ci(Ap)
if call('ZREM',V,Ap,'!'..Ap)==0 then
return false
end
call('HDEL',U,Ap)
return call('ZREM',T,Ap)==1
end
local function Cj()
return string.match(call('HGET',U,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function Ck(Bj)
if call('EXISTS',V)==0 then
return false
end
local Bl=math.max(1,W)
local Bm=call('ZRANGEBYSCORE',V,'-inf',Bj,'LIMIT',0,Bl)
Y=#Bm==Bl
W=W-#Bm
for _,Bg in ipairs(Bm)do
local Ap=string.match(Bg,'^!(.*)')
if not Ap then
Ci(Bg)
else
local Cl=call('ZSCORE',V,Ap)
if Cl and tonumber(Cl)>Bj then
local Cm=string.match(call('HGET',U,Ap)or'','^%d+ %d %S+ (%d+)')
local Cn=Cm and call('ZSCORE',V,Bg)-Cm
Z=Z or Cn and Cn>=tonumber((Cj()))
end
call('ZREM',V,Bg)
end
end
return true
end
local function Co(Ap,Cp)
local Cq,Cr,Cs,Cm,Ct,Bz,By,Ae=string.match(
Cp or'','^(%d+) ([01]) (%S+) (%d+) (%d+) (%d*) ([01]) (.*)$'
)
if not Cs then
return nil
end
local Af,Ag,Ai,Aj,Cu=string.match(Ae,'^(%a) (%d+) (%d+) (%S*) (.*)$')
local Cv=Ai~='0'
return{
Ap=Ap,Af=Af,By=By=='1',Ag=Ag,Bz=Bz,Aj=Aj,
Ae=string.format('%s %s %s%s %s ',Af,Ag,Cv and'!'or'',Ai,Aj)..Cu,
Bt=tonumber(Cm),Ai=0,Aq=Cv and'+'or'-',Cs=Cs,Cq=tonumber(Cq),
Ct=tonumber(Ct),Cr=Cr=='1',
}
end
local function Cw(Cs,Ac)
local Cx=A('PUBLISH',Cs,Ac)
return type(Cx)~='number'or Cx>0
end
local function Cy(Ap)
return string.match(call('HGET',U,Ap)or'','^%d+ %d (%S+)')
end
local function Cz(Da,Ac)
local Db,Dc=8,nil
for _,Ap in ipairs(call('ZRANGE',T,0,Db))do
if Ap~=Da and Db>0 then
Db=Db-1
local Cs=Cy(Ap)
if Cs and Cw(Cs,Ac..Ap)then
Dc=Cs
break
end
end
end
local G=call('ZREVRANGE',T,0,0)[1]
local Cs=G and G~=Da and Cy(G)
if Cs and Cs~=Dc then
Cw(Cs,Ac..G)
end
end
local function Dd(Da,Bj,L)
local De=call('ZREVRANGE',V,0,0,'WITHSCORES')[2]
if not De then
return
end
local Df=0
for _,Ap in ipairs(call('ZRANGE',T,0,319))do
local Cq,Cs=string.match(call('HGET',U,Ap)or'','^(%d+) %d (%S+)')
if Cs then
Df=Cq
if Ap~=Da then
Cw(Cs,'!'..Ap)
end
end
end
call('HSET',U,'?',string.format('%.0f %s %s',Bj,Df,L))
call('PEXPIREAT',U,De)
end
local function Dg(Bb,Bj,Da)
local Dh,Di,Dj,Dk=Z,false,false,false
local Dl,Dm,Dn,Do=Cj()
if Dh then
W=math.max(5,W-260)
Z,Dn,Do=false,Dl,Dm
end
W=math.max(5,W)
local L=Dn..' '..Do
Dn,Do=tonumber(Dn),tonumber(Do)
local Dp,at,Dq,Dr,Ds={},0,0,0,{}
while true do
if Bb.Av and Bb.Av.Aj==''then
break
end
at=at+1
if at>Dq then
if Ds[1]then
call('ZREM',T,unpack(Ds))
Ds={}
end
local Bl=math.min(math.max(Dr,1),64)
Dp=call('ZRANGE',T,0,Bl)
if not Dp[1]then
break
end
Dq,at=math.min(#Dp,Bl),1
end
local Dt,Du=Dp[at],Dp[at+1]
local Cp=call('HGET',U,Dt)
local Bx=Co(Dt,Cp)
local Dv=math.floor(#(Cp or'')/256)
local Cl=Bx and(Y or Bx.Cq<=Do)and call('ZSCORE',V,Dt)
if not Bx or Y and Cl and tonumber(Cl)<=Bj then
if W<=0 then
Dk=true
break
end
W=W-1-Dv
Ds[#Ds+1]=Dt
Ci(Dt)
else
local Dw=Bw(Bx,Bb)
J=true
local N=(Dw=='fits'or Dw=='passes')and Cc(Bb)
if not N then
break
end
if W<=0 then
Dk=true
break
end
if Dr==0 then
call('ZREM',T,Dt)
else
Ds[#Ds+1]=Dt
end
local Cx=Dt==Da
local Dx=Bx.Cq<=Do and Cl
if not Cx and not(Dx and Cl-Bx.Ct<Dn)then
Cx=Cw(Bx.Cs,Dt)or Bx.Cr
end
if not Cx then
W,Dr=W-1-Dv,Dr+1
else
W,Dr=W-5-Dv,0
if Ds[1]then
call('ZREM',T,unpack(Ds))
Ds={}
end
if Dt==Da then
Ci(Dt)
else
call('ZADD',V,Bj+Bx.Bt,'!'..Dt)
Dj=true
end
if Du or Dj then
Bx.Aq='+'
end
Bb=Ch(Bx,Bb,N,Bj)
Di=true
end
end
end
if Ds[1]then
call('ZREM',T,unpack(Ds))
end
if Dh then
Dd(Da,Bj,L)
elseif Dk then
Cz(Da,'!')
elseif Dj then
Cz(Da,'?')
end
if Di and not Bb.Av then
Br()
end
return Bb
end
local function Dy(Bb,Bj)
local Bl,Dz=1000,{}
if Bb.Av then
Dz[1]=Bb.Av.As and Bb.Av.Ap or nil
return Dz,1
end
if not Bb.Aw then
return Dz,1
end
local Ea='('..string.format('%.0f',Bj)
local Eb=call('ZRANGEBYSCORE',Q,Ea,'+inf','LIMIT',0,2*Bl+1)
for _,Bg in ipairs(Eb)do
if#Bg==32 and#Dz<Bl then
Dz[#Dz+1]=Bg
elseif#Bg==32 then
return Dz,0
end
end
return Dz,#Eb>2*Bl and 0 or 1
end
local function Ec(Ed,Dz)
return Ed..' '..table.concat(Dz,',')
end
on(KEYS[1])
local Bj=E(C())
local Bb=Bn(call('GET',P),Bj)
if not Bb then
return{ARGV[1],Ab()}
end
local Ee=0
if Bb.Aw then
Ee=Bb.Av and 1 or call('HLEN',R)
local Dc=Dy(Bb,Bj)
if Dc[1]then
A('PUBLISH',ARGV[2],Ec('taken',Dc))
end
Be()
end
if Ck(Bj)then
Dg({},Bj)
end
return{ARGV[1],{'opened',Ee}}
