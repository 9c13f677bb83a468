local call,A=redis.call,redis.pcall
local B,C,D=4,{ARGV[1],0},{}
local E
local function F()
if not E then
local G=call('TIME')
E=G[1]*1000000+G[2]
end
return E
end
local function H(us)
return math.floor(us/1000)
end
local I,J,K,at,L=KEYS[#KEYS]..'fence',nil,0,nil,nil
local function M(i)
if not J then
local N=tonumber(A('GET',I)or 0)
if not N or not(N<9000000000000000)then
return nil
end
J=math.max(N,F()-1)
end
return L and math.max(J+1,L+(i or at))or J+1
end
local function O(P)
if P>K then
local Q=P+#KEYS-2
if ARGV[#ARGV]=='0'then
call('SET',I,Q)
else
call('SET',I,Q,'PX',ARGV[#ARGV])
end
K=Q
end
J=P
end
local R,S,T,U,V,W,X
local Y,Z,Aa,Ab=320,false,false,false
local function on(Ac)
Y,Z,Aa,Ab=math.max(Y,5),false,false,false
R,S,T,U=Ac,Ac..':h',Ac..':d',Ac..':o'
V,W,X=Ac..':q',Ac..':w',Ac..':p'
end
local function Ad(Ae)
return{'corrupt',Ae or'a value that is no lock'}
end
local function Af(Ag)
local P,Ah,Ai,Aj,Ak,Al=string.match(Ag,'^(%d+) (%a) (%d+) (!?)(%d+) (%S*) ')
return P,Ah,Ai,Aj==''and Ak or'0',Al
end
local function Am(Ag)
return(string.gsub(Ag,'^(%d+ %a %d+ )!','%1'))
end
local function An(Ao)
return string.match(Ao,'^%*([spx])(%d*)$')
end
local function Ap(Ao)
local Aq,Ar,As,Ag=string.match(Ao,'^(~?)(%x+)([-+])(.*)$')
if not Ar or#Ar~=32 then
return nil
end
local P,Ah,_,Ak,Al=Af(Ag)
if Ah~='x'then
return nil
end
local At=call('PTTL',R)
Ak=tonumber(Ak)
local Au=Aq==''and At>Ak
return{
Ar=Ar,Aq=Aq~='',As=As,Ag=Ag,P=P,Ak=Ak,Al=Al,
Au=Au,Av=At,At=Au and At-Ak or At,
}
end
local function Aw(Ao)
if not Ao then
return{}
end
if string.sub(Ao,1,1)~='*'then
local Ax=Ap(Ao)
return Ax and{Ay='x',Az='',Ax=Ax,P=Ax.P}
end
local Ay,Az=An(Ao)
return Ay and{Ay=Ay,Az=Az,P=Ay=='x'and Az or nil}
end
local function Ba(Bb,by)
local Az=call('HINCRBY',U,Bb,by)
if Az<=0 then
call('HDEL',U,Bb)
end
end
local function Bc(Bd,Al)
if Al==''then
return 0
end
if Bd.Ax then
return Bd.Ax.Au and Bd.Ax.Al==Al and 1 or 0
end
return tonumber(call('HGET',U,'o'..Al)or 0)
end
local function Be(Ag)
local _,Ah,Ai,_,Al=Af(Ag)
if Al~=''then
Ba('o'..Al,-1)
if Ah=='p'then
Ba('p'..Al,-Ai)
end
end
end
local function Bf(Ar,Ag)
local _,Ah,Ai=Af(Ag)
if Ah=='p'then
Ba('used',-Ai)
end
call('HDEL',T,Ar)
end
local function Bg()
call('UNLINK',R,S,T,U)
end
local function Bh(Bi)
local Ar=string.sub(Bi,-32)
local Ag=call('HGET',T,Ar)
local Bj=Bi==Ar
if Ag then
local _,_,_,Ak=Af(Ag)
if Bj then
Be(Ag)
end
if not Bj or Ak=='0'then
Bf(Ar,Ag)
end
end
end
local function Bk(Bl)
local Bm=call('ZREVRANGE',S,0,0,'WITHSCORES')[2]
if not Bm or tonumber(Bm)<=Bl then
Bg()
return false
end
local Bn=math.max(1,math.ceil(Y/3))
local Bo=call('ZRANGEBYSCORE',S,'-inf',Bl,'LIMIT',0,Bn)
if Bo[1]then
call('ZREM',S,unpack(Bo))
Z=#Bo==Bn
Y=Y-3*#Bo
end
for _,Bi in ipairs(Bo)do
Bh(Bi)
end
return true
end
local function Bp(Ao,Bl,Ar)
local Bd=Aw(Ao)
if Bd and Bd.Ay and not Bd.Ax then
if not Bk(Bl)then
return{}
end
if Z and Ar then
for _,Bi in ipairs({Ar,'~'..Ar})do
local Bq=call('ZSCORE',S,Bi)
if Bq and tonumber(Bq)<=Bl then
call('ZREM',S,Bi)
Bh(Bi)
end
end
end
end
return Bd
end
local function Au(Bd,Ar)
if Bd.Ax then
return Bd.Ax.Au and Bd.Ax.Ar==Ar
end
return Bd.Ay and call('ZSCORE',S,Ar)
end
local function Br(Ar,Bs,Ak)
call('ZADD',S,Bs,Ar)
if Ak>0 then
call('ZADD',S,Bs+Ak,'~'..Ar)
end
end
local function Bt()
local Bm=call('ZREVRANGE',S,0,0,'WITHSCORES')[2]
for _,Ac in ipairs({R,S,T,U})do
call('PEXPIREAT',Ac,Bm)
end
end
local function Bu(Bd,Ar,Bv,Bl)
local N=Bd.Ax and Bd.Ax.Ag or call('HGET',T,Ar)
local Ag=Am(N)
local P,_,_,Ak,Al=Af(Ag)
Ak=tonumber(Ak)
call('PEXPIRE',R,Bv+Ak)
if Bd.Ax then
if Ag~=N then
call('SET',R,Ar..'+'..Ag,'PX',Bv+Ak)
end
return P,Al
end
if Ag~=N then
call('HSET',T,Ar,Ag)
end
Br(Ar,Bl+Bv,Ak)
Bt()
return P,Al
end
local function Bw(Bl)
return call('ZRANGEBYSCORE',S,'('..string.format('%.0f',Bl),'+inf','LIMIT',0,1)[1]
end
local function Bx(Bi,Bl)
local Ar=string.sub(Bi,-32)
local Bj=call('ZSCORE',S,Ar)
local Av=call('ZSCORE',S,'~'..Ar)or Bj
local Bd=Bj and'holding'or'closed'
return string.sub(Ar,1,8),Bd,(Bj or Av)-Bl,Av-Bl,call('HGET',T,Ar)
end
local function By(Bz,Bd)
local Ah,Ay,Az=Bz.Ah,Bd.Ay,Bd.Az
if not Ay then
return'fits'
end
if not Z and Bc(Bd,Bz.Al)>0 then
if Ay=='x'and Ah=='x'and Bz.Ca or Ay=='s'and Ah=='s'then
return'passes'
elseif Ay=='x'then
return'deadlock','x',1,''
elseif Ah=='x'then
return'deadlock',Ay,call('HGET',U,'p'..Bz.Al)or 1,Az
end
end
if Ah=='x'or Ay=='x'then
return'in_the_way'
end
if Ah~=Ay or Bz.Cb~=Az then
local Cc=Bw(H(F()))
local _,_,Cd=Af(call('HGET',T,string.sub(Cc,-32)))
return'mismatch',Ay,Cd,Az
end
local Cd=Ay=='p'and call('HGET',U,'used')or 0
return(Ay=='s'or Cd+Bz.Ai<=tonumber(Az))and'fits'or'in_the_way'
end
local function Ce(Bd)
local P=Bd.P or M()
return P and(Bd.P or string.format('%.0f',P))
end
local function Cf()
return Ad('the fence counter is not a number that can grow')
end
local function Cg()
if call('ZCARD',S)+call('HLEN',T)+call('HLEN',U)>0 then
call('UNLINK',S,T,U)
end
end
local function Ch(Ax,Bl)
Cg()
call('SET',R,'*x'..Ax.P,'PX',Ax.Av)
call('HSET',T,Ax.Ar,Ax.Ag)
Br(Ax.Ar,Bl+Ax.At,Ax.Ak)
Ba('o'..Ax.Al,1)
end
local function Ci(Bz,P)
local Bv,Ak,Ag=Bz.Bv,Bz.Ak,P..' '..Bz.Ag
call('SET',R,Bz.Ar..Bz.As..Ag,'PX',Bv+Ak)
local Ax={
Ar=Bz.Ar,Aq=false,As=Bz.As,Ag=Ag,P=P,Ak=Ak,
Al=Bz.Al,Au=true,Av=Bv+Ak,At=Bv,
}
return{Ay='x',Az='',Ax=Ax,P=P}
end
local function Cj(Bz,Bd,P,Bl)
local Ar,Al=Bz.Ar,Bz.Al
if P~=Bd.P then
O(tonumber(P))
end
if not Bd.Ay and Bz.Ah=='x'then
return Ci(Bz,P)
end
if Bd.Ax then
Ch(Bd.Ax,Bl)
elseif not Bd.Ay then
Cg()
call('SET',R,'*'..Bz.Ah..Bz.Cb,'PX',Bz.Bv+Bz.Ak)
end
Br(Ar,Bl+Bz.Bv,Bz.Ak)
call('HSET',T,Ar,P..' '..Bz.Ag)
if Bz.Ah=='p'then
Ba('used',Bz.Ai)
end
if Al~=''then
Ba('o'..Al,1)
if Bz.Ah=='p'then
Ba('p'..Al,Bz.Ai)
end
end
if Bz.Ah=='x'then
return{Ay='x',Az=P,P=P}
end
return{Ay=Bz.Ah,Az=Bz.Cb}
end
local function Ck(Ar)
if call('ZREM',X,Ar,'!'..Ar)==0 then
return false
end
call('HDEL',W,Ar)
return call('ZREM',V,Ar)==1
end
local function Cl()
return string.match(call('HGET',W,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function Cm(Bl)
if call('EXISTS',X)==0 then
return false
end
local Bn=math.max(1,Y)
local Bo=call('ZRANGEBYSCORE',X,'-inf',Bl,'LIMIT',0,Bn)
Aa=#Bo==Bn
Y=Y-#Bo
for _,Bi in ipairs(Bo)do
local Ar=string.match(Bi,'^!(.*)')
if not Ar then
Ck(Bi)
else
local Cn=call('ZSCORE',X,Ar)
if Cn and tonumber(Cn)>Bl then
local Co=string.match(call('HGET',W,Ar)or'','^%d+ %d %S+ (%d+)')
local Cp=Co and call('ZSCORE',X,Bi)-Co
Ab=Ab or Cp and Cp>=tonumber((Cl()))
end
call('ZREM',X,Bi)
end
end
return true
end
local function Cq(Ar,Cr)
local Cs,Ct,Cu,Co,Cv,Cb,Ca,Ag=string.match(
Cr or'','^(%d+) ([01]) (%S+) (%d+) (%d+) (%d*) ([01]) (.*)$'
)
if not Cu then
return nil
end
local Ah,Ai,Ak,Al,Cw=string.match(Ag,'^(%a) (%d+) (%d+) (%S*) (.*)$')
local Cx=Ak~='0'
return{
Ar=Ar,Ah=Ah,Ca=Ca=='1',Ai=Ai,Cb=Cb,Al=Al,
Ag=string.format('%s %s %s%s %s ',Ah,Ai,Cx and'!'or'',Ak,Al)..Cw,
Bv=tonumber(Co),Ak=0,As=Cx and'+'or'-',Cu=Cu,Cs=tonumber(Cs),
Cv=tonumber(Cv),Ct=Ct=='1',
}
end
local function Cy(Cu,Ae)
local Cz=A('PUBLISH',Cu,Ae)
return type(Cz)~='number'or Cz>0
end
local function Da(Ar)
return string.match(call('HGET',W,Ar)or'','^%d+ %d (%S+)')
end
local function Db(Dc,Ae)
local Dd,De=8,nil
for _,Ar in ipairs(call('ZRANGE',V,0,Dd))do
if Ar~=Dc and Dd>0 then
Dd=Dd-1
local Cu=Da(Ar)
if Cu and Cy(Cu,Ae..Ar)then
De=Cu
break
end
end
end
local J=call('ZREVRANGE',V,0,0)[1]
local Cu=J and J~=Dc and Da(J)
if Cu and Cu~=De then
Cy(Cu,Ae..J)
end
end
local function Df(Dc,Bl,N)
local Dg=call('ZREVRANGE',X,0,0,'WITHSCORES')[2]
if not Dg then
return
end
local Dh=0
for _,Ar in ipairs(call('ZRANGE',V,0,319))do
local Cs,Cu=string.match(call('HGET',W,Ar)or'','^(%d+) %d (%S+)')
if Cu then
Dh=Cs
if Ar~=Dc then
Cy(Cu,'!'..Ar)
end
end
end
call('HSET',W,'?',string.format('%.0f %s %s',Bl,Dh,N))
call('PEXPIREAT',W,Dg)
end
local function Di(Bd,Bl,Dc)
local Dj,Dk,Dl,Dm=Ab,false,false,false
local Dn,Do,Dp,Dq=Cl()
if Dj then
Y=math.max(5,Y-260)
Ab,Dp,Dq=false,Dn,Do
end
Y=math.max(5,Y)
local N=Dp..' '..Dq
Dp,Dq=tonumber(Dp),tonumber(Dq)
local Dr,at,B,Ds,Dt={},0,0,0,{}
while true do
if Bd.Ax and Bd.Ax.Al==''then
break
end
at=at+1
if at>B then
if Dt[1]then
call('ZREM',V,unpack(Dt))
Dt={}
end
local Bn=math.min(math.max(Ds,1),64)
Dr=call('ZRANGE',V,0,Bn)
if not Dr[1]then
break
end
B,at=math.min(#Dr,Bn),1
end
local Du,Dv=Dr[at],Dr[at+1]
local Cr=call('HGET',W,Du)
local Bz=Cq(Du,Cr)
local Dw=math.floor(#(Cr or'')/256)
local Cn=Bz and(Aa or Bz.Cs<=Dq)and call('ZSCORE',X,Du)
if not Bz or Aa and Cn and tonumber(Cn)<=Bl then
if Y<=0 then
Dm=true
break
end
Y=Y-1-Dw
Dt[#Dt+1]=Du
Ck(Du)
else
local Dx=By(Bz,Bd)
local P=(Dx=='fits'or Dx=='passes')and Ce(Bd)
if not P then
break
end
if Y<=0 then
Dm=true
break
end
if Ds==0 then
call('ZREM',V,Du)
else
Dt[#Dt+1]=Du
end
local Cz=Du==Dc
local Dy=Bz.Cs<=Dq and Cn
if not Cz and not(Dy and Cn-Bz.Cv<Dp)then
Cz=Cy(Bz.Cu,Du)or Bz.Ct
end
if not Cz then
Y,Ds=Y-1-Dw,Ds+1
else
Y,Ds=Y-5-Dw,0
if Dt[1]then
call('ZREM',V,unpack(Dt))
Dt={}
end
if Du==Dc then
Ck(Du)
else
call('ZADD',X,Bl+Bz.Bv,'!'..Du)
Dl=true
end
if Dv or Dl then
Bz.As='+'
end
Bd=Cj(Bz,Bd,P,Bl)
Dk=true
end
end
end
if Dt[1]then
call('ZREM',V,unpack(Dt))
end
if Dj then
Df(Dc,Bl,N)
elseif Dm then
Db(Dc,'!')
elseif Dl then
Db(Dc,'?')
end
if Dk and not Bd.Ax then
Bt()
end
return Bd
end
local Bl=H(F())
local function Dz(Cc)
local Ea,Eb=ARGV[Cc],Cc
while ARGV[Eb+1]==''do
Eb=Eb-4
end
local Av,Ag,Ec=unpack(ARGV,Eb+1,Eb+3)
local Ah,Ai,Ak,Al=string.match(Ag,'^(%a) (%d+) (%d+) (%S*) ')
local Ca,Cb,Cu,Co,Cv,Bn=
string.match(Ec,'^([01]) (%d*) ?(%S*) ?(%d*) ?(%d*) ?(%d*)$')
return{
Ar=string.sub(Ea,1,32),Ah=Ah,Ca=Ca=='1',Ai=Ai,Cb=Cb,
Bv=Av-Ak,Ak=tonumber(Ak),Al=Al,Ag=Ag,As=string.sub(Ea,33),
Cu=Cu~=''and Cu,Co=Co,Cv=tonumber(Cv),Bn=tonumber(Bn),
}
end
local function Ed(Bd,P,Al)
return{'granted',P,math.max(1,Bc(Bd,Al))}
end
local function Ee(Bd,Ar)
if Bd.Ax then
return Bd.Ax.Ar==Ar
end
return Bd.Ay and call('HGET',T,Ar)
end
local function Ef(Eg,Bz,Bd,Eh)
local Ax,De=Bd.Ax,nil
if Ax then
local Ei=Ax.Au and'holding'or'closed'
De={string.sub(Ax.Ar,1,8),Ei,Ax.At,Ax.Av,'',Ax.Ag}
else
local Ai=Bz.Ah=='p'and Bd.Ay=='p'
local Bi=Eh and'~'..Bz.Ar
or Ai and Bw(Bl)
or call('ZREVRANGE',S,0,0)[1]
local Ej,Ei,At,Av,Ag=Bx(Bi,Bl)
if Ai and Z then
Av=0
end
De={Ej,Ei,At,Av,Bd.Az,Ag}
end
for _,Bb in ipairs(De)do
Eg[#Eg+1]=Bb
end
return Eg
end
local function Ek(Bz,Bd)
if Ck(Bz.Ar)then
Di(Bd,Bl)
end
end
local function El(Bd)
if Bd.Ax and Bd.Ax.As=='-'and not Bd.Ax.Aq then
call('SETRANGE',R,32,'+')
end
end
local Em=0
local function En(Bz,Bd)
local J=call('ZREVRANGE',V,0,0,'WITHSCORES')[2]or 0
Em=math.max(J+1,Em+1,F())
local Cs=string.format('%.0f',Em)
call('ZADD',V,Cs,Bz.Ar)
local Ca=Bz.Ca and'1'or'0'
local Eo={
Cs,'0',Bz.Cu,Bz.Co,Bz.Cv,Bz.Cb,Ca,Bz.Ag,
}
call('HSET',W,Bz.Ar,table.concat(Eo,' '))
El(Bd)
end
local function Ep(Ar,Bd)
if call('ZSCORE',V,Ar)or not call('ZSCORE',X,Ar)or Au(Bd,Ar)then
return
end
local Cr=call('HGET',W,Ar)
if not Cr then
Ck(Ar)
return
end
call('ZREM',X,'!'..Ar)
local Cs,Cw=string.match(Cr,'^(%d+) %d (.*)$')
call('HSET',W,Ar,Cs..' 1 '..Cw)
call('ZADD',V,Cs,Ar)
call('PEXPIREAT',V,call('ZREVRANGE',X,0,0,'WITHSCORES')[2])
El(Bd)
end
local function Eq(Bz)
call('ZADD',X,Bl+Bz.Cv,Bz.Ar)
local Bm=call('ZREVRANGE',X,0,0,'WITHSCORES')[2]
for _,Ac in ipairs({V,W,X})do
call('PEXPIREAT',Ac,Bm)
end
end
local function Er(Bz,Bd,Es)
local Et=call('ZRANK',V,Bz.Ar)
if Et then
call('PEXPIRE',V,Bz.Cv)
elseif Es>=Bz.Bn and not Aa then
return{'full',Es}
else
Et=Es
En(Bz,Bd)
end
Eq(Bz)
return Ef({'queued',Et},Bz,Bd)
end
local function Eu(Bz,Bd,P)
local Ev=Cj(Bz,Bd,P,Bl)
if not Ev.Ax then
Bt()
end
return Ed(Ev,P,Bz.Al)
end
local function Ew(Bz)
local Ar=Bz.Ar
local Bd=Bp(call('GET',R),Bl,Ar)
if not Bd then
return Ad()
end
if Bd.Ax and Bd.Ax.Av<0 then
return Ad('a lock without an end')
end
local Es=0
local Ex=Cm(Bl)
if Ex then
Ep(Ar,Bd)
Bd=Di(Bd,Bl,Ar)
Es=call('ZCARD',V)
end
if Au(Bd,Ar)then
local P,Al=Bu(Bd,Ar,Bz.Bv,Bl)
if Ex then
Ck(Ar)
end
return Ed(Bd,P,Al)
end
if Ee(Bd,Ar)then
return Ef({'refused'},Bz,Bd,true)
end
local Dx,Ey,Ez,Fa=By(Bz,Bd)
if Dx=='deadlock'or Dx=='mismatch'then
Ek(Bz,Bd)
return{Dx,Ey,Ez,Fa}
end
if Dx=='passes'or Dx=='fits'and(Es==0 or not Bd.Ay)then
local P=Ce(Bd)
if not P then
return Cf()
end
if Es>0 then
Ck(Ar)
end
return Eu(Bz,Bd,P)
end
if Bz.Cu then
return Er(Bz,Bd,Es)
end
local Fb=Ef({'refused'},Bz,Bd)
Ek(Bz,Bd)
return Fb
end
local function Fc(Bd,Ar,Ag)
if Bd.Ax then
call('DEL',R)
return{}
end
call('ZREM',S,Ar,'~'..Ar)
Be(Ag)
Bf(Ar,Ag)
if call('ZCARD',S)==0 then
Bg()
return{}
end
Bt()
return Bd
end
local function Fd(Bd,Ar,Al,Fe)
Ck(Ar)
if not Au(Bd,Ar)then
return{'not_held',Bc(Bd,Al)},Bd
end
local Ag=Bd.Ax and Bd.Ax.Ag or call('HGET',T,Ar)
local _,_,_,_,Ff=Af(Ag)
Bd=Fe(Bd,Ar,Ag)
local At=Bc(Bd,Ff)
return At>0 and{'still_held',At}or 1,Bd
end
local function Fg(i)
on(KEYS[i])
local Bz=Dz(2+B*(i-1))
Bz.Cu=nil
return Bz
end
local function Fh(i)
local Bz=Fg(i)
local Bd=Bp(call('GET',R),Bl,Bz.Ar)
D[i]=Bd and Au(Bd,Bz.Ar)
return Ew(Bz)
end
local function Fi(i)
local Bz=Fg(i)
local Bd=Bp(call('GET',R),Bl,Bz.Ar)
local Es=Cm(Bl)
local _,Ev=Fd(Bd,Bz.Ar,Bz.Al,Fc)
if Es then
Di(Ev,Bl)
end
end
for i=1,#KEYS-1 do
local Dk,Eg=pcall(Fh,i)
if not Dk then
Eg={'error',type(Eg)=='table'and Eg.err or Eg}
end
if Eg[1]~='granted'then
for N=i-1,1,-1 do
if not D[N]and not pcall(Fi,N)then
Eg={'error','what was granted could not be taken back'}
end
end
return{ARGV[1],i,Eg}
end
C[i+2]=Eg
end
return C
