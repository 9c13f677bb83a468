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
local K,L=nil,false
local function M(i)
if not H then
local N=tonumber(A('GET',G)or 0)
if not N or not(N<9000000000000000)then
return nil
end
H=math.max(N,D()-1)
end
return J and math.max(H+1,J+(i or at))or H+1
end
local function O(P)
if P>I then
local Q=P+#KEYS-2
if ARGV[#ARGV]=='0'or L and call('PTTL',G)==-1 then
call('SET',G,Q)
else
call('SET',G,Q,'PX',ARGV[#ARGV])
end
I=Q
end
H=P
end
local R=call('GET',KEYS[1])
if
R
and#ARGV[2]==33
and string.sub(R,1,32)==B
and string.find(R,'^[-+]%d+ x 1 0 ',33)
and call('EXISTS',KEYS[1]..':p')==0
then
local P=M()
if P and pcall(O,P)then
call('SET',KEYS[1],ARGV[2]..string.format('%.0f',P)..' '..ARGV[4],'PX',ARGV[3])
return{ARGV[1],1,P,0}
end
end
local S,T,U,V,W,X,Y
local Z,Aa,Ab,Ac=320,false,false,false
local function on(Ad)
Z,Aa,Ab,Ac=math.max(Z,5),false,false,false
S,T,U,V=Ad,Ad..':h',Ad..':d',Ad..':o'
W,X,Y=Ad..':q',Ad..':w',Ad..':p'
end
local function Ae(Af)
return{'corrupt',Af or'a value that is no lock'}
end
local function Ag(Ah)
local P,Ai,Aj,Ak,Al,Am=string.match(Ah,'^(%d+) (%a) (%d+) (!?)(%d+) (%S*) ')
return P,Ai,Aj,Ak==''and Al or'0',Am
end
local function An(Ah)
return(string.gsub(Ah,'^(%d+ %a %d+ )!','%1'))
end
local function Ao(R)
return string.match(R,'^%*([spx])(%d*)$')
end
local function Ap(R)
local Aq,Ar,As,Ah=string.match(R,'^(~?)(%x+)([-+])(.*)$')
if not Ar or#Ar~=32 then
return nil
end
local P,Ai,_,Al,Am=Ag(Ah)
if Ai~='x'then
return nil
end
local At=call('PTTL',S)
Al=tonumber(Al)
local Au=Aq==''and At>Al
return{
Ar=Ar,Aq=Aq~='',As=As,Ah=Ah,P=P,Al=Al,Am=Am,
Au=Au,Av=At,At=Au and At-Al or At,
}
end
local function Aw(R)
if not R then
return{}
end
if string.sub(R,1,1)~='*'then
local Ax=Ap(R)
return Ax and{Ay='x',Az='',Ax=Ax,P=Ax.P}
end
local Ay,Az=Ao(R)
return Ay and{Ay=Ay,Az=Az,P=Ay=='x'and Az or nil}
end
local function Ba(Bb,by)
local Az=call('HINCRBY',V,Bb,by)
if Az<=0 then
call('HDEL',V,Bb)
end
end
local function Bc(Bd,Am)
if Am==''then
return 0
end
if Bd.Ax then
return Bd.Ax.Au and Bd.Ax.Am==Am and 1 or 0
end
return tonumber(call('HGET',V,'o'..Am)or 0)
end
local function Be(Ah)
local _,Ai,Aj,_,Am=Ag(Ah)
if Am~=''then
Ba('o'..Am,-1)
if Ai=='p'then
Ba('p'..Am,-Aj)
end
end
end
local function Bf(Ar,Ah)
local _,Ai,Aj=Ag(Ah)
if Ai=='p'then
Ba('used',-Aj)
end
call('HDEL',U,Ar)
end
local function Bg()
call('UNLINK',S,T,U,V)
end
local function Bh(Bi)
local Ar=string.sub(Bi,-32)
local Ah=call('HGET',U,Ar)
local Bj=Bi==Ar
if Ah then
local _,_,_,Al=Ag(Ah)
if Bj then
Be(Ah)
end
if not Bj or Al=='0'then
Bf(Ar,Ah)
end
end
end
local function Bk(Bl)
local Bm=call('ZREVRANGE',T,0,0,'WITHSCORES')[2]
if not Bm or tonumber(Bm)<=Bl then
Bg()
return false
end
local Bn=math.max(1,math.ceil(Z/3))
local Bo=call('ZRANGEBYSCORE',T,'-inf',Bl,'LIMIT',0,Bn)
if Bo[1]then
call('ZREM',T,unpack(Bo))
Aa=#Bo==Bn
Z=Z-3*#Bo
end
for _,Bi in ipairs(Bo)do
Bh(Bi)
end
return true
end
local function Bp(R,Bl,Ar)
local Bd=Aw(R)
if Bd and Bd.Ay and not Bd.Ax then
if not Bk(Bl)then
return{}
end
if Aa and Ar then
for _,Bi in ipairs({Ar,'~'..Ar})do
local Bq=call('ZSCORE',T,Bi)
if Bq and tonumber(Bq)<=Bl then
call('ZREM',T,Bi)
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
return Bd.Ay and call('ZSCORE',T,Ar)
end
local function Br(Ar,Bs,Al)
call('ZADD',T,Bs,Ar)
if Al>0 then
call('ZADD',T,Bs+Al,'~'..Ar)
end
end
local function Bt()
local Bm=call('ZREVRANGE',T,0,0,'WITHSCORES')[2]
for _,Ad in ipairs({S,T,U,V})do
call('PEXPIREAT',Ad,Bm)
end
end
local function Bu(Bd,Ar,Bv,Bl)
local N=Bd.Ax and Bd.Ax.Ah or call('HGET',U,Ar)
local Ah=An(N)
local P,_,_,Al,Am=Ag(Ah)
Al=tonumber(Al)
call('PEXPIRE',S,Bv+Al)
if Bd.Ax then
if Ah~=N then
call('SET',S,Ar..'+'..Ah,'PX',Bv+Al)
end
return P,Am
end
if Ah~=N then
call('HSET',U,Ar,Ah)
end
Br(Ar,Bl+Bv,Al)
Bt()
return P,Am
end
local function Bw(Bl)
return call('ZRANGEBYSCORE',T,'('..string.format('%.0f',Bl),'+inf','LIMIT',0,1)[1]
end
local function Bx(Bi,Bl)
local Ar=string.sub(Bi,-32)
local Bj=call('ZSCORE',T,Ar)
local Av=call('ZSCORE',T,'~'..Ar)or Bj
local Bd=Bj and'holding'or'closed'
return string.sub(Ar,1,8),Bd,(Bj or Av)-Bl,Av-Bl,call('HGET',U,Ar)
end
local function By(Bz,Bd)
local Ai,Ay,Az=Bz.Ai,Bd.Ay,Bd.Az
if not Ay then
return'fits'
end
if not Aa and Bc(Bd,Bz.Am)>0 then
if Ay=='x'and Ai=='x'and Bz.Ca or Ay=='s'and Ai=='s'then
return'passes'
elseif Ay=='x'then
return'deadlock','x',1,''
elseif Ai=='x'then
return'deadlock',Ay,call('HGET',V,'p'..Bz.Am)or 1,Az
end
end
if Ai=='x'or Ay=='x'then
return'in_the_way'
end
if Ai~=Ay or Bz.Cb~=Az then
local Cc=Bw(F(D()))
local _,_,Cd=Ag(call('HGET',U,string.sub(Cc,-32)))
return'mismatch',Ay,Cd,Az
end
local Cd=Ay=='p'and call('HGET',V,'used')or 0
return(Ay=='s'or Cd+Bz.Aj<=tonumber(Az))and'fits'or'in_the_way'
end
local function Ce(Bd)
local P=Bd.P or M()
return P and(Bd.P or string.format('%.0f',P))
end
local function Cf()
return Ae('the fence counter is not a number that can grow')
end
local function Cg()
if call('ZCARD',T)+call('HLEN',U)+call('HLEN',V)>0 then
call('UNLINK',T,U,V)
end
end
local function Ch(Ax,Bl)
Cg()
call('SET',S,'*x'..Ax.P,'PX',Ax.Av)
call('HSET',U,Ax.Ar,Ax.Ah)
Br(Ax.Ar,Bl+Ax.At,Ax.Al)
Ba('o'..Ax.Am,1)
end
local function Ci(Bz,P)
local Bv,Al,Ah=Bz.Bv,Bz.Al,P..' '..Bz.Ah
call('SET',S,Bz.Ar..Bz.As..Ah,'PX',Bv+Al)
local Ax={
Ar=Bz.Ar,Aq=false,As=Bz.As,Ah=Ah,P=P,Al=Al,
Am=Bz.Am,Au=true,Av=Bv+Al,At=Bv,
}
return{Ay='x',Az='',Ax=Ax,P=P}
end
local function Cj(Bz,Bd,P,Bl)
local Ar,Am=Bz.Ar,Bz.Am
if P~=Bd.P then
O(tonumber(P))
end
if not Bd.Ay and Bz.Ai=='x'then
return Ci(Bz,P)
end
if Bd.Ax then
Ch(Bd.Ax,Bl)
elseif not Bd.Ay then
Cg()
call('SET',S,'*'..Bz.Ai..Bz.Cb,'PX',Bz.Bv+Bz.Al)
end
Br(Ar,Bl+Bz.Bv,Bz.Al)
call('HSET',U,Ar,P..' '..Bz.Ah)
if Bz.Ai=='p'then
Ba('used',Bz.Aj)
end
if Am~=''then
Ba('o'..Am,1)
if Bz.Ai=='p'then
Ba('p'..Am,Bz.Aj)
end
end
if Bz.Ai=='x'then
return{Ay='x',Az=P,P=P}
end
return{Ay=Bz.Ai,Az=Bz.Cb}
end
local function Ck(Ar)
if call('ZREM',Y,Ar,'!'..Ar)==0 then
return false
end
call('HDEL',X,Ar)
return call('ZREM',W,Ar)==1
end
local function Cl()
return string.match(call('HGET',X,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function Cm(Bl)
if call('EXISTS',Y)==0 then
return false
end
local Bn=math.max(1,Z)
local Bo=call('ZRANGEBYSCORE',Y,'-inf',Bl,'LIMIT',0,Bn)
Ab=#Bo==Bn
Z=Z-#Bo
for _,Bi in ipairs(Bo)do
local Ar=string.match(Bi,'^!(.*)')
if not Ar then
Ck(Bi)
else
local Cn=call('ZSCORE',Y,Ar)
if Cn and tonumber(Cn)>Bl then
local Co=string.match(call('HGET',X,Ar)or'','^%d+ %d %S+ (%d+)')
local Cp=Co and call('ZSCORE',Y,Bi)-Co
Ac=Ac or Cp and Cp>=tonumber((Cl()))
end
call('ZREM',Y,Bi)
end
end
return true
end
local function Cq(Ar,Cr)
local Cs,Ct,Cu,Co,Cv,Cb,Ca,Ah=string.match(
Cr or'','^(%d+) ([01]) (%S+) (%d+) (%d+) (%d*) ([01]) (.*)$'
)
if not Cu then
return nil
end
local Ai,Aj,Al,Am,Cw=string.match(Ah,'^(%a) (%d+) (%d+) (%S*) (.*)$')
local Cx=Al~='0'
return{
Ar=Ar,Ai=Ai,Ca=Ca=='1',Aj=Aj,Cb=Cb,Am=Am,
Ah=string.format('%s %s %s%s %s ',Ai,Aj,Cx and'!'or'',Al,Am)..Cw,
Bv=tonumber(Co),Al=0,As=Cx and'+'or'-',Cu=Cu,Cs=tonumber(Cs),
Cv=tonumber(Cv),Ct=Ct=='1',
}
end
local function Cy(Cu,Af)
local Cz=A('PUBLISH',Cu,Af)
return type(Cz)~='number'or Cz>0
end
local function Da(Ar)
return string.match(call('HGET',X,Ar)or'','^%d+ %d (%S+)')
end
local function Db(Dc,Af)
local Dd,De=8,nil
for _,Ar in ipairs(call('ZRANGE',W,0,Dd))do
if Ar~=Dc and Dd>0 then
Dd=Dd-1
local Cu=Da(Ar)
if Cu and Cy(Cu,Af..Ar)then
De=Cu
break
end
end
end
local H=call('ZREVRANGE',W,0,0)[1]
local Cu=H and H~=Dc and Da(H)
if Cu and Cu~=De then
Cy(Cu,Af..H)
end
end
local function Df(Dc,Bl,N)
local Dg=call('ZREVRANGE',Y,0,0,'WITHSCORES')[2]
if not Dg then
return
end
local Dh=0
for _,Ar in ipairs(call('ZRANGE',W,0,319))do
local Cs,Cu=string.match(call('HGET',X,Ar)or'','^(%d+) %d (%S+)')
if Cu then
Dh=Cs
if Ar~=Dc then
Cy(Cu,'!'..Ar)
end
end
end
call('HSET',X,'?',string.format('%.0f %s %s',Bl,Dh,N))
call('PEXPIREAT',X,Dg)
end
local function Di(Bd,Bl,Dc)
local Dj,Dk,Dl,Dm=Ac,false,false,false
local Dn,Do,Dp,Dq=Cl()
if Dj then
Z=math.max(5,Z-260)
Ac,Dp,Dq=false,Dn,Do
end
Z=math.max(5,Z)
local N=Dp..' '..Dq
Dp,Dq=tonumber(Dp),tonumber(Dq)
local Dr,at,Ds,Dt,Du={},0,0,0,{}
while true do
if Bd.Ax and Bd.Ax.Am==''then
break
end
at=at+1
if at>Ds then
if Du[1]then
call('ZREM',W,unpack(Du))
Du={}
end
local Bn=math.min(math.max(Dt,1),64)
Dr=call('ZRANGE',W,0,Bn)
if not Dr[1]then
break
end
Ds,at=math.min(#Dr,Bn),1
end
local Dv,Dw=Dr[at],Dr[at+1]
local Cr=call('HGET',X,Dv)
local Bz=Cq(Dv,Cr)
local Dx=math.floor(#(Cr or'')/256)
local Cn=Bz and(Ab or Bz.Cs<=Dq)and call('ZSCORE',Y,Dv)
if not Bz or Ab and Cn and tonumber(Cn)<=Bl then
if Z<=0 then
Dm=true
break
end
Z=Z-1-Dx
Du[#Du+1]=Dv
Ck(Dv)
else
local Dy=By(Bz,Bd)
L=true
local P=(Dy=='fits'or Dy=='passes')and Ce(Bd)
if not P then
break
end
if Z<=0 then
Dm=true
break
end
if Dt==0 then
call('ZREM',W,Dv)
else
Du[#Du+1]=Dv
end
local Cz=Dv==Dc
local Dz=Bz.Cs<=Dq and Cn
if not Cz and not(Dz and Cn-Bz.Cv<Dp)then
Cz=Cy(Bz.Cu,Dv)or Bz.Ct
end
if not Cz then
Z,Dt=Z-1-Dx,Dt+1
else
Z,Dt=Z-5-Dx,0
if Du[1]then
call('ZREM',W,unpack(Du))
Du={}
end
if Dv==Dc then
Ck(Dv)
else
call('ZADD',Y,Bl+Bz.Bv,'!'..Dv)
Dl=true
end
if Dw or Dl then
Bz.As='+'
end
Bd=Cj(Bz,Bd,P,Bl)
Dk=true
end
end
end
if Du[1]then
call('ZREM',W,unpack(Du))
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
local Bl=F(D())
local function Ea(Cc)
local Eb,Ec=ARGV[Cc],Cc
while ARGV[Ec+1]==''do
Ec=Ec-4
end
local Av,Ah,Ed=unpack(ARGV,Ec+1,Ec+3)
local Ai,Aj,Al,Am=string.match(Ah,'^(%a) (%d+) (%d+) (%S*) ')
local Ca,Cb,Cu,Co,Cv,Bn=
string.match(Ed,'^([01]) (%d*) ?(%S*) ?(%d*) ?(%d*) ?(%d*)$')
return{
Ar=string.sub(Eb,1,32),Ai=Ai,Ca=Ca=='1',Aj=Aj,Cb=Cb,
Bv=Av-Al,Al=tonumber(Al),Am=Am,Ah=Ah,As=string.sub(Eb,33),
Cu=Cu~=''and Cu,Co=Co,Cv=tonumber(Cv),Bn=tonumber(Bn),
}
end
local function Ee(Bd,P,Am)
return{'granted',P,math.max(1,Bc(Bd,Am))}
end
local function Ef(Bd,Ar)
if Bd.Ax then
return Bd.Ax.Ar==Ar
end
return Bd.Ay and call('HGET',U,Ar)
end
local function Eg(Eh,Bz,Bd,Ei)
local Ax,De=Bd.Ax,nil
if Ax then
local Ej=Ax.Au and'holding'or'closed'
De={string.sub(Ax.Ar,1,8),Ej,Ax.At,Ax.Av,'',Ax.Ah}
else
local Aj=Bz.Ai=='p'and Bd.Ay=='p'
local Bi=Ei and'~'..Bz.Ar
or Aj and Bw(Bl)
or call('ZREVRANGE',T,0,0)[1]
local Ek,Ej,At,Av,Ah=Bx(Bi,Bl)
if Aj and Aa then
Av=0
end
De={Ek,Ej,At,Av,Bd.Az,Ah}
end
for _,Bb in ipairs(De)do
Eh[#Eh+1]=Bb
end
return Eh
end
local function El(Bz,Bd)
if Ck(Bz.Ar)then
Di(Bd,Bl)
end
end
local function Em(Bd)
if Bd.Ax and Bd.Ax.As=='-'and not Bd.Ax.Aq then
call('SETRANGE',S,32,'+')
end
end
local En=0
local function Eo(Bz,Bd)
local H=call('ZREVRANGE',W,0,0,'WITHSCORES')[2]or 0
local Az=math.max(H+1,En+1,D())
if K and K>0 then
Az=K+at-1
else
En=Az
end
local Cs=string.format('%.0f',Az)
call('ZADD',W,Cs,Bz.Ar)
local Ca=Bz.Ca and'1'or'0'
local Ep={
Cs,'0',Bz.Cu,Bz.Co,Bz.Cv,Bz.Cb,Ca,Bz.Ah,
}
call('HSET',X,Bz.Ar,table.concat(Ep,' '))
Em(Bd)
end
local function Eq(Ar,Bd)
if call('ZSCORE',W,Ar)or not call('ZSCORE',Y,Ar)or Au(Bd,Ar)then
return
end
local Cr=call('HGET',X,Ar)
if not Cr then
Ck(Ar)
return
end
call('ZREM',Y,'!'..Ar)
local Cs,Cw=string.match(Cr,'^(%d+) %d (.*)$')
call('HSET',X,Ar,Cs..' 1 '..Cw)
call('ZADD',W,Cs,Ar)
call('PEXPIREAT',W,call('ZREVRANGE',Y,0,0,'WITHSCORES')[2])
Em(Bd)
end
local function Er(Bz)
call('ZADD',Y,Bl+Bz.Cv,Bz.Ar)
local Bm=call('ZREVRANGE',Y,0,0,'WITHSCORES')[2]
for _,Ad in ipairs({W,X,Y})do
call('PEXPIREAT',Ad,Bm)
end
end
local function Es(Bz,Bd,Et)
local Eu=call('ZRANK',W,Bz.Ar)
if Eu then
call('PEXPIRE',W,Bz.Cv)
elseif Et>=Bz.Bn and not Ab then
return{'full',Et}
else
Eo(Bz,Bd)
Eu=call('ZRANK',W,Bz.Ar)
end
Er(Bz)
return Eg({'queued',Eu},Bz,Bd)
end
local function Ev(Bz,Bd,P)
local Ew=Cj(Bz,Bd,P,Bl)
if not Ew.Ax then
Bt()
end
return Ee(Ew,P,Bz.Am)
end
local function Ex(Bz)
local Ar=Bz.Ar
local Bd=Bp(call('GET',S),Bl,Ar)
if not Bd then
return Ae()
end
if Bd.Ax and Bd.Ax.Av<0 then
return Ae('a lock without an end')
end
local Et=0
local Ey=Cm(Bl)
if Ey then
Eq(Ar,Bd)
Bd=Di(Bd,Bl,Ar)
Et=call('ZCARD',W)
end
if Au(Bd,Ar)then
local P,Am=Bu(Bd,Ar,Bz.Bv,Bl)
if Ey then
Ck(Ar)
end
return Ee(Bd,P,Am)
end
if Ef(Bd,Ar)then
return Eg({'refused'},Bz,Bd,true)
end
local Dy,Ez,Fa,Fb=By(Bz,Bd)
if Dy=='deadlock'or Dy=='mismatch'then
El(Bz,Bd)
return{Dy,Ez,Fa,Fb}
end
if Dy=='passes'or Dy=='fits'and(Et==0 or not Bd.Ay)then
local P=Ce(Bd)
if not P then
return Cf()
end
if Et>0 then
Ck(Ar)
end
return Ev(Bz,Bd,P)
end
if Bz.Cu then
return Es(Bz,Bd,Et)
end
local Fc=Eg({'refused'},Bz,Bd)
El(Bz,Bd)
return Fc
end
local function Fd(Bd,Ar,Ah)
if Bd.Ax then
call('DEL',S)
return{}
end
call('ZREM',T,Ar,'~'..Ar)
Be(Ah)
Bf(Ar,Ah)
if call('ZCARD',T)==0 then
Bg()
return{}
end
Bt()
return Bd
end
local function Fe(Bd,Ar,Am,Ff)
Ck(Ar)
if not Au(Bd,Ar)then
return{'not_held',Bc(Bd,Am)},Bd
end
local Ah=Bd.Ax and Bd.Ax.Ah or call('HGET',U,Ar)
local _,_,_,_,Fg=Ag(Ah)
Bd=Ff(Bd,Ar,Ah)
local At=Bc(Bd,Fg)
return At>0 and{'still_held',At}or 1,Bd
end
on(KEYS[1])
local function Fh(Bz)
local P=Ce({})
if not P then
return Cf()
end
Ck(Bz.Ar)
if call('EXISTS',W)==1 then
Bz.As='+'
end
return Ev(Bz,{},P)
end
local function Fi(Fj,Bd)
local Bz=Ea(2)
if ARGV[8]=='1'and Fj==1 and not Bd.Ay then
return Fh(Bz)
end
return Ex(Bz)
end
local Bd=Bp(R,Bl,B)
if not Bd then
return{ARGV[1],Ae()}
end
Cm(Bl)
local Fj
Fj,Bd=Fe(Bd,B,ARGV[7],Fd)
local Fk,Fl=pcall(Fi,Fj,Bd)
if not Fk then
Fl={'error',type(Fl)=='table'and Fl.err or Fl}
end
local Fm=call('ZCARD',W)-(call('ZSCORE',W,string.sub(ARGV[2],1,32))and 1 or 0)
return{ARGV[1],Fj,Fl,Fm>0 and 1 or 0}
