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
local Ak=12000
local function Al()
local Am=A('GETRANGE',P,0,Ak+99)
if type(Am)~='string'then
return call('GET',P)
end
return(Am~=''or call('EXISTS',P)==1)and Am
end
local function An(Ae)
if not Ae or#Ae<=Ak then
return Ae
end
local Ao=string.match(string.sub(Ae,1,Ak),'^%d* %a %d+ !?%d+ %S* ')
return(Ao or'')..'{"cut":"longer than '..Ak..' bytes"}'
end
local function Ap(Ae)
return(string.gsub(Ae,'^(%d+ %a %d+ )!','%1'))
end
local function Aq(Am)
if#Am<=32 then
return string.match(Am,'^%*([spx])(%d*)$')
end
end
local function Ar(Am)
local As,At,Au,Av=string.match(Am,'^(~?)(%x+)([-+])()')
if not At or#At~=32 then
return nil
end
local Ae=An(string.sub(Am,Av))
local N,Af,_,Ai,Aj=Ad(Ae)
if Af~='x'then
return nil
end
local Aw=call('PTTL',P)
Ai=tonumber(Ai)
local Ax=As==''and Aw>Ai
return{
At=At,As=As~='',Au=Au,Ae=Ae,N=N,Ai=Ai,Aj=Aj,
Ax=Ax,Ay=Aw,Aw=Ax and Aw-Ai or Aw,
}
end
local function Az(Am)
if not Am then
return{}
end
if string.sub(Am,1,1)~='*'then
local Ba=Ar(Am)
return Ba and{Bb='x',Bc='',Ba=Ba,N=Ba.N}
end
local Bb,Bc=Aq(Am)
return Bb and{Bb=Bb,Bc=Bc,N=Bb=='x'and Bc or nil}
end
local function Bd(Be,by)
local Bc=call('HINCRBY',S,Be,by)
if Bc<=0 then
call('HDEL',S,Be)
end
end
local function Bf(Bg,Aj)
if Aj==''then
return 0
end
if Bg.Ba then
return Bg.Ba.Ax and Bg.Ba.Aj==Aj and 1 or 0
end
return tonumber(call('HGET',S,'o'..Aj)or 0)
end
local function Bh(Ae)
local _,Af,Ag,_,Aj=Ad(Ae)
if Aj~=''then
Bd('o'..Aj,-1)
if Af=='p'then
Bd('p'..Aj,-Ag)
end
end
end
local function Bi(At,Ae)
local _,Af,Ag=Ad(Ae)
if Af=='p'then
Bd('used',-Ag)
end
call('HDEL',R,At)
end
local function Bj()
call('UNLINK',P,Q,R,S)
end
local function Bk(Bl)
local At=string.sub(Bl,-32)
local Ae=call('HGET',R,At)
local Bm=Bl==At
if Ae then
local _,_,_,Ai=Ad(Ae)
if Bm then
Bh(Ae)
end
if not Bm or Ai=='0'then
Bi(At,Ae)
end
end
end
local function Bn(Bo)
local Bp=call('ZREVRANGE',Q,0,0,'WITHSCORES')[2]
if not Bp or tonumber(Bp)<=Bo then
Bj()
return false
end
local Bq=math.max(1,math.ceil(W/3))
local Br=call('ZRANGEBYSCORE',Q,'-inf',Bo,'LIMIT',0,Bq)
if Br[1]then
call('ZREM',Q,unpack(Br))
X=#Br==Bq
W=W-3*#Br
end
for _,Bl in ipairs(Br)do
Bk(Bl)
end
return true
end
local function Bs(Bo,At)
local Bg=Az(Al())
if Bg and Bg.Bb and not Bg.Ba then
if not Bn(Bo)then
return{}
end
if X and At then
for _,Bl in ipairs({At,'~'..At})do
local Bt=call('ZSCORE',Q,Bl)
if Bt and tonumber(Bt)<=Bo then
call('ZREM',Q,Bl)
Bk(Bl)
end
end
end
end
return Bg
end
local function Ax(Bg,At)
if Bg.Ba then
return Bg.Ba.Ax and Bg.Ba.At==At
end
return Bg.Bb and call('ZSCORE',Q,At)
end
local function Bu(At,Bv,Ai)
call('ZADD',Q,Bv,At)
if Ai>0 then
call('ZADD',Q,Bv+Ai,'~'..At)
end
end
local function Bw()
local Bp=call('ZREVRANGE',Q,0,0,'WITHSCORES')[2]
for _,Aa in ipairs({P,Q,R,S})do
call('PEXPIREAT',Aa,Bp)
end
end
local function Bx(Bg,At,By,Bo)
local L=Bg.Ba and Bg.Ba.Ae or call('HGET',R,At)
local Ae=Ap(L)
local N,_,_,Ai,Aj=Ad(Ae)
Ai=tonumber(Ai)
call('PEXPIRE',P,By+Ai)
if Bg.Ba then
if Ae~=L then
call('SET',P,At..'+'..Ae,'PX',By+Ai)
end
return N,Aj
end
if Ae~=L then
call('HSET',R,At,Ae)
end
Bu(At,Bo+By,Ai)
Bw()
return N,Aj
end
local function Bz(Bo)
return call('ZRANGEBYSCORE',Q,'('..string.format('%.0f',Bo),'+inf','LIMIT',0,1)[1]
end
local function Ca(Bl,Bo)
local At=string.sub(Bl,-32)
local Bm=call('ZSCORE',Q,At)
local Ay=call('ZSCORE',Q,'~'..At)or Bm
local Bg=Bm and'holding'or'closed'
return string.sub(At,1,8),Bg,(Bm or Ay)-Bo,Ay-Bo,An(call('HGET',R,At))
end
local function Cb(Cc,Bg)
local Af,Bb,Bc=Cc.Af,Bg.Bb,Bg.Bc
if not Bb then
return'fits'
end
if not X and Bf(Bg,Cc.Aj)>0 then
if Bb=='x'and Af=='x'and Cc.Cd or Bb=='s'and Af=='s'then
return'passes'
elseif Bb=='x'then
return'deadlock','x',1,''
elseif Af=='x'then
return'deadlock',Bb,call('HGET',S,'p'..Cc.Aj)or 1,Bc
end
end
if Af=='x'or Bb=='x'then
return'in_the_way'
end
if Af~=Bb or Cc.Ce~=Bc then
local Cf=Bz(E(C()))
local _,_,Cg=Ad(call('HGET',R,string.sub(Cf,-32)))
return'mismatch',Bb,string.sub(Cg,1,20),Bc
end
local Cg=Bb=='p'and call('HGET',S,'used')or 0
return(Bb=='s'or Cg+Cc.Ag<=tonumber(Bc))and'fits'or'in_the_way'
end
local function Ch(Bg)
local N=Bg.N or K()
return N and(Bg.N or string.format('%.0f',N))
end
local function Ci()
return Ab('the fence counter is not a number that can grow')
end
local function Cj()
if call('ZCARD',Q)+call('HLEN',R)+call('HLEN',S)>0 then
call('UNLINK',Q,R,S)
end
end
local function Ck(Ba,Bo)
Cj()
call('SET',P,'*x'..Ba.N,'PX',Ba.Ay)
call('HSET',R,Ba.At,Ba.Ae)
Bu(Ba.At,Bo+Ba.Aw,Ba.Ai)
Bd('o'..Ba.Aj,1)
end
local function Cl(Cc,N)
local By,Ai,Ae=Cc.By,Cc.Ai,N..' '..Cc.Ae
call('SET',P,Cc.At..Cc.Au..Ae,'PX',By+Ai)
local Ba={
At=Cc.At,As=false,Au=Cc.Au,Ae=Ae,N=N,Ai=Ai,
Aj=Cc.Aj,Ax=true,Ay=By+Ai,Aw=By,
}
return{Bb='x',Bc='',Ba=Ba,N=N}
end
local function Cm(Cc,Bg,N,Bo)
local At,Aj=Cc.At,Cc.Aj
if N~=Bg.N then
M(tonumber(N))
end
if not Bg.Bb and Cc.Af=='x'then
return Cl(Cc,N)
end
if Bg.Ba then
Ck(Bg.Ba,Bo)
elseif not Bg.Bb then
Cj()
call('SET',P,'*'..Cc.Af..Cc.Ce,'PX',Cc.By+Cc.Ai)
end
Bu(At,Bo+Cc.By,Cc.Ai)
call('HSET',R,At,N..' '..Cc.Ae)
if Cc.Af=='p'then
Bd('used',Cc.Ag)
end
if Aj~=''then
Bd('o'..Aj,1)
if Cc.Af=='p'then
Bd('p'..Aj,Cc.Ag)
end
end
if Cc.Af=='x'then
return{Bb='x',Bc=N,N=N}
end
return{Bb=Cc.Af,Bc=Cc.Ce}
end
local function Cn(At)
if call('ZREM',V,At,'!'..At)==0 then
return false
end
call('HDEL',U,At)
return call('ZREM',T,At)==1
end
local function Co()
return string.match(call('HGET',U,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function Cp(Bo)
if call('EXISTS',V)==0 then
return false
end
local Bq=math.max(1,W)
local Br=call('ZRANGEBYSCORE',V,'-inf',Bo,'LIMIT',0,Bq)
Y=#Br==Bq
W=W-#Br
for _,Bl in ipairs(Br)do
local At=string.match(Bl,'^!(.*)')
if not At then
Cn(Bl)
else
local Cq=call('ZSCORE',V,At)
if Cq and tonumber(Cq)>Bo then
local Cr=string.match(call('HGET',U,At)or'','^%d+ %d %S+ (%d+)')
local Cs=Cr and call('ZSCORE',V,Bl)-Cr
Z=Z or Cs and Cs>=tonumber((Co()))
end
call('ZREM',V,Bl)
end
end
return true
end
local function Ct(At,Cu)
local Cv,Cw,Cx,Cr,Cy,Ce,Cd,Ae=string.match(
Cu or'','^(%d+) ([01]) (%S+) (%d+) (%d+) (%d*) ([01]) (.*)$'
)
if not Cx then
return nil
end
local Af,Ag,Ai,Aj,Cz=string.match(Ae,'^(%a) (%d+) (%d+) (%S*) (.*)$')
local Da=Ai~='0'
return{
At=At,Af=Af,Cd=Cd=='1',Ag=Ag,Ce=Ce,Aj=Aj,
Ae=string.format('%s %s %s%s %s ',Af,Ag,Da and'!'or'',Ai,Aj)..Cz,
By=tonumber(Cr),Ai=0,Au=Da and'+'or'-',Cx=Cx,Cv=tonumber(Cv),
Cy=tonumber(Cy),Cw=Cw=='1',
}
end
local function Db(Cx,Ac)
local Dc=A('PUBLISH',Cx,Ac)
return type(Dc)~='number'or Dc>0
end
local function Dd(At)
return string.match(call('HGET',U,At)or'','^%d+ %d (%S+)')
end
local function De(Df,Ac)
local Dg,Dh=8,nil
for _,At in ipairs(call('ZRANGE',T,0,Dg))do
if At~=Df and Dg>0 then
Dg=Dg-1
local Cx=Dd(At)
if Cx and Db(Cx,Ac..At)then
Dh=Cx
break
end
end
end
local G=call('ZREVRANGE',T,0,0)[1]
local Cx=G and G~=Df and Dd(G)
if Cx and Cx~=Dh then
Db(Cx,Ac..G)
end
end
local function Di(Df,Bo,L)
local Dj=call('ZREVRANGE',V,0,0,'WITHSCORES')[2]
if not Dj then
return
end
local Dk=0
for _,At in ipairs(call('ZRANGE',T,0,319))do
local Cv,Cx=string.match(call('HGET',U,At)or'','^(%d+) %d (%S+)')
if Cx then
Dk=Cv
if At~=Df then
Db(Cx,'!'..At)
end
end
end
call('HSET',U,'?',string.format('%.0f %s %s',Bo,Dk,L))
call('PEXPIREAT',U,Dj)
end
local function Dl(Bg,Bo,Df)
local Dm,Dn,Do,Dp=Z,false,false,false
local Dq,Dr,Ds,Dt=Co()
if Dm then
W=math.max(5,W-260)
Z,Ds,Dt=false,Dq,Dr
end
W=math.max(5,W)
local L=Ds..' '..Dt
Ds,Dt=tonumber(Ds),tonumber(Dt)
local Du,at,Dv,Dw,Dx={},0,0,0,{}
while true do
if Bg.Ba and Bg.Ba.Aj==''then
break
end
at=at+1
if at>Dv then
if Dx[1]then
call('ZREM',T,unpack(Dx))
Dx={}
end
local Bq=math.min(math.max(Dw,1),64)
Du=call('ZRANGE',T,0,Bq)
if not Du[1]then
break
end
Dv,at=math.min(#Du,Bq),1
end
local Dy,Dz=Du[at],Du[at+1]
local Cu=call('HGET',U,Dy)
local Cc=Ct(Dy,Cu)
local Ea=math.floor(#(Cu or'')/256)
local Cq=Cc and(Y or Cc.Cv<=Dt)and call('ZSCORE',V,Dy)
if not Cc or Y and Cq and tonumber(Cq)<=Bo then
if W<=0 then
Dp=true
break
end
W=W-1-Ea
Dx[#Dx+1]=Dy
Cn(Dy)
else
local Eb=Cb(Cc,Bg)
J=true
local N=(Eb=='fits'or Eb=='passes')and Ch(Bg)
if not N then
break
end
if W<=0 then
Dp=true
break
end
if Dw==0 then
call('ZREM',T,Dy)
else
Dx[#Dx+1]=Dy
end
local Dc=Dy==Df
local Ec=Cc.Cv<=Dt and Cq
if not Dc and not(Ec and Cq-Cc.Cy<Ds)then
Dc=Db(Cc.Cx,Dy)or Cc.Cw
end
if not Dc then
W,Dw=W-1-Ea,Dw+1
else
W,Dw=W-5-Ea,0
if Dx[1]then
call('ZREM',T,unpack(Dx))
Dx={}
end
if Dy==Df then
Cn(Dy)
else
call('ZADD',V,Bo+Cc.By,'!'..Dy)
Do=true
end
if Dz or Do then
Cc.Au='+'
end
Bg=Cm(Cc,Bg,N,Bo)
Dn=true
end
end
end
if Dx[1]then
call('ZREM',T,unpack(Dx))
end
if Dm then
Di(Df,Bo,L)
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
local Bo=E(C())
local function Ed(Cf)
local Ao,Ee=ARGV[Cf],Cf
while ARGV[Ee+1]==''do
Ee=Ee-4
end
local Ay,Ae,Ef=unpack(ARGV,Ee+1,Ee+3)
local Af,Ag,Ai,Aj=string.match(Ae,'^(%a) (%d+) (%d+) (%S*) ')
local Cd,Ce,Cx,Cr,Cy,Bq,Eg=
string.match(Ef,'^([01]) (%d*) ?(%S*) ?(%d*) ?(%d*) ?(%d*) ?(%d*)$')
return{
At=string.sub(Ao,1,32),Af=Af,Cd=Cd=='1',Ag=Ag,Ce=Ce,
By=Ay-Ai,Ai=tonumber(Ai),Aj=Aj,Ae=Ae,Au=string.sub(Ao,33),
Cx=Cx~=''and Cx,Cr=Cr,Cy=tonumber(Cy),Bq=tonumber(Bq),
Eg=tonumber(Eg),
}
end
local function Eh(Bg,N,Aj)
return{'granted',N,math.max(1,Bf(Bg,Aj))}
end
local function Ei(Bg,At)
if Bg.Ba then
return Bg.Ba.At==At
end
return Bg.Bb and call('HGET',R,At)
end
local function Ej(Ek,Cc,Bg,El)
local Ba,Dh=Bg.Ba,nil
if Ba then
local Em=Ba.Ax and'holding'or'closed'
Dh={string.sub(Ba.At,1,8),Em,Ba.Aw,Ba.Ay,'',Ba.Ae}
else
local Ag=Cc.Af=='p'and Bg.Bb=='p'
local Bl=El and'~'..Cc.At
or Ag and Bz(Bo)
or call('ZREVRANGE',Q,0,0)[1]
local En,Em,Aw,Ay,Ae=Ca(Bl,Bo)
if Ag and X then
Ay=0
end
Dh={En,Em,Aw,Ay,Bg.Bc,Ae}
end
for _,Be in ipairs(Dh)do
Ek[#Ek+1]=Be
end
return Ek
end
local function Eo(Cc,Bg)
if Cn(Cc.At)then
Dl(Bg,Bo)
end
end
local function Ep(Bg)
if Bg.Ba and Bg.Ba.Au=='-'and not Bg.Ba.As then
call('SETRANGE',P,32,'+')
end
end
local Eq=0
local function Er(Cc,Bg)
local G=call('ZREVRANGE',T,0,0,'WITHSCORES')[2]or 0
local Bc=Cc.Eg
if not Bc then
Eq=math.max(G+1,Eq+1,C())
Bc=Eq
end
local Cv=string.format('%.0f',Bc)
call('ZADD',T,Cv,Cc.At)
local Cd=Cc.Cd and'1'or'0'
local Es={
Cv,'0',Cc.Cx,Cc.Cr,Cc.Cy,Cc.Ce,Cd,Cc.Ae,
}
call('HSET',U,Cc.At,table.concat(Es,' '))
Ep(Bg)
end
local function Et(At,Bg)
if call('ZSCORE',T,At)or not call('ZSCORE',V,At)or Ax(Bg,At)then
return
end
local Cu=call('HGET',U,At)
if not Cu then
Cn(At)
return
end
call('ZREM',V,'!'..At)
local Cv,Cz=string.match(Cu,'^(%d+) %d (.*)$')
call('HSET',U,At,Cv..' 1 '..Cz)
call('ZADD',T,Cv,At)
call('PEXPIREAT',T,call('ZREVRANGE',V,0,0,'WITHSCORES')[2])
Ep(Bg)
end
local function Eu(Cc)
call('ZADD',V,Bo+Cc.Cy,Cc.At)
local Bp=call('ZREVRANGE',V,0,0,'WITHSCORES')[2]
for _,Aa in ipairs({T,U,V})do
call('PEXPIREAT',Aa,Bp)
end
end
local function Ev(Cc,Bg,Ew)
local Ex=call('ZRANK',T,Cc.At)
if Ex then
call('PEXPIRE',T,Cc.Cy)
elseif Ew>=Cc.Bq and not Y then
return{'full',Ew}
else
Er(Cc,Bg)
Ex=call('ZRANK',T,Cc.At)
end
Eu(Cc)
return Ej({'queued',Ex},Cc,Bg)
end
local function Ey(Cc,Bg,N)
local Ez=Cm(Cc,Bg,N,Bo)
if not Ez.Ba then
Bw()
end
return Eh(Ez,N,Cc.Aj)
end
local function Fa(Cc)
local At=Cc.At
local Bg=Bs(Bo,At)
if not Bg then
return Ab()
end
if Bg.Ba and Bg.Ba.Ay<0 then
return Ab('a lock without an end')
end
local Ew=0
local Fb=Cp(Bo)
if Fb then
Et(At,Bg)
Bg=Dl(Bg,Bo,At)
Ew=call('ZCARD',T)
end
if Ax(Bg,At)then
local N,Aj=Bx(Bg,At,Cc.By,Bo)
if Fb then
Cn(At)
end
return Eh(Bg,N,Aj)
end
if Ei(Bg,At)then
return Ej({'refused'},Cc,Bg,true)
end
local Eb,Fc,Fd,Fe=Cb(Cc,Bg)
if Eb=='deadlock'or Eb=='mismatch'then
Eo(Cc,Bg)
return{Eb,Fc,Fd,Fe}
end
if Eb=='passes'or Eb=='fits'and(Ew==0 or not Bg.Bb)then
local N=Ch(Bg)
if not N then
return Ci()
end
if Ew>0 then
Cn(At)
end
return Ey(Cc,Bg,N)
end
if Cc.Cx then
return Ev(Cc,Bg,Ew)
end
local Ff=Ej({'refused'},Cc,Bg)
Eo(Cc,Bg)
return Ff
end
local function Fg(Bg,At,Ae)
if Bg.Ba then
call('DEL',P)
return{}
end
call('ZREM',Q,At,'~'..At)
Bh(Ae)
Bi(At,Ae)
if call('ZCARD',Q)==0 then
Bj()
return{}
end
Bw()
return Bg
end
local function Fh(Bg,At,Aj,Fi)
Cn(At)
if not Ax(Bg,At)then
return{'not_held',Bf(Bg,Aj)},Bg
end
local Ae=Bg.Ba and Bg.Ba.Ae or call('HGET',R,At)
local _,_,_,_,Fj=Ad(Ae)
Bg=Fi(Bg,At,Ae)
local Aw=Bf(Bg,Fj)
return Aw>0 and{'still_held',Aw}or 1,Bg
end
on(KEYS[1])
local Cc=Ed(2)
local Bg=Bs(Bo,Cc.At)
if not Bg then
return{ARGV[1],Ab()}
end
Cp(Bo)
local _
_,Bg=Fh(Bg,Cc.At,Cc.Aj,Fg)
Er(Cc,Bg)
Eu(Cc)
Dl(Bg,Bo)
return{ARGV[1],1}
