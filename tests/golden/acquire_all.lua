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
local M=false
local function N(i)
if not J then
local O=tonumber(A('GET',I)or 0)
if not O or not(O<9000000000000000)then
return nil
end
J=math.max(O,F()-1)
end
return L and math.max(J+1,L+(i or at))or J+1
end
local function P(Q)
if Q>K then
local R=Q+#KEYS-2
if ARGV[#ARGV]=='0'or M and call('PTTL',I)==-1 then
call('SET',I,R)
else
call('SET',I,R,'PX',ARGV[#ARGV])
end
K=R
end
J=Q
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
local Q,Ai,Aj,Ak,Al,Am=string.match(Ah,'^(%d+) (%a) (%d+) (!?)(%d+) (%S*) ')
return Q,Ai,Aj,Ak==''and Al or'0',Am
end
local function An(Ah)
return(string.gsub(Ah,'^(%d+ %a %d+ )!','%1'))
end
local function Ao(Ap)
return string.match(Ap,'^%*([spx])(%d*)$')
end
local function Aq(Ap)
local Ar,As,At,Ah=string.match(Ap,'^(~?)(%x+)([-+])(.*)$')
if not As or#As~=32 then
return nil
end
local Q,Ai,_,Al,Am=Ag(Ah)
if Ai~='x'then
return nil
end
local Au=call('PTTL',S)
Al=tonumber(Al)
local Av=Ar==''and Au>Al
return{
As=As,Ar=Ar~='',At=At,Ah=Ah,Q=Q,Al=Al,Am=Am,
Av=Av,Aw=Au,Au=Av and Au-Al or Au,
}
end
local function Ax(Ap)
if not Ap then
return{}
end
if string.sub(Ap,1,1)~='*'then
local Ay=Aq(Ap)
return Ay and{Az='x',Ba='',Ay=Ay,Q=Ay.Q}
end
local Az,Ba=Ao(Ap)
return Az and{Az=Az,Ba=Ba,Q=Az=='x'and Ba or nil}
end
local function Bb(Bc,by)
local Ba=call('HINCRBY',V,Bc,by)
if Ba<=0 then
call('HDEL',V,Bc)
end
end
local function Bd(Be,Am)
if Am==''then
return 0
end
if Be.Ay then
return Be.Ay.Av and Be.Ay.Am==Am and 1 or 0
end
return tonumber(call('HGET',V,'o'..Am)or 0)
end
local function Bf(Ah)
local _,Ai,Aj,_,Am=Ag(Ah)
if Am~=''then
Bb('o'..Am,-1)
if Ai=='p'then
Bb('p'..Am,-Aj)
end
end
end
local function Bg(As,Ah)
local _,Ai,Aj=Ag(Ah)
if Ai=='p'then
Bb('used',-Aj)
end
call('HDEL',U,As)
end
local function Bh()
call('UNLINK',S,T,U,V)
end
local function Bi(Bj)
local As=string.sub(Bj,-32)
local Ah=call('HGET',U,As)
local Bk=Bj==As
if Ah then
local _,_,_,Al=Ag(Ah)
if Bk then
Bf(Ah)
end
if not Bk or Al=='0'then
Bg(As,Ah)
end
end
end
local function Bl(Bm)
local Bn=call('ZREVRANGE',T,0,0,'WITHSCORES')[2]
if not Bn or tonumber(Bn)<=Bm then
Bh()
return false
end
local Bo=math.max(1,math.ceil(Z/3))
local Bp=call('ZRANGEBYSCORE',T,'-inf',Bm,'LIMIT',0,Bo)
if Bp[1]then
call('ZREM',T,unpack(Bp))
Aa=#Bp==Bo
Z=Z-3*#Bp
end
for _,Bj in ipairs(Bp)do
Bi(Bj)
end
return true
end
local function Bq(Ap,Bm,As)
local Be=Ax(Ap)
if Be and Be.Az and not Be.Ay then
if not Bl(Bm)then
return{}
end
if Aa and As then
for _,Bj in ipairs({As,'~'..As})do
local Br=call('ZSCORE',T,Bj)
if Br and tonumber(Br)<=Bm then
call('ZREM',T,Bj)
Bi(Bj)
end
end
end
end
return Be
end
local function Av(Be,As)
if Be.Ay then
return Be.Ay.Av and Be.Ay.As==As
end
return Be.Az and call('ZSCORE',T,As)
end
local function Bs(As,Bt,Al)
call('ZADD',T,Bt,As)
if Al>0 then
call('ZADD',T,Bt+Al,'~'..As)
end
end
local function Bu()
local Bn=call('ZREVRANGE',T,0,0,'WITHSCORES')[2]
for _,Ad in ipairs({S,T,U,V})do
call('PEXPIREAT',Ad,Bn)
end
end
local function Bv(Be,As,Bw,Bm)
local O=Be.Ay and Be.Ay.Ah or call('HGET',U,As)
local Ah=An(O)
local Q,_,_,Al,Am=Ag(Ah)
Al=tonumber(Al)
call('PEXPIRE',S,Bw+Al)
if Be.Ay then
if Ah~=O then
call('SET',S,As..'+'..Ah,'PX',Bw+Al)
end
return Q,Am
end
if Ah~=O then
call('HSET',U,As,Ah)
end
Bs(As,Bm+Bw,Al)
Bu()
return Q,Am
end
local function Bx(Bm)
return call('ZRANGEBYSCORE',T,'('..string.format('%.0f',Bm),'+inf','LIMIT',0,1)[1]
end
local function By(Bj,Bm)
local As=string.sub(Bj,-32)
local Bk=call('ZSCORE',T,As)
local Aw=call('ZSCORE',T,'~'..As)or Bk
local Be=Bk and'holding'or'closed'
return string.sub(As,1,8),Be,(Bk or Aw)-Bm,Aw-Bm,call('HGET',U,As)
end
local function Bz(Ca,Be)
local Ai,Az,Ba=Ca.Ai,Be.Az,Be.Ba
if not Az then
return'fits'
end
if not Aa and Bd(Be,Ca.Am)>0 then
if Az=='x'and Ai=='x'and Ca.Cb or Az=='s'and Ai=='s'then
return'passes'
elseif Az=='x'then
return'deadlock','x',1,''
elseif Ai=='x'then
return'deadlock',Az,call('HGET',V,'p'..Ca.Am)or 1,Ba
end
end
if Ai=='x'or Az=='x'then
return'in_the_way'
end
if Ai~=Az or Ca.Cc~=Ba then
local Cd=Bx(H(F()))
local _,_,Ce=Ag(call('HGET',U,string.sub(Cd,-32)))
return'mismatch',Az,Ce,Ba
end
local Ce=Az=='p'and call('HGET',V,'used')or 0
return(Az=='s'or Ce+Ca.Aj<=tonumber(Ba))and'fits'or'in_the_way'
end
local function Cf(Be)
local Q=Be.Q or N()
return Q and(Be.Q or string.format('%.0f',Q))
end
local function Cg()
return Ae('the fence counter is not a number that can grow')
end
local function Ch()
if call('ZCARD',T)+call('HLEN',U)+call('HLEN',V)>0 then
call('UNLINK',T,U,V)
end
end
local function Ci(Ay,Bm)
Ch()
call('SET',S,'*x'..Ay.Q,'PX',Ay.Aw)
call('HSET',U,Ay.As,Ay.Ah)
Bs(Ay.As,Bm+Ay.Au,Ay.Al)
Bb('o'..Ay.Am,1)
end
local function Cj(Ca,Q)
local Bw,Al,Ah=Ca.Bw,Ca.Al,Q..' '..Ca.Ah
call('SET',S,Ca.As..Ca.At..Ah,'PX',Bw+Al)
local Ay={
As=Ca.As,Ar=false,At=Ca.At,Ah=Ah,Q=Q,Al=Al,
Am=Ca.Am,Av=true,Aw=Bw+Al,Au=Bw,
}
return{Az='x',Ba='',Ay=Ay,Q=Q}
end
local function Ck(Ca,Be,Q,Bm)
local As,Am=Ca.As,Ca.Am
if Q~=Be.Q then
P(tonumber(Q))
end
if not Be.Az and Ca.Ai=='x'then
return Cj(Ca,Q)
end
if Be.Ay then
Ci(Be.Ay,Bm)
elseif not Be.Az then
Ch()
call('SET',S,'*'..Ca.Ai..Ca.Cc,'PX',Ca.Bw+Ca.Al)
end
Bs(As,Bm+Ca.Bw,Ca.Al)
call('HSET',U,As,Q..' '..Ca.Ah)
if Ca.Ai=='p'then
Bb('used',Ca.Aj)
end
if Am~=''then
Bb('o'..Am,1)
if Ca.Ai=='p'then
Bb('p'..Am,Ca.Aj)
end
end
if Ca.Ai=='x'then
return{Az='x',Ba=Q,Q=Q}
end
return{Az=Ca.Ai,Ba=Ca.Cc}
end
local function Cl(As)
if call('ZREM',Y,As,'!'..As)==0 then
return false
end
call('HDEL',X,As)
return call('ZREM',W,As)==1
end
local function Cm()
return string.match(call('HGET',X,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function Cn(Bm)
if call('EXISTS',Y)==0 then
return false
end
local Bo=math.max(1,Z)
local Bp=call('ZRANGEBYSCORE',Y,'-inf',Bm,'LIMIT',0,Bo)
Ab=#Bp==Bo
Z=Z-#Bp
for _,Bj in ipairs(Bp)do
local As=string.match(Bj,'^!(.*)')
if not As then
Cl(Bj)
else
local Co=call('ZSCORE',Y,As)
if Co and tonumber(Co)>Bm then
local Cp=string.match(call('HGET',X,As)or'','^%d+ %d %S+ (%d+)')
local Cq=Cp and call('ZSCORE',Y,Bj)-Cp
Ac=Ac or Cq and Cq>=tonumber((Cm()))
end
call('ZREM',Y,Bj)
end
end
return true
end
local function Cr(As,Cs)
local Ct,Cu,Cv,Cp,Cw,Cc,Cb,Ah=string.match(
Cs or'','^(%d+) ([01]) (%S+) (%d+) (%d+) (%d*) ([01]) (.*)$'
)
if not Cv then
return nil
end
local Ai,Aj,Al,Am,Cx=string.match(Ah,'^(%a) (%d+) (%d+) (%S*) (.*)$')
local Cy=Al~='0'
return{
As=As,Ai=Ai,Cb=Cb=='1',Aj=Aj,Cc=Cc,Am=Am,
Ah=string.format('%s %s %s%s %s ',Ai,Aj,Cy and'!'or'',Al,Am)..Cx,
Bw=tonumber(Cp),Al=0,At=Cy and'+'or'-',Cv=Cv,Ct=tonumber(Ct),
Cw=tonumber(Cw),Cu=Cu=='1',
}
end
local function Cz(Cv,Af)
local Da=A('PUBLISH',Cv,Af)
return type(Da)~='number'or Da>0
end
local function Db(As)
return string.match(call('HGET',X,As)or'','^%d+ %d (%S+)')
end
local function Dc(Dd,Af)
local De,Df=8,nil
for _,As in ipairs(call('ZRANGE',W,0,De))do
if As~=Dd and De>0 then
De=De-1
local Cv=Db(As)
if Cv and Cz(Cv,Af..As)then
Df=Cv
break
end
end
end
local J=call('ZREVRANGE',W,0,0)[1]
local Cv=J and J~=Dd and Db(J)
if Cv and Cv~=Df then
Cz(Cv,Af..J)
end
end
local function Dg(Dd,Bm,O)
local Dh=call('ZREVRANGE',Y,0,0,'WITHSCORES')[2]
if not Dh then
return
end
local Di=0
for _,As in ipairs(call('ZRANGE',W,0,319))do
local Ct,Cv=string.match(call('HGET',X,As)or'','^(%d+) %d (%S+)')
if Cv then
Di=Ct
if As~=Dd then
Cz(Cv,'!'..As)
end
end
end
call('HSET',X,'?',string.format('%.0f %s %s',Bm,Di,O))
call('PEXPIREAT',X,Dh)
end
local function Dj(Be,Bm,Dd)
local Dk,Dl,Dm,Dn=Ac,false,false,false
local Do,Dp,Dq,Dr=Cm()
if Dk then
Z=math.max(5,Z-260)
Ac,Dq,Dr=false,Do,Dp
end
Z=math.max(5,Z)
local O=Dq..' '..Dr
Dq,Dr=tonumber(Dq),tonumber(Dr)
local Ds,at,B,Dt,Du={},0,0,0,{}
while true do
if Be.Ay and Be.Ay.Am==''then
break
end
at=at+1
if at>B then
if Du[1]then
call('ZREM',W,unpack(Du))
Du={}
end
local Bo=math.min(math.max(Dt,1),64)
Ds=call('ZRANGE',W,0,Bo)
if not Ds[1]then
break
end
B,at=math.min(#Ds,Bo),1
end
local Dv,Dw=Ds[at],Ds[at+1]
local Cs=call('HGET',X,Dv)
local Ca=Cr(Dv,Cs)
local Dx=math.floor(#(Cs or'')/256)
local Co=Ca and(Ab or Ca.Ct<=Dr)and call('ZSCORE',Y,Dv)
if not Ca or Ab and Co and tonumber(Co)<=Bm then
if Z<=0 then
Dn=true
break
end
Z=Z-1-Dx
Du[#Du+1]=Dv
Cl(Dv)
else
local Dy=Bz(Ca,Be)
M=true
local Q=(Dy=='fits'or Dy=='passes')and Cf(Be)
if not Q then
break
end
if Z<=0 then
Dn=true
break
end
if Dt==0 then
call('ZREM',W,Dv)
else
Du[#Du+1]=Dv
end
local Da=Dv==Dd
local Dz=Ca.Ct<=Dr and Co
if not Da and not(Dz and Co-Ca.Cw<Dq)then
Da=Cz(Ca.Cv,Dv)or Ca.Cu
end
if not Da then
Z,Dt=Z-1-Dx,Dt+1
else
Z,Dt=Z-5-Dx,0
if Du[1]then
call('ZREM',W,unpack(Du))
Du={}
end
if Dv==Dd then
Cl(Dv)
else
call('ZADD',Y,Bm+Ca.Bw,'!'..Dv)
Dm=true
end
if Dw or Dm then
Ca.At='+'
end
Be=Ck(Ca,Be,Q,Bm)
Dl=true
end
end
end
if Du[1]then
call('ZREM',W,unpack(Du))
end
if Dk then
Dg(Dd,Bm,O)
elseif Dn then
Dc(Dd,'!')
elseif Dm then
Dc(Dd,'?')
end
if Dl and not Be.Ay then
Bu()
end
return Be
end
local Bm=H(F())
local function Ea(Cd)
local Eb,Ec=ARGV[Cd],Cd
while ARGV[Ec+1]==''do
Ec=Ec-4
end
local Aw,Ah,Ed=unpack(ARGV,Ec+1,Ec+3)
local Ai,Aj,Al,Am=string.match(Ah,'^(%a) (%d+) (%d+) (%S*) ')
local Cb,Cc,Cv,Cp,Cw,Bo,Ee=
string.match(Ed,'^([01]) (%d*) ?(%S*) ?(%d*) ?(%d*) ?(%d*) ?(%d*)$')
return{
As=string.sub(Eb,1,32),Ai=Ai,Cb=Cb=='1',Aj=Aj,Cc=Cc,
Bw=Aw-Al,Al=tonumber(Al),Am=Am,Ah=Ah,At=string.sub(Eb,33),
Cv=Cv~=''and Cv,Cp=Cp,Cw=tonumber(Cw),Bo=tonumber(Bo),
Ee=tonumber(Ee),
}
end
local function Ef(Be,Q,Am)
return{'granted',Q,math.max(1,Bd(Be,Am))}
end
local function Eg(Be,As)
if Be.Ay then
return Be.Ay.As==As
end
return Be.Az and call('HGET',U,As)
end
local function Eh(Ei,Ca,Be,Ej)
local Ay,Df=Be.Ay,nil
if Ay then
local Ek=Ay.Av and'holding'or'closed'
Df={string.sub(Ay.As,1,8),Ek,Ay.Au,Ay.Aw,'',Ay.Ah}
else
local Aj=Ca.Ai=='p'and Be.Az=='p'
local Bj=Ej and'~'..Ca.As
or Aj and Bx(Bm)
or call('ZREVRANGE',T,0,0)[1]
local El,Ek,Au,Aw,Ah=By(Bj,Bm)
if Aj and Aa then
Aw=0
end
Df={El,Ek,Au,Aw,Be.Ba,Ah}
end
for _,Bc in ipairs(Df)do
Ei[#Ei+1]=Bc
end
return Ei
end
local function Em(Ca,Be)
if Cl(Ca.As)then
Dj(Be,Bm)
end
end
local function En(Be)
if Be.Ay and Be.Ay.At=='-'and not Be.Ay.Ar then
call('SETRANGE',S,32,'+')
end
end
local Eo=0
local function Ep(Ca,Be)
local J=call('ZREVRANGE',W,0,0,'WITHSCORES')[2]or 0
local Ba=Ca.Ee
if not Ba then
Eo=math.max(J+1,Eo+1,F())
Ba=Eo
end
local Ct=string.format('%.0f',Ba)
call('ZADD',W,Ct,Ca.As)
local Cb=Ca.Cb and'1'or'0'
local Eq={
Ct,'0',Ca.Cv,Ca.Cp,Ca.Cw,Ca.Cc,Cb,Ca.Ah,
}
call('HSET',X,Ca.As,table.concat(Eq,' '))
En(Be)
end
local function Er(As,Be)
if call('ZSCORE',W,As)or not call('ZSCORE',Y,As)or Av(Be,As)then
return
end
local Cs=call('HGET',X,As)
if not Cs then
Cl(As)
return
end
call('ZREM',Y,'!'..As)
local Ct,Cx=string.match(Cs,'^(%d+) %d (.*)$')
call('HSET',X,As,Ct..' 1 '..Cx)
call('ZADD',W,Ct,As)
call('PEXPIREAT',W,call('ZREVRANGE',Y,0,0,'WITHSCORES')[2])
En(Be)
end
local function Es(Ca)
call('ZADD',Y,Bm+Ca.Cw,Ca.As)
local Bn=call('ZREVRANGE',Y,0,0,'WITHSCORES')[2]
for _,Ad in ipairs({W,X,Y})do
call('PEXPIREAT',Ad,Bn)
end
end
local function Et(Ca,Be,Eu)
local Ev=call('ZRANK',W,Ca.As)
if Ev then
call('PEXPIRE',W,Ca.Cw)
elseif Eu>=Ca.Bo and not Ab then
return{'full',Eu}
else
Ep(Ca,Be)
Ev=call('ZRANK',W,Ca.As)
end
Es(Ca)
return Eh({'queued',Ev},Ca,Be)
end
local function Ew(Ca,Be,Q)
local Ex=Ck(Ca,Be,Q,Bm)
if not Ex.Ay then
Bu()
end
return Ef(Ex,Q,Ca.Am)
end
local function Ey(Ca)
local As=Ca.As
local Be=Bq(call('GET',S),Bm,As)
if not Be then
return Ae()
end
if Be.Ay and Be.Ay.Aw<0 then
return Ae('a lock without an end')
end
local Eu=0
local Ez=Cn(Bm)
if Ez then
Er(As,Be)
Be=Dj(Be,Bm,As)
Eu=call('ZCARD',W)
end
if Av(Be,As)then
local Q,Am=Bv(Be,As,Ca.Bw,Bm)
if Ez then
Cl(As)
end
return Ef(Be,Q,Am)
end
if Eg(Be,As)then
return Eh({'refused'},Ca,Be,true)
end
local Dy,Fa,Fb,Fc=Bz(Ca,Be)
if Dy=='deadlock'or Dy=='mismatch'then
Em(Ca,Be)
return{Dy,Fa,Fb,Fc}
end
if Dy=='passes'or Dy=='fits'and(Eu==0 or not Be.Az)then
local Q=Cf(Be)
if not Q then
return Cg()
end
if Eu>0 then
Cl(As)
end
return Ew(Ca,Be,Q)
end
if Ca.Cv then
return Et(Ca,Be,Eu)
end
local Fd=Eh({'refused'},Ca,Be)
Em(Ca,Be)
return Fd
end
local function Fe(Be,As,Ah)
if Be.Ay then
call('DEL',S)
return{}
end
call('ZREM',T,As,'~'..As)
Bf(Ah)
Bg(As,Ah)
if call('ZCARD',T)==0 then
Bh()
return{}
end
Bu()
return Be
end
local function Ff(Be,As,Am,Fg)
Cl(As)
if not Av(Be,As)then
return{'not_held',Bd(Be,Am)},Be
end
local Ah=Be.Ay and Be.Ay.Ah or call('HGET',U,As)
local _,_,_,_,Fh=Ag(Ah)
Be=Fg(Be,As,Ah)
local Au=Bd(Be,Fh)
return Au>0 and{'still_held',Au}or 1,Be
end
local function Fi(i)
on(KEYS[i])
local Ca=Ea(2+B*(i-1))
Ca.Cv=nil
return Ca
end
local function Fj(i)
local Ca=Fi(i)
local Be=Bq(call('GET',S),Bm,Ca.As)
D[i]=Be and Av(Be,Ca.As)
return Ey(Ca)
end
local function Fk(i)
local Ca=Fi(i)
local Be=Bq(call('GET',S),Bm,Ca.As)
local Eu=Cn(Bm)
local _,Ex=Ff(Be,Ca.As,Ca.Am,Fe)
if Eu then
Dj(Ex,Bm)
end
end
for i=1,#KEYS-1 do
local Dl,Ei=pcall(Fj,i)
if not Dl then
Ei={'error',type(Ei)=='table'and Ei.err or Ei}
end
if Ei[1]~='granted'then
for O=i-1,1,-1 do
if not D[O]and not pcall(Fk,O)then
Ei={'error','what was granted could not be taken back'}
end
end
return{ARGV[1],i,Ei}
end
C[i+2]=Ei
end
return C
