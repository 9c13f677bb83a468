local call,A=redis.call,redis.pcall
local B=ARGV[6]
local C
local function D()
if not C then
local E=call('TIME')
C=E[1]*1000000+E[2]
end
return C
end
local function F(us)
return math.floor(us/1000)
end
local G,H,I,at,J=KEYS[#KEYS]..'fence',nil,0,nil,nil
local function K(i)
if not H then
local L=tonumber(A('GET',G)or 0)
if not L or not(L<9000000000000000)then
return nil
end
H=math.max(L,D()-1)
end
return J and math.max(H+1,J+(i or at))or H+1
end
local function M(N)
if N>I then
local O=N+#KEYS-2
if ARGV[#ARGV]=='0'then
call('SET',G,O)
else
call('SET',G,O,'PX',ARGV[#ARGV])
end
I=O
end
H=N
end
local P=call('GET',KEYS[1])
if
P
and#ARGV[2]==33
and string.sub(P,1,32)==B
and string.find(P,'^[-+]%d+ x 1 0 ',33)
and call('EXISTS',KEYS[1]..':p')==0
then
local N=K()
if N and pcall(M,N)then
call('SET',KEYS[1],ARGV[2]..string.format('%.0f',N)..' '..ARGV[4],'PX',ARGV[3])
return{ARGV[1],1,N,0}
end
end
local Q,R,S,T,U,V,W
local X,Y,Z,Aa=320,false,false,false
local function on(Ab)
X,Y,Z,Aa=math.max(X,5),false,false,false
Q,R,S,T=Ab,Ab..':h',Ab..':d',Ab..':o'
U,V,W=Ab..':q',Ab..':w',Ab..':p'
end
local function Ac(Ad)
return{'corrupt',Ad or'a value that is no lock'}
end
local function Ae(Af)
local N,Ag,Ah,Ai,Aj,Ak=string.match(Af,'^(%d+) (%a) (%d+) (!?)(%d+) (%S*) ')
return N,Ag,Ah,Ai==''and Aj or'0',Ak
end
local function Al(Af)
return(string.gsub(Af,'^(%d+ %a %d+ )!','%1'))
end
local function Am(P)
return string.match(P,'^%*([spx])(%d*)$')
end
local function An(P)
local Ao,Ap,Aq,Af=string.match(P,'^(~?)(%x+)([-+])(.*)$')
if not Ap or#Ap~=32 then
return nil
end
local N,Ag,_,Aj,Ak=Ae(Af)
if Ag~='x'then
return nil
end
local Ar=call('PTTL',Q)
Aj=tonumber(Aj)
local As=Ao==''and Ar>Aj
return{
Ap=Ap,Ao=Ao~='',Aq=Aq,Af=Af,N=N,Aj=Aj,Ak=Ak,
As=As,At=Ar,Ar=As and Ar-Aj or Ar,
}
end
local function Au(P)
if not P then
return{}
end
if string.sub(P,1,1)~='*'then
local Av=An(P)
return Av and{Aw='x',Ax='',Av=Av,N=Av.N}
end
local Aw,Ax=Am(P)
return Aw and{Aw=Aw,Ax=Ax,N=Aw=='x'and Ax or nil}
end
local function Ay(Az,by)
local Ax=call('HINCRBY',T,Az,by)
if Ax<=0 then
call('HDEL',T,Az)
end
end
local function Ba(Bb,Ak)
if Ak==''then
return 0
end
if Bb.Av then
return Bb.Av.As and Bb.Av.Ak==Ak and 1 or 0
end
return tonumber(call('HGET',T,'o'..Ak)or 0)
end
local function Bc(Af)
local _,Ag,Ah,_,Ak=Ae(Af)
if Ak~=''then
Ay('o'..Ak,-1)
if Ag=='p'then
Ay('p'..Ak,-Ah)
end
end
end
local function Bd(Ap,Af)
local _,Ag,Ah=Ae(Af)
if Ag=='p'then
Ay('used',-Ah)
end
call('HDEL',S,Ap)
end
local function Be()
call('UNLINK',Q,R,S,T)
end
local function Bf(Bg)
local Ap=string.sub(Bg,-32)
local Af=call('HGET',S,Ap)
local Bh=Bg==Ap
if Af then
local _,_,_,Aj=Ae(Af)
if Bh then
Bc(Af)
end
if not Bh or Aj=='0'then
Bd(Ap,Af)
end
end
end
local function Bi(Bj)
local Bk=call('ZREVRANGE',R,0,0,'WITHSCORES')[2]
if not Bk or tonumber(Bk)<=Bj then
Be()
return false
end
local Bl=math.max(1,math.ceil(X/3))
local Bm=call('ZRANGEBYSCORE',R,'-inf',Bj,'LIMIT',0,Bl)
if Bm[1]then
call('ZREM',R,unpack(Bm))
Y=#Bm==Bl
X=X-3*#Bm
end
for _,Bg in ipairs(Bm)do
Bf(Bg)
end
return true
end
local function Bn(P,Bj,Ap)
local Bb=Au(P)
if Bb and Bb.Aw and not Bb.Av then
if not Bi(Bj)then
return{}
end
if Y and Ap then
for _,Bg in ipairs({Ap,'~'..Ap})do
local Bo=call('ZSCORE',R,Bg)
if Bo and tonumber(Bo)<=Bj then
call('ZREM',R,Bg)
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
return Bb.Aw and call('ZSCORE',R,Ap)
end
local function Bp(Ap,Bq,Aj)
call('ZADD',R,Bq,Ap)
if Aj>0 then
call('ZADD',R,Bq+Aj,'~'..Ap)
end
end
local function Br()
local Bk=call('ZREVRANGE',R,0,0,'WITHSCORES')[2]
for _,Ab in ipairs({Q,R,S,T})do
call('PEXPIREAT',Ab,Bk)
end
end
local function Bs(Bb,Ap,Bt,Bj)
local L=Bb.Av and Bb.Av.Af or call('HGET',S,Ap)
local Af=Al(L)
local N,_,_,Aj,Ak=Ae(Af)
Aj=tonumber(Aj)
call('PEXPIRE',Q,Bt+Aj)
if Bb.Av then
if Af~=L then
call('SET',Q,Ap..'+'..Af,'PX',Bt+Aj)
end
return N,Ak
end
if Af~=L then
call('HSET',S,Ap,Af)
end
Bp(Ap,Bj+Bt,Aj)
Br()
return N,Ak
end
local function Bu(Bj)
return call('ZRANGEBYSCORE',R,'('..string.format('%.0f',Bj),'+inf','LIMIT',0,1)[1]
end
local function Bv(Bg,Bj)
local Ap=string.sub(Bg,-32)
local Bh=call('ZSCORE',R,Ap)
local At=call('ZSCORE',R,'~'..Ap)or Bh
local Bb=Bh and'holding'or'closed'
return string.sub(Ap,1,8),Bb,(Bh or At)-Bj,At-Bj,call('HGET',S,Ap)
end
local function Bw(Bx,Bb)
local Ag,Aw,Ax=Bx.Ag,Bb.Aw,Bb.Ax
if not Aw then
return'fits'
end
if not Y and Ba(Bb,Bx.Ak)>0 then
if Aw=='x'and Ag=='x'and Bx.By or Aw=='s'and Ag=='s'then
return'passes'
elseif Aw=='x'then
return'deadlock','x',1,''
elseif Ag=='x'then
return'deadlock',Aw,call('HGET',T,'p'..Bx.Ak)or 1,Ax
end
end
if Ag=='x'or Aw=='x'then
return'in_the_way'
end
if Ag~=Aw or Bx.Bz~=Ax then
local Ca=Bu(F(D()))
local _,_,Cb=Ae(call('HGET',S,string.sub(Ca,-32)))
return'mismatch',Aw,Cb,Ax
end
local Cb=Aw=='p'and call('HGET',T,'used')or 0
return(Aw=='s'or Cb+Bx.Ah<=tonumber(Ax))and'fits'or'in_the_way'
end
local function Cc(Bb)
local N=Bb.N or K()
return N and(Bb.N or string.format('%.0f',N))
end
local function Cd()
return Ac('the fence counter is not a number that can grow')
end
local function Ce()
if call('ZCARD',R)+call('HLEN',S)+call('HLEN',T)>0 then
call('UNLINK',R,S,T)
end
end
local function Cf(Av,Bj)
Ce()
call('SET',Q,'*x'..Av.N,'PX',Av.At)
call('HSET',S,Av.Ap,Av.Af)
Bp(Av.Ap,Bj+Av.Ar,Av.Aj)
Ay('o'..Av.Ak,1)
end
local function Cg(Bx,N)
local Bt,Aj,Af=Bx.Bt,Bx.Aj,N..' '..Bx.Af
call('SET',Q,Bx.Ap..Bx.Aq..Af,'PX',Bt+Aj)
local Av={
Ap=Bx.Ap,Ao=false,Aq=Bx.Aq,Af=Af,N=N,Aj=Aj,
Ak=Bx.Ak,As=true,At=Bt+Aj,Ar=Bt,
}
return{Aw='x',Ax='',Av=Av,N=N}
end
local function Ch(Bx,Bb,N,Bj)
local Ap,Ak=Bx.Ap,Bx.Ak
if N~=Bb.N then
M(tonumber(N))
end
if not Bb.Aw and Bx.Ag=='x'then
return Cg(Bx,N)
end
if Bb.Av then
Cf(Bb.Av,Bj)
elseif not Bb.Aw then
Ce()
call('SET',Q,'*'..Bx.Ag..Bx.Bz,'PX',Bx.Bt+Bx.Aj)
end
Bp(Ap,Bj+Bx.Bt,Bx.Aj)
call('HSET',S,Ap,N..' '..Bx.Af)
if Bx.Ag=='p'then
Ay('used',Bx.Ah)
end
if Ak~=''then
Ay('o'..Ak,1)
if Bx.Ag=='p'then
Ay('p'..Ak,Bx.Ah)
end
end
if Bx.Ag=='x'then
return{Aw='x',Ax=N,N=N}
end
return{Aw=Bx.Ag,Ax=Bx.Bz}
end
local function Ci(Ap)
if call('ZREM',W,Ap,'!'..Ap)==0 then
return false
end
call('HDEL',V,Ap)
return call('ZREM',U,Ap)==1
end
local function Cj()
return string.match(call('HGET',V,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function Ck(Bj)
if call('EXISTS',W)==0 then
return false
end
local Bl=math.max(1,X)
local Bm=call('ZRANGEBYSCORE',W,'-inf',Bj,'LIMIT',0,Bl)
Z=#Bm==Bl
X=X-#Bm
for _,Bg in ipairs(Bm)do
local Ap=string.match(Bg,'^!(.*)')
if not Ap then
Ci(Bg)
else
local Cl=call('ZSCORE',W,Ap)
if Cl and tonumber(Cl)>Bj then
local Cm=string.match(call('HGET',V,Ap)or'','^%d+ %d %S+ (%d+)')
local Cn=Cm and call('ZSCORE',W,Bg)-Cm
Aa=Aa or Cn and Cn>=tonumber((Cj()))
end
call('ZREM',W,Bg)
end
end
return true
end
local function Co(Ap,Cp)
local Cq,Cr,Cs,Cm,Ct,Bz,By,Af=string.match(
Cp or'','^(%d+) ([01]) (%S+) (%d+) (%d+) (%d*) ([01]) (.*)$'
)
if not Cs then
return nil
end
local Ag,Ah,Aj,Ak,Cu=string.match(Af,'^(%a) (%d+) (%d+) (%S*) (.*)$')
local Cv=Aj~='0'
return{
Ap=Ap,Ag=Ag,By=By=='1',Ah=Ah,Bz=Bz,Ak=Ak,
Af=string.format('%s %s %s%s %s ',Ag,Ah,Cv and'!'or'',Aj,Ak)..Cu,
Bt=tonumber(Cm),Aj=0,Aq=Cv and'+'or'-',Cs=Cs,Cq=tonumber(Cq),
Ct=tonumber(Ct),Cr=Cr=='1',
}
end
local function Cw(Cs,Ad)
local Cx=A('PUBLISH',Cs,Ad)
return type(Cx)~='number'or Cx>0
end
local function Cy(Ap)
return string.match(call('HGET',V,Ap)or'','^%d+ %d (%S+)')
end
local function Cz(Da,Ad)
local Db,Dc=8,nil
for _,Ap in ipairs(call('ZRANGE',U,0,Db))do
if Ap~=Da and Db>0 then
Db=Db-1
local Cs=Cy(Ap)
if Cs and Cw(Cs,Ad..Ap)then
Dc=Cs
break
end
end
end
local H=call('ZREVRANGE',U,0,0)[1]
local Cs=H and H~=Da and Cy(H)
if Cs and Cs~=Dc then
Cw(Cs,Ad..H)
end
end
local function Dd(Da,Bj,L)
local De=call('ZREVRANGE',W,0,0,'WITHSCORES')[2]
if not De then
return
end
local Df=0
for _,Ap in ipairs(call('ZRANGE',U,0,319))do
local Cq,Cs=string.match(call('HGET',V,Ap)or'','^(%d+) %d (%S+)')
if Cs then
Df=Cq
if Ap~=Da then
Cw(Cs,'!'..Ap)
end
end
end
call('HSET',V,'?',string.format('%.0f %s %s',Bj,Df,L))
call('PEXPIREAT',V,De)
end
local function Dg(Bb,Bj,Da)
local Dh,Di,Dj,Dk=Aa,false,false,false
local Dl,Dm,Dn,Do=Cj()
if Dh then
X=math.max(5,X-260)
Aa,Dn,Do=false,Dl,Dm
end
X=math.max(5,X)
local L=Dn..' '..Do
Dn,Do=tonumber(Dn),tonumber(Do)
local Dp,at,Dq,Dr,Ds={},0,0,0,{}
while true do
if Bb.Av and Bb.Av.Ak==''then
break
end
at=at+1
if at>Dq then
if Ds[1]then
call('ZREM',U,unpack(Ds))
Ds={}
end
local Bl=math.min(math.max(Dr,1),64)
Dp=call('ZRANGE',U,0,Bl)
if not Dp[1]then
break
end
Dq,at=math.min(#Dp,Bl),1
end
local Dt,Du=Dp[at],Dp[at+1]
local Cp=call('HGET',V,Dt)
local Bx=Co(Dt,Cp)
local Dv=math.floor(#(Cp or'')/256)
local Cl=Bx and(Z or Bx.Cq<=Do)and call('ZSCORE',W,Dt)
if not Bx or Z and Cl and tonumber(Cl)<=Bj then
if X<=0 then
Dk=true
break
end
X=X-1-Dv
Ds[#Ds+1]=Dt
Ci(Dt)
else
local Dw=Bw(Bx,Bb)
local N=(Dw=='fits'or Dw=='passes')and Cc(Bb)
if not N then
break
end
if X<=0 then
Dk=true
break
end
if Dr==0 then
call('ZREM',U,Dt)
else
Ds[#Ds+1]=Dt
end
local Cx=Dt==Da
local Dx=Bx.Cq<=Do and Cl
if not Cx and not(Dx and Cl-Bx.Ct<Dn)then
Cx=Cw(Bx.Cs,Dt)or Bx.Cr
end
if not Cx then
X,Dr=X-1-Dv,Dr+1
else
X,Dr=X-5-Dv,0
if Ds[1]then
call('ZREM',U,unpack(Ds))
Ds={}
end
if Dt==Da then
Ci(Dt)
else
call('ZADD',W,Bj+Bx.Bt,'!'..Dt)
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
call('ZREM',U,unpack(Ds))
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
local Bj=F(D())
local function Dy(Ca)
local Dz,Ea=ARGV[Ca],Ca
while ARGV[Ea+1]==''do
Ea=Ea-4
end
local At,Af,Eb=unpack(ARGV,Ea+1,Ea+3)
local Ag,Ah,Aj,Ak=string.match(Af,'^(%a) (%d+) (%d+) (%S*) ')
local By,Bz,Cs,Cm,Ct,Bl=
string.match(Eb,'^([01]) (%d*) ?(%S*) ?(%d*) ?(%d*) ?(%d*)$')
return{
Ap=string.sub(Dz,1,32),Ag=Ag,By=By=='1',Ah=Ah,Bz=Bz,
Bt=At-Aj,Aj=tonumber(Aj),Ak=Ak,Af=Af,Aq=string.sub(Dz,33),
Cs=Cs~=''and Cs,Cm=Cm,Ct=tonumber(Ct),Bl=tonumber(Bl),
}
end
local function Ec(Bb,N,Ak)
return{'granted',N,math.max(1,Ba(Bb,Ak))}
end
local function Ed(Bb,Ap)
if Bb.Av then
return Bb.Av.Ap==Ap
end
return Bb.Aw and call('HGET',S,Ap)
end
local function Ee(Ef,Bx,Bb,Eg)
local Av,Dc=Bb.Av,nil
if Av then
local Eh=Av.As and'holding'or'closed'
Dc={string.sub(Av.Ap,1,8),Eh,Av.Ar,Av.At,'',Av.Af}
else
local Ah=Bx.Ag=='p'and Bb.Aw=='p'
local Bg=Eg and'~'..Bx.Ap
or Ah and Bu(Bj)
or call('ZREVRANGE',R,0,0)[1]
local Ei,Eh,Ar,At,Af=Bv(Bg,Bj)
if Ah and Y then
At=0
end
Dc={Ei,Eh,Ar,At,Bb.Ax,Af}
end
for _,Az in ipairs(Dc)do
Ef[#Ef+1]=Az
end
return Ef
end
local function Ej(Bx,Bb)
if Ci(Bx.Ap)then
Dg(Bb,Bj)
end
end
local function Ek(Bb)
if Bb.Av and Bb.Av.Aq=='-'and not Bb.Av.Ao then
call('SETRANGE',Q,32,'+')
end
end
local El=0
local function Em(Bx,Bb)
local H=call('ZREVRANGE',U,0,0,'WITHSCORES')[2]or 0
El=math.max(H+1,El+1,D())
local Cq=string.format('%.0f',El)
call('ZADD',U,Cq,Bx.Ap)
local By=Bx.By and'1'or'0'
local En={
Cq,'0',Bx.Cs,Bx.Cm,Bx.Ct,Bx.Bz,By,Bx.Af,
}
call('HSET',V,Bx.Ap,table.concat(En,' '))
Ek(Bb)
end
local function Eo(Ap,Bb)
if call('ZSCORE',U,Ap)or not call('ZSCORE',W,Ap)or As(Bb,Ap)then
return
end
local Cp=call('HGET',V,Ap)
if not Cp then
Ci(Ap)
return
end
call('ZREM',W,'!'..Ap)
local Cq,Cu=string.match(Cp,'^(%d+) %d (.*)$')
call('HSET',V,Ap,Cq..' 1 '..Cu)
call('ZADD',U,Cq,Ap)
call('PEXPIREAT',U,call('ZREVRANGE',W,0,0,'WITHSCORES')[2])
Ek(Bb)
end
local function Ep(Bx)
call('ZADD',W,Bj+Bx.Ct,Bx.Ap)
local Bk=call('ZREVRANGE',W,0,0,'WITHSCORES')[2]
for _,Ab in ipairs({U,V,W})do
call('PEXPIREAT',Ab,Bk)
end
end
local function Eq(Bx,Bb,Er)
local Es=call('ZRANK',U,Bx.Ap)
if Es then
call('PEXPIRE',U,Bx.Ct)
elseif Er>=Bx.Bl and not Z then
return{'full',Er}
else
Es=Er
Em(Bx,Bb)
end
Ep(Bx)
return Ee({'queued',Es},Bx,Bb)
end
local function Et(Bx,Bb,N)
local Eu=Ch(Bx,Bb,N,Bj)
if not Eu.Av then
Br()
end
return Ec(Eu,N,Bx.Ak)
end
local function Ev(Bx)
local Ap=Bx.Ap
local Bb=Bn(call('GET',Q),Bj,Ap)
if not Bb then
return Ac()
end
if Bb.Av and Bb.Av.At<0 then
return Ac('a lock without an end')
end
local Er=0
local Ew=Ck(Bj)
if Ew then
Eo(Ap,Bb)
Bb=Dg(Bb,Bj,Ap)
Er=call('ZCARD',U)
end
if As(Bb,Ap)then
local N,Ak=Bs(Bb,Ap,Bx.Bt,Bj)
if Ew then
Ci(Ap)
end
return Ec(Bb,N,Ak)
end
if Ed(Bb,Ap)then
return Ee({'refused'},Bx,Bb,true)
end
local Dw,Ex,Ey,Ez=Bw(Bx,Bb)
if Dw=='deadlock'or Dw=='mismatch'then
Ej(Bx,Bb)
return{Dw,Ex,Ey,Ez}
end
if Dw=='passes'or Dw=='fits'and(Er==0 or not Bb.Aw)then
local N=Cc(Bb)
if not N then
return Cd()
end
if Er>0 then
Ci(Ap)
end
return Et(Bx,Bb,N)
end
if Bx.Cs then
return Eq(Bx,Bb,Er)
end
local Fa=Ee({'refused'},Bx,Bb)
Ej(Bx,Bb)
return Fa
end
local function Fb(Bb,Ap,Af)
if Bb.Av then
call('DEL',Q)
return{}
end
call('ZREM',R,Ap,'~'..Ap)
Bc(Af)
Bd(Ap,Af)
if call('ZCARD',R)==0 then
Be()
return{}
end
Br()
return Bb
end
local function Fc(Bb,Ap,Ak,Fd)
Ci(Ap)
if not As(Bb,Ap)then
return{'not_held',Ba(Bb,Ak)},Bb
end
local Af=Bb.Av and Bb.Av.Af or call('HGET',S,Ap)
local _,_,_,_,Fe=Ae(Af)
Bb=Fd(Bb,Ap,Af)
local Ar=Ba(Bb,Fe)
return Ar>0 and{'still_held',Ar}or 1,Bb
end
on(KEYS[1])
local function Ff(Bx)
local N=Cc({})
if not N then
return Cd()
end
Ci(Bx.Ap)
if call('EXISTS',U)==1 then
Bx.Aq='+'
end
return Et(Bx,{},N)
end
local function Fg(Fh,Bb)
local Bx=Dy(2)
if ARGV[8]=='1'and Fh==1 and not Bb.Aw then
return Ff(Bx)
end
return Ev(Bx)
end
local Bb=Bn(P,Bj,B)
if not Bb then
return{ARGV[1],Ac()}
end
Ck(Bj)
local Fh
Fh,Bb=Fc(Bb,B,ARGV[7],Fb)
local Fi,Fj=pcall(Fg,Fh,Bb)
if not Fi then
Fj={'error',type(Fj)=='table'and Fj.err or Fj}
end
local Fk=call('ZCARD',U)-(call('ZSCORE',U,string.sub(ARGV[2],1,32))and 1 or 0)
return{ARGV[1],Fh,Fj,Fk>0 and 1 or 0}
