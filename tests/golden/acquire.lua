local call,A=redis.call,redis.pcall
local B,C,D=4,{ARGV[1]},{}
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
if#ARGV>2+B*(#KEYS-1)then
local R=ARGV[#ARGV]=='0'and 1000000 or math.min(1000000,500*ARGV[#ARGV])
L=math.min(ARGV[#ARGV-1],F()+R)-1
C[#KEYS+1]=F()
local S=A('GET',KEYS[#KEYS]..'recovered')
C[#KEYS+2]=type(S)=='string'and S or''
end
local T={}
for i=1,#KEYS-1 do
T[2*i-1],T[2*i]=KEYS[i],KEYS[i]..':p'
end
local U,V=A('EXISTS',unpack(T))==0,{}
local function W(X)
if U then
return not V[X]
end
return#KEYS>2 and A('EXISTS',X,X..':p')==0
end
local Y,Z
for i=1,#KEYS-1 do
local X,Aa,Ab=KEYS[i],2+B*(i-1),nil
local Ac=ARGV[Aa]
if#Ac==33 and not D[X]then
if W(X)then
local P=J and not L and J+1 or M(i)
if P and(P<=K or pcall(O,P))then
J,V[X]=P,true
local Ad=P%10000
if P-Ad~=Y then
Y=P-Ad
Z=string.format('%.0f',Y/10000)
end
local Ae=Ad<1000 and string.format('%.0f',P)or Z..Ad
local Af=Ac..Ae..' '..ARGV[Aa+2]
Ab=A('SET',X,Af,'PX',ARGV[Aa+1]).ok and P
end
else
local Af=A('GET',X)
if type(Af)=='string'and string.sub(Af,1,32)==string.sub(Ac,1,32)then
local Ag,P=string.match(Af,'^([-+])(%d+) x 1 0  ',33)
Ab=P and A('PEXPIRE',X,ARGV[Aa+1])==1 and tonumber(P)
if Ab and Ag=='+'then
local Ah=string.sub(Ac,1,32)
if A('ZREM',X..':p',Ah,'!'..Ah)~=0 then
A('HDEL',X..':w',Ah)
end
end
end
end
end
if Ab then
C[i+1]=Ab
else
D[#D+1],D[X]=i,true
end
end
if not D[1]then
return C
end
local X,Ai,Aj,Ak,Al,Am,An
local Ao,Ap,Aq,Ar=320,false,false,false
local function on(As)
Ao,Ap,Aq,Ar=math.max(Ao,5),false,false,false
X,Ai,Aj,Ak=As,As..':h',As..':d',As..':o'
Al,Am,An=As..':q',As..':w',As..':p'
end
local function At(Au)
return{'corrupt',Au or'a value that is no lock'}
end
local function Av(Aw)
local P,Ax,Ay,Az,Ba,Bb=string.match(Aw,'^(%d+) (%a) (%d+) (!?)(%d+) (%S*) ')
return P,Ax,Ay,Az==''and Ba or'0',Bb
end
local function Bc(Aw)
return(string.gsub(Aw,'^(%d+ %a %d+ )!','%1'))
end
local function Bd(Af)
return string.match(Af,'^%*([spx])(%d*)$')
end
local function Be(Af)
local Bf,Ah,Ag,Aw=string.match(Af,'^(~?)(%x+)([-+])(.*)$')
if not Ah or#Ah~=32 then
return nil
end
local P,Ax,_,Ba,Bb=Av(Aw)
if Ax~='x'then
return nil
end
local Bg=call('PTTL',X)
Ba=tonumber(Ba)
local Bh=Bf==''and Bg>Ba
return{
Ah=Ah,Bf=Bf~='',Ag=Ag,Aw=Aw,P=P,Ba=Ba,Bb=Bb,
Bh=Bh,Bi=Bg,Bg=Bh and Bg-Ba or Bg,
}
end
local function Bj(Af)
if not Af then
return{}
end
if string.sub(Af,1,1)~='*'then
local Bk=Be(Af)
return Bk and{Bl='x',Bm='',Bk=Bk,P=Bk.P}
end
local Bl,Bm=Bd(Af)
return Bl and{Bl=Bl,Bm=Bm,P=Bl=='x'and Bm or nil}
end
local function Bn(Bo,by)
local Bm=call('HINCRBY',Ak,Bo,by)
if Bm<=0 then
call('HDEL',Ak,Bo)
end
end
local function Bp(Bq,Bb)
if Bb==''then
return 0
end
if Bq.Bk then
return Bq.Bk.Bh and Bq.Bk.Bb==Bb and 1 or 0
end
return tonumber(call('HGET',Ak,'o'..Bb)or 0)
end
local function Br(Aw)
local _,Ax,Ay,_,Bb=Av(Aw)
if Bb~=''then
Bn('o'..Bb,-1)
if Ax=='p'then
Bn('p'..Bb,-Ay)
end
end
end
local function Bs(Ah,Aw)
local _,Ax,Ay=Av(Aw)
if Ax=='p'then
Bn('used',-Ay)
end
call('HDEL',Aj,Ah)
end
local function Bt()
call('UNLINK',X,Ai,Aj,Ak)
end
local function Bu(Bv)
local Ah=string.sub(Bv,-32)
local Aw=call('HGET',Aj,Ah)
local Bw=Bv==Ah
if Aw then
local _,_,_,Ba=Av(Aw)
if Bw then
Br(Aw)
end
if not Bw or Ba=='0'then
Bs(Ah,Aw)
end
end
end
local function Bx(By)
local Bz=call('ZREVRANGE',Ai,0,0,'WITHSCORES')[2]
if not Bz or tonumber(Bz)<=By then
Bt()
return false
end
local Ca=math.max(1,math.ceil(Ao/3))
local Cb=call('ZRANGEBYSCORE',Ai,'-inf',By,'LIMIT',0,Ca)
if Cb[1]then
call('ZREM',Ai,unpack(Cb))
Ap=#Cb==Ca
Ao=Ao-3*#Cb
end
for _,Bv in ipairs(Cb)do
Bu(Bv)
end
return true
end
local function Cc(Af,By,Ah)
local Bq=Bj(Af)
if Bq and Bq.Bl and not Bq.Bk then
if not Bx(By)then
return{}
end
if Ap and Ah then
for _,Bv in ipairs({Ah,'~'..Ah})do
local Cd=call('ZSCORE',Ai,Bv)
if Cd and tonumber(Cd)<=By then
call('ZREM',Ai,Bv)
Bu(Bv)
end
end
end
end
return Bq
end
local function Bh(Bq,Ah)
if Bq.Bk then
return Bq.Bk.Bh and Bq.Bk.Ah==Ah
end
return Bq.Bl and call('ZSCORE',Ai,Ah)
end
local function Ce(Ah,Cf,Ba)
call('ZADD',Ai,Cf,Ah)
if Ba>0 then
call('ZADD',Ai,Cf+Ba,'~'..Ah)
end
end
local function Cg()
local Bz=call('ZREVRANGE',Ai,0,0,'WITHSCORES')[2]
for _,As in ipairs({X,Ai,Aj,Ak})do
call('PEXPIREAT',As,Bz)
end
end
local function Ch(Bq,Ah,Ci,By)
local N=Bq.Bk and Bq.Bk.Aw or call('HGET',Aj,Ah)
local Aw=Bc(N)
local P,_,_,Ba,Bb=Av(Aw)
Ba=tonumber(Ba)
call('PEXPIRE',X,Ci+Ba)
if Bq.Bk then
if Aw~=N then
call('SET',X,Ah..'+'..Aw,'PX',Ci+Ba)
end
return P,Bb
end
if Aw~=N then
call('HSET',Aj,Ah,Aw)
end
Ce(Ah,By+Ci,Ba)
Cg()
return P,Bb
end
local function Cj(By)
return call('ZRANGEBYSCORE',Ai,'('..string.format('%.0f',By),'+inf','LIMIT',0,1)[1]
end
local function Ck(Bv,By)
local Ah=string.sub(Bv,-32)
local Bw=call('ZSCORE',Ai,Ah)
local Bi=call('ZSCORE',Ai,'~'..Ah)or Bw
local Bq=Bw and'holding'or'closed'
return string.sub(Ah,1,8),Bq,(Bw or Bi)-By,Bi-By,call('HGET',Aj,Ah)
end
local function Cl(Cm,Bq)
local Ax,Bl,Bm=Cm.Ax,Bq.Bl,Bq.Bm
if not Bl then
return'fits'
end
if not Ap and Bp(Bq,Cm.Bb)>0 then
if Bl=='x'and Ax=='x'and Cm.Cn or Bl=='s'and Ax=='s'then
return'passes'
elseif Bl=='x'then
return'deadlock','x',1,''
elseif Ax=='x'then
return'deadlock',Bl,call('HGET',Ak,'p'..Cm.Bb)or 1,Bm
end
end
if Ax=='x'or Bl=='x'then
return'in_the_way'
end
if Ax~=Bl or Cm.Co~=Bm then
local Aa=Cj(H(F()))
local _,_,Cp=Av(call('HGET',Aj,string.sub(Aa,-32)))
return'mismatch',Bl,Cp,Bm
end
local Cp=Bl=='p'and call('HGET',Ak,'used')or 0
return(Bl=='s'or Cp+Cm.Ay<=tonumber(Bm))and'fits'or'in_the_way'
end
local function Cq(Bq)
local P=Bq.P or M()
return P and(Bq.P or string.format('%.0f',P))
end
local function Cr()
return At('the fence counter is not a number that can grow')
end
local function Cs()
if call('ZCARD',Ai)+call('HLEN',Aj)+call('HLEN',Ak)>0 then
call('UNLINK',Ai,Aj,Ak)
end
end
local function Ct(Bk,By)
Cs()
call('SET',X,'*x'..Bk.P,'PX',Bk.Bi)
call('HSET',Aj,Bk.Ah,Bk.Aw)
Ce(Bk.Ah,By+Bk.Bg,Bk.Ba)
Bn('o'..Bk.Bb,1)
end
local function Cu(Cm,P)
local Ci,Ba,Aw=Cm.Ci,Cm.Ba,P..' '..Cm.Aw
call('SET',X,Cm.Ah..Cm.Ag..Aw,'PX',Ci+Ba)
local Bk={
Ah=Cm.Ah,Bf=false,Ag=Cm.Ag,Aw=Aw,P=P,Ba=Ba,
Bb=Cm.Bb,Bh=true,Bi=Ci+Ba,Bg=Ci,
}
return{Bl='x',Bm='',Bk=Bk,P=P}
end
local function Cv(Cm,Bq,P,By)
local Ah,Bb=Cm.Ah,Cm.Bb
if P~=Bq.P then
O(tonumber(P))
end
if not Bq.Bl and Cm.Ax=='x'then
return Cu(Cm,P)
end
if Bq.Bk then
Ct(Bq.Bk,By)
elseif not Bq.Bl then
Cs()
call('SET',X,'*'..Cm.Ax..Cm.Co,'PX',Cm.Ci+Cm.Ba)
end
Ce(Ah,By+Cm.Ci,Cm.Ba)
call('HSET',Aj,Ah,P..' '..Cm.Aw)
if Cm.Ax=='p'then
Bn('used',Cm.Ay)
end
if Bb~=''then
Bn('o'..Bb,1)
if Cm.Ax=='p'then
Bn('p'..Bb,Cm.Ay)
end
end
if Cm.Ax=='x'then
return{Bl='x',Bm=P,P=P}
end
return{Bl=Cm.Ax,Bm=Cm.Co}
end
local function Cw(Ah)
if call('ZREM',An,Ah,'!'..Ah)==0 then
return false
end
call('HDEL',Am,Ah)
return call('ZREM',Al,Ah)==1
end
local function Cx()
return string.match(call('HGET',Am,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function Cy(By)
if call('EXISTS',An)==0 then
return false
end
local Ca=math.max(1,Ao)
local Cb=call('ZRANGEBYSCORE',An,'-inf',By,'LIMIT',0,Ca)
Aq=#Cb==Ca
Ao=Ao-#Cb
for _,Bv in ipairs(Cb)do
local Ah=string.match(Bv,'^!(.*)')
if not Ah then
Cw(Bv)
else
local Cz=call('ZSCORE',An,Ah)
if Cz and tonumber(Cz)>By then
local Da=string.match(call('HGET',Am,Ah)or'','^%d+ %d %S+ (%d+)')
local Db=Da and call('ZSCORE',An,Bv)-Da
Ar=Ar or Db and Db>=tonumber((Cx()))
end
call('ZREM',An,Bv)
end
end
return true
end
local function Dc(Ah,Dd)
local De,Df,Dg,Da,Dh,Co,Cn,Aw=string.match(
Dd or'','^(%d+) ([01]) (%S+) (%d+) (%d+) (%d*) ([01]) (.*)$'
)
if not Dg then
return nil
end
local Ax,Ay,Ba,Bb,Di=string.match(Aw,'^(%a) (%d+) (%d+) (%S*) (.*)$')
local Dj=Ba~='0'
return{
Ah=Ah,Ax=Ax,Cn=Cn=='1',Ay=Ay,Co=Co,Bb=Bb,
Aw=string.format('%s %s %s%s %s ',Ax,Ay,Dj and'!'or'',Ba,Bb)..Di,
Ci=tonumber(Da),Ba=0,Ag=Dj and'+'or'-',Dg=Dg,De=tonumber(De),
Dh=tonumber(Dh),Df=Df=='1',
}
end
local function Dk(Dg,Au)
local Dl=A('PUBLISH',Dg,Au)
return type(Dl)~='number'or Dl>0
end
local function Dm(Ah)
return string.match(call('HGET',Am,Ah)or'','^%d+ %d (%S+)')
end
local function Dn(Do,Au)
local Dp,Dq=8,nil
for _,Ah in ipairs(call('ZRANGE',Al,0,Dp))do
if Ah~=Do and Dp>0 then
Dp=Dp-1
local Dg=Dm(Ah)
if Dg and Dk(Dg,Au..Ah)then
Dq=Dg
break
end
end
end
local J=call('ZREVRANGE',Al,0,0)[1]
local Dg=J and J~=Do and Dm(J)
if Dg and Dg~=Dq then
Dk(Dg,Au..J)
end
end
local function Dr(Do,By,N)
local Ds=call('ZREVRANGE',An,0,0,'WITHSCORES')[2]
if not Ds then
return
end
local Dt=0
for _,Ah in ipairs(call('ZRANGE',Al,0,319))do
local De,Dg=string.match(call('HGET',Am,Ah)or'','^(%d+) %d (%S+)')
if Dg then
Dt=De
if Ah~=Do then
Dk(Dg,'!'..Ah)
end
end
end
call('HSET',Am,'?',string.format('%.0f %s %s',By,Dt,N))
call('PEXPIREAT',Am,Ds)
end
local function Du(Bq,By,Do)
local Dv,Dw,Dx,Dy=Ar,false,false,false
local Dz,Ea,Eb,Ec=Cx()
if Dv then
Ao=math.max(5,Ao-260)
Ar,Eb,Ec=false,Dz,Ea
end
Ao=math.max(5,Ao)
local N=Eb..' '..Ec
Eb,Ec=tonumber(Eb),tonumber(Ec)
local Ed,at,B,Ee,Ef={},0,0,0,{}
while true do
if Bq.Bk and Bq.Bk.Bb==''then
break
end
at=at+1
if at>B then
if Ef[1]then
call('ZREM',Al,unpack(Ef))
Ef={}
end
local Ca=math.min(math.max(Ee,1),64)
Ed=call('ZRANGE',Al,0,Ca)
if not Ed[1]then
break
end
B,at=math.min(#Ed,Ca),1
end
local Eg,Eh=Ed[at],Ed[at+1]
local Dd=call('HGET',Am,Eg)
local Cm=Dc(Eg,Dd)
local Ei=math.floor(#(Dd or'')/256)
local Cz=Cm and(Aq or Cm.De<=Ec)and call('ZSCORE',An,Eg)
if not Cm or Aq and Cz and tonumber(Cz)<=By then
if Ao<=0 then
Dy=true
break
end
Ao=Ao-1-Ei
Ef[#Ef+1]=Eg
Cw(Eg)
else
local Ej=Cl(Cm,Bq)
local P=(Ej=='fits'or Ej=='passes')and Cq(Bq)
if not P then
break
end
if Ao<=0 then
Dy=true
break
end
if Ee==0 then
call('ZREM',Al,Eg)
else
Ef[#Ef+1]=Eg
end
local Dl=Eg==Do
local Ek=Cm.De<=Ec and Cz
if not Dl and not(Ek and Cz-Cm.Dh<Eb)then
Dl=Dk(Cm.Dg,Eg)or Cm.Df
end
if not Dl then
Ao,Ee=Ao-1-Ei,Ee+1
else
Ao,Ee=Ao-5-Ei,0
if Ef[1]then
call('ZREM',Al,unpack(Ef))
Ef={}
end
if Eg==Do then
Cw(Eg)
else
call('ZADD',An,By+Cm.Ci,'!'..Eg)
Dx=true
end
if Eh or Dx then
Cm.Ag='+'
end
Bq=Cv(Cm,Bq,P,By)
Dw=true
end
end
end
if Ef[1]then
call('ZREM',Al,unpack(Ef))
end
if Dv then
Dr(Do,By,N)
elseif Dy then
Dn(Do,'!')
elseif Dx then
Dn(Do,'?')
end
if Dw and not Bq.Bk then
Cg()
end
return Bq
end
local By=H(F())
local function El(Aa)
local Ac,Bi,Aw,Em=unpack(ARGV,Aa,Aa+3)
local Ax,Ay,Ba,Bb=string.match(Aw,'^(%a) (%d+) (%d+) (%S*) ')
local Cn,Co,Dg,Da,Dh,Ca=
string.match(Em,'^([01]) (%d*) ?(%S*) ?(%d*) ?(%d*) ?(%d*)$')
return{
Ah=string.sub(Ac,1,32),Ax=Ax,Cn=Cn=='1',Ay=Ay,Co=Co,
Ci=Bi-Ba,Ba=tonumber(Ba),Bb=Bb,Aw=Aw,Ag=string.sub(Ac,33),
Dg=Dg~=''and Dg,Da=Da,Dh=tonumber(Dh),Ca=tonumber(Ca),
}
end
local function En(Bq,P,Bb)
return{'granted',P,math.max(1,Bp(Bq,Bb))}
end
local function Eo(Bq,Ah)
if Bq.Bk then
return Bq.Bk.Ah==Ah
end
return Bq.Bl and call('HGET',Aj,Ah)
end
local function Ep(Ab,Cm,Bq,Eq)
local Bk,Dq=Bq.Bk,nil
if Bk then
local Er=Bk.Bh and'holding'or'closed'
Dq={string.sub(Bk.Ah,1,8),Er,Bk.Bg,Bk.Bi,'',Bk.Aw}
else
local Ay=Cm.Ax=='p'and Bq.Bl=='p'
local Bv=Eq and'~'..Cm.Ah
or Ay and Cj(By)
or call('ZREVRANGE',Ai,0,0)[1]
local Es,Er,Bg,Bi,Aw=Ck(Bv,By)
if Ay and Ap then
Bi=0
end
Dq={Es,Er,Bg,Bi,Bq.Bm,Aw}
end
for _,Bo in ipairs(Dq)do
Ab[#Ab+1]=Bo
end
return Ab
end
local function Et(Cm,Bq)
if Cw(Cm.Ah)then
Du(Bq,By)
end
end
local function Eu(Bq)
if Bq.Bk and Bq.Bk.Ag=='-'and not Bq.Bk.Bf then
call('SETRANGE',X,32,'+')
end
end
local function Ev(Cm,Bq)
local J=call('ZREVRANGE',Al,0,0,'WITHSCORES')[2]or 0
local De=string.format('%.0f',math.max(J+1,F()))
call('ZADD',Al,De,Cm.Ah)
local Cn=Cm.Cn and'1'or'0'
local Ew={
De,'0',Cm.Dg,Cm.Da,Cm.Dh,Cm.Co,Cn,Cm.Aw,
}
call('HSET',Am,Cm.Ah,table.concat(Ew,' '))
Eu(Bq)
end
local function Ex(Ah,Bq)
if call('ZSCORE',Al,Ah)or not call('ZSCORE',An,Ah)or Bh(Bq,Ah)then
return
end
local Dd=call('HGET',Am,Ah)
if not Dd then
Cw(Ah)
return
end
call('ZREM',An,'!'..Ah)
local De,Di=string.match(Dd,'^(%d+) %d (.*)$')
call('HSET',Am,Ah,De..' 1 '..Di)
call('ZADD',Al,De,Ah)
call('PEXPIREAT',Al,call('ZREVRANGE',An,0,0,'WITHSCORES')[2])
Eu(Bq)
end
local function Ey(Cm)
call('ZADD',An,By+Cm.Dh,Cm.Ah)
local Bz=call('ZREVRANGE',An,0,0,'WITHSCORES')[2]
for _,As in ipairs({Al,Am,An})do
call('PEXPIREAT',As,Bz)
end
end
local function Ez(Cm,Bq,Fa)
local R=call('ZRANK',Al,Cm.Ah)
if R then
call('PEXPIRE',Al,Cm.Dh)
elseif Fa>=Cm.Ca and not Aq then
return{'full',Fa}
else
R=Fa
Ev(Cm,Bq)
end
Ey(Cm)
return Ep({'queued',R},Cm,Bq)
end
local function Fb(Cm,Bq,P)
local Fc=Cv(Cm,Bq,P,By)
if not Fc.Bk then
Cg()
end
return En(Fc,P,Cm.Bb)
end
local function Fd(Cm)
local Ah=Cm.Ah
local Bq=Cc(call('GET',X),By,Ah)
if not Bq then
return At()
end
if Bq.Bk and Bq.Bk.Bi<0 then
return At('a lock without an end')
end
local Fa=0
local Fe=Cy(By)
if Fe then
Ex(Ah,Bq)
Bq=Du(Bq,By,Ah)
Fa=call('ZCARD',Al)
end
if Bh(Bq,Ah)then
local P,Bb=Ch(Bq,Ah,Cm.Ci,By)
if Fe then
Cw(Ah)
end
return En(Bq,P,Bb)
end
if Eo(Bq,Ah)then
return Ep({'refused'},Cm,Bq,true)
end
local Ej,Ff,Fg,Fh=Cl(Cm,Bq)
if Ej=='deadlock'or Ej=='mismatch'then
Et(Cm,Bq)
return{Ej,Ff,Fg,Fh}
end
if Ej=='passes'or Ej=='fits'and(Fa==0 or not Bq.Bl)then
local P=Cq(Bq)
if not P then
return Cr()
end
if Fa>0 then
Cw(Ah)
end
return Fb(Cm,Bq,P)
end
if Cm.Dg then
return Ez(Cm,Bq,Fa)
end
local Fi=Ep({'refused'},Cm,Bq)
Et(Cm,Bq)
return Fi
end
local function Fj(Aa)
at=(Aa-2)/B+1
return Fd(El(Aa))
end
Ao=Ao-math.floor(#D/3)
for _,i in ipairs(D)do
local Ab='later'
if Ao>0 then
on(KEYS[i])
local Dw
Dw,Ab=pcall(Fj,2+B*(i-1))
if not Dw then
Ab={'error',type(Ab)=='table'and Ab.err or Ab}
end
Ao=Ao-35
end
C[i+1]=Ab
end
return C
