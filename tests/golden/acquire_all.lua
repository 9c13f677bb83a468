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
local M,N=nil,false
local function O(i)
if not J then
local P=tonumber(A('GET',I)or 0)
if not P or not(P<9000000000000000)then
return nil
end
J=math.max(P,F()-1)
end
return L and math.max(J+1,L+(i or at))or J+1
end
local function Q(R)
if R>K then
local S=R+#KEYS-2
if ARGV[#ARGV]=='0'or N and call('PTTL',I)==-1 then
call('SET',I,S)
else
call('SET',I,S,'PX',ARGV[#ARGV])
end
K=S
end
J=R
end
local T,U,V,W,X,Y,Z
local Aa,Ab,Ac,Ad=320,false,false,false
local function on(Ae)
Aa,Ab,Ac,Ad=math.max(Aa,5),false,false,false
T,U,V,W=Ae,Ae..':h',Ae..':d',Ae..':o'
X,Y,Z=Ae..':q',Ae..':w',Ae..':p'
end
local function Af(Ag)
return{'corrupt',Ag or'a value that is no lock'}
end
local function Ah(Ai)
local R,Aj,Ak,Al,Am,An=string.match(Ai,'^(%d+) (%a) (%d+) (!?)(%d+) (%S*) ')
return R,Aj,Ak,Al==''and Am or'0',An
end
local function Ao(Ai)
return(string.gsub(Ai,'^(%d+ %a %d+ )!','%1'))
end
local function Ap(Aq)
return string.match(Aq,'^%*([spx])(%d*)$')
end
local function Ar(Aq)
local As,At,Au,Ai=string.match(Aq,'^(~?)(%x+)([-+])(.*)$')
if not At or#At~=32 then
return nil
end
local R,Aj,_,Am,An=Ah(Ai)
if Aj~='x'then
return nil
end
local Av=call('PTTL',T)
Am=tonumber(Am)
local Aw=As==''and Av>Am
return{
At=At,As=As~='',Au=Au,Ai=Ai,R=R,Am=Am,An=An,
Aw=Aw,Ax=Av,Av=Aw and Av-Am or Av,
}
end
local function Ay(Aq)
if not Aq then
return{}
end
if string.sub(Aq,1,1)~='*'then
local Az=Ar(Aq)
return Az and{Ba='x',Bb='',Az=Az,R=Az.R}
end
local Ba,Bb=Ap(Aq)
return Ba and{Ba=Ba,Bb=Bb,R=Ba=='x'and Bb or nil}
end
local function Bc(Bd,by)
local Bb=call('HINCRBY',W,Bd,by)
if Bb<=0 then
call('HDEL',W,Bd)
end
end
local function Be(Bf,An)
if An==''then
return 0
end
if Bf.Az then
return Bf.Az.Aw and Bf.Az.An==An and 1 or 0
end
return tonumber(call('HGET',W,'o'..An)or 0)
end
local function Bg(Ai)
local _,Aj,Ak,_,An=Ah(Ai)
if An~=''then
Bc('o'..An,-1)
if Aj=='p'then
Bc('p'..An,-Ak)
end
end
end
local function Bh(At,Ai)
local _,Aj,Ak=Ah(Ai)
if Aj=='p'then
Bc('used',-Ak)
end
call('HDEL',V,At)
end
local function Bi()
call('UNLINK',T,U,V,W)
end
local function Bj(Bk)
local At=string.sub(Bk,-32)
local Ai=call('HGET',V,At)
local Bl=Bk==At
if Ai then
local _,_,_,Am=Ah(Ai)
if Bl then
Bg(Ai)
end
if not Bl or Am=='0'then
Bh(At,Ai)
end
end
end
local function Bm(Bn)
local Bo=call('ZREVRANGE',U,0,0,'WITHSCORES')[2]
if not Bo or tonumber(Bo)<=Bn then
Bi()
return false
end
local Bp=math.max(1,math.ceil(Aa/3))
local Bq=call('ZRANGEBYSCORE',U,'-inf',Bn,'LIMIT',0,Bp)
if Bq[1]then
call('ZREM',U,unpack(Bq))
Ab=#Bq==Bp
Aa=Aa-3*#Bq
end
for _,Bk in ipairs(Bq)do
Bj(Bk)
end
return true
end
local function Br(Aq,Bn,At)
local Bf=Ay(Aq)
if Bf and Bf.Ba and not Bf.Az then
if not Bm(Bn)then
return{}
end
if Ab and At then
for _,Bk in ipairs({At,'~'..At})do
local Bs=call('ZSCORE',U,Bk)
if Bs and tonumber(Bs)<=Bn then
call('ZREM',U,Bk)
Bj(Bk)
end
end
end
end
return Bf
end
local function Aw(Bf,At)
if Bf.Az then
return Bf.Az.Aw and Bf.Az.At==At
end
return Bf.Ba and call('ZSCORE',U,At)
end
local function Bt(At,Bu,Am)
call('ZADD',U,Bu,At)
if Am>0 then
call('ZADD',U,Bu+Am,'~'..At)
end
end
local function Bv()
local Bo=call('ZREVRANGE',U,0,0,'WITHSCORES')[2]
for _,Ae in ipairs({T,U,V,W})do
call('PEXPIREAT',Ae,Bo)
end
end
local function Bw(Bf,At,Bx,Bn)
local P=Bf.Az and Bf.Az.Ai or call('HGET',V,At)
local Ai=Ao(P)
local R,_,_,Am,An=Ah(Ai)
Am=tonumber(Am)
call('PEXPIRE',T,Bx+Am)
if Bf.Az then
if Ai~=P then
call('SET',T,At..'+'..Ai,'PX',Bx+Am)
end
return R,An
end
if Ai~=P then
call('HSET',V,At,Ai)
end
Bt(At,Bn+Bx,Am)
Bv()
return R,An
end
local function By(Bn)
return call('ZRANGEBYSCORE',U,'('..string.format('%.0f',Bn),'+inf','LIMIT',0,1)[1]
end
local function Bz(Bk,Bn)
local At=string.sub(Bk,-32)
local Bl=call('ZSCORE',U,At)
local Ax=call('ZSCORE',U,'~'..At)or Bl
local Bf=Bl and'holding'or'closed'
return string.sub(At,1,8),Bf,(Bl or Ax)-Bn,Ax-Bn,call('HGET',V,At)
end
local function Ca(Cb,Bf)
local Aj,Ba,Bb=Cb.Aj,Bf.Ba,Bf.Bb
if not Ba then
return'fits'
end
if not Ab and Be(Bf,Cb.An)>0 then
if Ba=='x'and Aj=='x'and Cb.Cc or Ba=='s'and Aj=='s'then
return'passes'
elseif Ba=='x'then
return'deadlock','x',1,''
elseif Aj=='x'then
return'deadlock',Ba,call('HGET',W,'p'..Cb.An)or 1,Bb
end
end
if Aj=='x'or Ba=='x'then
return'in_the_way'
end
if Aj~=Ba or Cb.Cd~=Bb then
local Ce=By(H(F()))
local _,_,Cf=Ah(call('HGET',V,string.sub(Ce,-32)))
return'mismatch',Ba,Cf,Bb
end
local Cf=Ba=='p'and call('HGET',W,'used')or 0
return(Ba=='s'or Cf+Cb.Ak<=tonumber(Bb))and'fits'or'in_the_way'
end
local function Cg(Bf)
local R=Bf.R or O()
return R and(Bf.R or string.format('%.0f',R))
end
local function Ch()
return Af('the fence counter is not a number that can grow')
end
local function Ci()
if call('ZCARD',U)+call('HLEN',V)+call('HLEN',W)>0 then
call('UNLINK',U,V,W)
end
end
local function Cj(Az,Bn)
Ci()
call('SET',T,'*x'..Az.R,'PX',Az.Ax)
call('HSET',V,Az.At,Az.Ai)
Bt(Az.At,Bn+Az.Av,Az.Am)
Bc('o'..Az.An,1)
end
local function Ck(Cb,R)
local Bx,Am,Ai=Cb.Bx,Cb.Am,R..' '..Cb.Ai
call('SET',T,Cb.At..Cb.Au..Ai,'PX',Bx+Am)
local Az={
At=Cb.At,As=false,Au=Cb.Au,Ai=Ai,R=R,Am=Am,
An=Cb.An,Aw=true,Ax=Bx+Am,Av=Bx,
}
return{Ba='x',Bb='',Az=Az,R=R}
end
local function Cl(Cb,Bf,R,Bn)
local At,An=Cb.At,Cb.An
if R~=Bf.R then
Q(tonumber(R))
end
if not Bf.Ba and Cb.Aj=='x'then
return Ck(Cb,R)
end
if Bf.Az then
Cj(Bf.Az,Bn)
elseif not Bf.Ba then
Ci()
call('SET',T,'*'..Cb.Aj..Cb.Cd,'PX',Cb.Bx+Cb.Am)
end
Bt(At,Bn+Cb.Bx,Cb.Am)
call('HSET',V,At,R..' '..Cb.Ai)
if Cb.Aj=='p'then
Bc('used',Cb.Ak)
end
if An~=''then
Bc('o'..An,1)
if Cb.Aj=='p'then
Bc('p'..An,Cb.Ak)
end
end
if Cb.Aj=='x'then
return{Ba='x',Bb=R,R=R}
end
return{Ba=Cb.Aj,Bb=Cb.Cd}
end
local function Cm(At)
if call('ZREM',Z,At,'!'..At)==0 then
return false
end
call('HDEL',Y,At)
return call('ZREM',X,At)==1
end
local function Cn()
return string.match(call('HGET',Y,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function Co(Bn)
if call('EXISTS',Z)==0 then
return false
end
local Bp=math.max(1,Aa)
local Bq=call('ZRANGEBYSCORE',Z,'-inf',Bn,'LIMIT',0,Bp)
Ac=#Bq==Bp
Aa=Aa-#Bq
for _,Bk in ipairs(Bq)do
local At=string.match(Bk,'^!(.*)')
if not At then
Cm(Bk)
else
local Cp=call('ZSCORE',Z,At)
if Cp and tonumber(Cp)>Bn then
local Cq=string.match(call('HGET',Y,At)or'','^%d+ %d %S+ (%d+)')
local Cr=Cq and call('ZSCORE',Z,Bk)-Cq
Ad=Ad or Cr and Cr>=tonumber((Cn()))
end
call('ZREM',Z,Bk)
end
end
return true
end
local function Cs(At,Ct)
local Cu,Cv,Cw,Cq,Cx,Cd,Cc,Ai=string.match(
Ct or'','^(%d+) ([01]) (%S+) (%d+) (%d+) (%d*) ([01]) (.*)$'
)
if not Cw then
return nil
end
local Aj,Ak,Am,An,Cy=string.match(Ai,'^(%a) (%d+) (%d+) (%S*) (.*)$')
local Cz=Am~='0'
return{
At=At,Aj=Aj,Cc=Cc=='1',Ak=Ak,Cd=Cd,An=An,
Ai=string.format('%s %s %s%s %s ',Aj,Ak,Cz and'!'or'',Am,An)..Cy,
Bx=tonumber(Cq),Am=0,Au=Cz and'+'or'-',Cw=Cw,Cu=tonumber(Cu),
Cx=tonumber(Cx),Cv=Cv=='1',
}
end
local function Da(Cw,Ag)
local Db=A('PUBLISH',Cw,Ag)
return type(Db)~='number'or Db>0
end
local function Dc(At)
return string.match(call('HGET',Y,At)or'','^%d+ %d (%S+)')
end
local function Dd(De,Ag)
local Df,Dg=8,nil
for _,At in ipairs(call('ZRANGE',X,0,Df))do
if At~=De and Df>0 then
Df=Df-1
local Cw=Dc(At)
if Cw and Da(Cw,Ag..At)then
Dg=Cw
break
end
end
end
local J=call('ZREVRANGE',X,0,0)[1]
local Cw=J and J~=De and Dc(J)
if Cw and Cw~=Dg then
Da(Cw,Ag..J)
end
end
local function Dh(De,Bn,P)
local Di=call('ZREVRANGE',Z,0,0,'WITHSCORES')[2]
if not Di then
return
end
local Dj=0
for _,At in ipairs(call('ZRANGE',X,0,319))do
local Cu,Cw=string.match(call('HGET',Y,At)or'','^(%d+) %d (%S+)')
if Cw then
Dj=Cu
if At~=De then
Da(Cw,'!'..At)
end
end
end
call('HSET',Y,'?',string.format('%.0f %s %s',Bn,Dj,P))
call('PEXPIREAT',Y,Di)
end
local function Dk(Bf,Bn,De)
local Dl,Dm,Dn,Do=Ad,false,false,false
local Dp,Dq,Dr,Ds=Cn()
if Dl then
Aa=math.max(5,Aa-260)
Ad,Dr,Ds=false,Dp,Dq
end
Aa=math.max(5,Aa)
local P=Dr..' '..Ds
Dr,Ds=tonumber(Dr),tonumber(Ds)
local Dt,at,B,Du,Dv={},0,0,0,{}
while true do
if Bf.Az and Bf.Az.An==''then
break
end
at=at+1
if at>B then
if Dv[1]then
call('ZREM',X,unpack(Dv))
Dv={}
end
local Bp=math.min(math.max(Du,1),64)
Dt=call('ZRANGE',X,0,Bp)
if not Dt[1]then
break
end
B,at=math.min(#Dt,Bp),1
end
local Dw,Dx=Dt[at],Dt[at+1]
local Ct=call('HGET',Y,Dw)
local Cb=Cs(Dw,Ct)
local Dy=math.floor(#(Ct or'')/256)
local Cp=Cb and(Ac or Cb.Cu<=Ds)and call('ZSCORE',Z,Dw)
if not Cb or Ac and Cp and tonumber(Cp)<=Bn then
if Aa<=0 then
Do=true
break
end
Aa=Aa-1-Dy
Dv[#Dv+1]=Dw
Cm(Dw)
else
local Dz=Ca(Cb,Bf)
N=true
local R=(Dz=='fits'or Dz=='passes')and Cg(Bf)
if not R then
break
end
if Aa<=0 then
Do=true
break
end
if Du==0 then
call('ZREM',X,Dw)
else
Dv[#Dv+1]=Dw
end
local Db=Dw==De
local Ea=Cb.Cu<=Ds and Cp
if not Db and not(Ea and Cp-Cb.Cx<Dr)then
Db=Da(Cb.Cw,Dw)or Cb.Cv
end
if not Db then
Aa,Du=Aa-1-Dy,Du+1
else
Aa,Du=Aa-5-Dy,0
if Dv[1]then
call('ZREM',X,unpack(Dv))
Dv={}
end
if Dw==De then
Cm(Dw)
else
call('ZADD',Z,Bn+Cb.Bx,'!'..Dw)
Dn=true
end
if Dx or Dn then
Cb.Au='+'
end
Bf=Cl(Cb,Bf,R,Bn)
Dm=true
end
end
end
if Dv[1]then
call('ZREM',X,unpack(Dv))
end
if Dl then
Dh(De,Bn,P)
elseif Do then
Dd(De,'!')
elseif Dn then
Dd(De,'?')
end
if Dm and not Bf.Az then
Bv()
end
return Bf
end
local Bn=H(F())
local function Eb(Ce)
local Ec,Ed=ARGV[Ce],Ce
while ARGV[Ed+1]==''do
Ed=Ed-4
end
local Ax,Ai,Ee=unpack(ARGV,Ed+1,Ed+3)
local Aj,Ak,Am,An=string.match(Ai,'^(%a) (%d+) (%d+) (%S*) ')
local Cc,Cd,Cw,Cq,Cx,Bp=
string.match(Ee,'^([01]) (%d*) ?(%S*) ?(%d*) ?(%d*) ?(%d*)$')
return{
At=string.sub(Ec,1,32),Aj=Aj,Cc=Cc=='1',Ak=Ak,Cd=Cd,
Bx=Ax-Am,Am=tonumber(Am),An=An,Ai=Ai,Au=string.sub(Ec,33),
Cw=Cw~=''and Cw,Cq=Cq,Cx=tonumber(Cx),Bp=tonumber(Bp),
}
end
local function Ef(Bf,R,An)
return{'granted',R,math.max(1,Be(Bf,An))}
end
local function Eg(Bf,At)
if Bf.Az then
return Bf.Az.At==At
end
return Bf.Ba and call('HGET',V,At)
end
local function Eh(Ei,Cb,Bf,Ej)
local Az,Dg=Bf.Az,nil
if Az then
local Ek=Az.Aw and'holding'or'closed'
Dg={string.sub(Az.At,1,8),Ek,Az.Av,Az.Ax,'',Az.Ai}
else
local Ak=Cb.Aj=='p'and Bf.Ba=='p'
local Bk=Ej and'~'..Cb.At
or Ak and By(Bn)
or call('ZREVRANGE',U,0,0)[1]
local El,Ek,Av,Ax,Ai=Bz(Bk,Bn)
if Ak and Ab then
Ax=0
end
Dg={El,Ek,Av,Ax,Bf.Bb,Ai}
end
for _,Bd in ipairs(Dg)do
Ei[#Ei+1]=Bd
end
return Ei
end
local function Em(Cb,Bf)
if Cm(Cb.At)then
Dk(Bf,Bn)
end
end
local function En(Bf)
if Bf.Az and Bf.Az.Au=='-'and not Bf.Az.As then
call('SETRANGE',T,32,'+')
end
end
local Eo=0
local function Ep(Cb,Bf)
local J=call('ZREVRANGE',X,0,0,'WITHSCORES')[2]or 0
local Bb=math.max(J+1,Eo+1,F())
if M and M>0 then
Bb=M+at-1
else
Eo=Bb
end
local Cu=string.format('%.0f',Bb)
call('ZADD',X,Cu,Cb.At)
local Cc=Cb.Cc and'1'or'0'
local Eq={
Cu,'0',Cb.Cw,Cb.Cq,Cb.Cx,Cb.Cd,Cc,Cb.Ai,
}
call('HSET',Y,Cb.At,table.concat(Eq,' '))
En(Bf)
end
local function Er(At,Bf)
if call('ZSCORE',X,At)or not call('ZSCORE',Z,At)or Aw(Bf,At)then
return
end
local Ct=call('HGET',Y,At)
if not Ct then
Cm(At)
return
end
call('ZREM',Z,'!'..At)
local Cu,Cy=string.match(Ct,'^(%d+) %d (.*)$')
call('HSET',Y,At,Cu..' 1 '..Cy)
call('ZADD',X,Cu,At)
call('PEXPIREAT',X,call('ZREVRANGE',Z,0,0,'WITHSCORES')[2])
En(Bf)
end
local function Es(Cb)
call('ZADD',Z,Bn+Cb.Cx,Cb.At)
local Bo=call('ZREVRANGE',Z,0,0,'WITHSCORES')[2]
for _,Ae in ipairs({X,Y,Z})do
call('PEXPIREAT',Ae,Bo)
end
end
local function Et(Cb,Bf,Eu)
local Ev=call('ZRANK',X,Cb.At)
if Ev then
call('PEXPIRE',X,Cb.Cx)
elseif Eu>=Cb.Bp and not Ac then
return{'full',Eu}
else
Ep(Cb,Bf)
Ev=call('ZRANK',X,Cb.At)
end
Es(Cb)
return Eh({'queued',Ev},Cb,Bf)
end
local function Ew(Cb,Bf,R)
local Ex=Cl(Cb,Bf,R,Bn)
if not Ex.Az then
Bv()
end
return Ef(Ex,R,Cb.An)
end
local function Ey(Cb)
local At=Cb.At
local Bf=Br(call('GET',T),Bn,At)
if not Bf then
return Af()
end
if Bf.Az and Bf.Az.Ax<0 then
return Af('a lock without an end')
end
local Eu=0
local Ez=Co(Bn)
if Ez then
Er(At,Bf)
Bf=Dk(Bf,Bn,At)
Eu=call('ZCARD',X)
end
if Aw(Bf,At)then
local R,An=Bw(Bf,At,Cb.Bx,Bn)
if Ez then
Cm(At)
end
return Ef(Bf,R,An)
end
if Eg(Bf,At)then
return Eh({'refused'},Cb,Bf,true)
end
local Dz,Fa,Fb,Fc=Ca(Cb,Bf)
if Dz=='deadlock'or Dz=='mismatch'then
Em(Cb,Bf)
return{Dz,Fa,Fb,Fc}
end
if Dz=='passes'or Dz=='fits'and(Eu==0 or not Bf.Ba)then
local R=Cg(Bf)
if not R then
return Ch()
end
if Eu>0 then
Cm(At)
end
return Ew(Cb,Bf,R)
end
if Cb.Cw then
return Et(Cb,Bf,Eu)
end
local Fd=Eh({'refused'},Cb,Bf)
Em(Cb,Bf)
return Fd
end
local function Fe(Bf,At,Ai)
if Bf.Az then
call('DEL',T)
return{}
end
call('ZREM',U,At,'~'..At)
Bg(Ai)
Bh(At,Ai)
if call('ZCARD',U)==0 then
Bi()
return{}
end
Bv()
return Bf
end
local function Ff(Bf,At,An,Fg)
Cm(At)
if not Aw(Bf,At)then
return{'not_held',Be(Bf,An)},Bf
end
local Ai=Bf.Az and Bf.Az.Ai or call('HGET',V,At)
local _,_,_,_,Fh=Ah(Ai)
Bf=Fg(Bf,At,Ai)
local Av=Be(Bf,Fh)
return Av>0 and{'still_held',Av}or 1,Bf
end
local function Fi(i)
on(KEYS[i])
local Cb=Eb(2+B*(i-1))
Cb.Cw=nil
return Cb
end
local function Fj(i)
local Cb=Fi(i)
local Bf=Br(call('GET',T),Bn,Cb.At)
D[i]=Bf and Aw(Bf,Cb.At)
return Ey(Cb)
end
local function Fk(i)
local Cb=Fi(i)
local Bf=Br(call('GET',T),Bn,Cb.At)
local Eu=Co(Bn)
local _,Ex=Ff(Bf,Cb.At,Cb.An,Fe)
if Eu then
Dk(Ex,Bn)
end
end
for i=1,#KEYS-1 do
local Dm,Ei=pcall(Fj,i)
if not Dm then
Ei={'error',type(Ei)=='table'and Ei.err or Ei}
end
if Ei[1]~='granted'then
for P=i-1,1,-1 do
if not D[P]and not pcall(Fk,P)then
Ei={'error','what was granted could not be taken back'}
end
end
return{ARGV[1],i,Ei}
end
C[i+2]=Ei
end
return C
