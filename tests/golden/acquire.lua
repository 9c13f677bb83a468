local call,A=redis.call,redis.pcall
local function B(C,D)
return math.min(C,D+(ARGV[#ARGV]=='0'and 1000000 or math.min(1000000,500*ARGV[#ARGV])))
end
local E=#KEYS==2 and A('EXISTS',KEYS[1],KEYS[1]..':p')==0
if E and#ARGV[2]==33 then
local F,G,H=KEYS[2]..'fence',ARGV[7]and ARGV[6],ARGV[#ARGV]
local I,D=tonumber(A('GET',F)or 0),call('TIME')
local J=D[1]*1000000+D[2]
if I and I<9000000000000000 then
local C=math.max(I+1,J,G and B(G,J)or 0)
local K,L=string.format('%.0f',C),nil
if H=='0'then
L=A('SET',F,K)
else
L=A('SET',F,K,'PX',H)
end
if L.ok and A('SET',KEYS[1],ARGV[2]..K..' '..ARGV[4],'PX',ARGV[3]).ok then
if not G then
return{ARGV[1],C}
end
local M=A('GET',KEYS[2]..'recovered')
return{ARGV[1],C,J,type(M)=='string'and M or''}
end
end
end
local N,O,P=4,{ARGV[1]},{}
local Q
local function R()
if not Q then
local D=call('TIME')
Q=D[1]*1000000+D[2]
end
return Q
end
local function S(us)
return math.floor(us/1000)
end
local F,T,L,at,U=KEYS[#KEYS]..'fence',nil,0,nil,nil
local function V(i)
if not T then
local I=tonumber(A('GET',F)or 0)
if not I or not(I<9000000000000000)then
return nil
end
T=math.max(I,R()-1)
end
return U and math.max(T+1,U+(i or at))or T+1
end
local function W(C)
if C>L then
local X=C+#KEYS-2
if ARGV[#ARGV]=='0'then
call('SET',F,X)
else
call('SET',F,X,'PX',ARGV[#ARGV])
end
L=X
end
T=C
end
if#ARGV>2+N*(#KEYS-1)then
U=B(ARGV[#ARGV-1],R())-1
O[#KEYS+1]=R()
local M=A('GET',KEYS[#KEYS]..'recovered')
O[#KEYS+2]=type(M)=='string'and M or''
end
if#KEYS>2 then
local Y={}
for i=1,#KEYS-1 do
Y[2*i-1],Y[2*i]=KEYS[i],KEYS[i]..':p'
end
E=A('EXISTS',unpack(Y))==0
end
local Z={}
local function Aa(Ab)
if E then
return not Z[Ab]
end
return#KEYS>2 and A('EXISTS',Ab,Ab..':p')==0
end
local Ac,Ad,Ae,Af
for i=1,#KEYS-1 do
local Ab,Ag,Ah=KEYS[i],2+N*(i-1),nil
local Ai=ARGV[Ag]
if ARGV[Ag+1]~=''then
Ae,Af=ARGV[Ag+1],ARGV[Ag+2]
end
if#Ai==33 and not P[Ab]then
if Aa(Ab)then
local C=T and not U and T+1 or V(i)
if C and(C<=L or pcall(W,C))then
T,Z[Ab]=C,true
local Aj=C%10000
if C-Aj~=Ac then
Ac=C-Aj
Ad=string.format('%.0f',Ac/10000)
end
local Ak=Ai..Ad..string.format('%04d',Aj)..' '..Af
Ah=A('SET',Ab,Ak,'PX',Ae).ok and C
end
else
local Ak=A('GET',Ab)
if type(Ak)=='string'and string.sub(Ak,1,32)==string.sub(Ai,1,32)then
local Al,C=string.match(Ak,'^([-+])(%d+) x 1 0  ',33)
Ah=C and A('PEXPIRE',Ab,Ae)==1 and tonumber(C)
if Ah and Al=='+'then
local Am=string.sub(Ai,1,32)
if A('ZREM',Ab..':p',Am,'!'..Am)~=0 then
A('HDEL',Ab..':w',Am)
end
end
end
end
end
if Ah then
O[i+1]=Ah
else
P[#P+1],P[Ab]=i,true
end
end
if not P[1]then
return O
end
local Ab,An,Ao,Ap,Aq,Ar,As
local At,Au,Av,Aw=320,false,false,false
local function on(Ax)
At,Au,Av,Aw=math.max(At,5),false,false,false
Ab,An,Ao,Ap=Ax,Ax..':h',Ax..':d',Ax..':o'
Aq,Ar,As=Ax..':q',Ax..':w',Ax..':p'
end
local function Ay(Az)
return{'corrupt',Az or'a value that is no lock'}
end
local function Ba(Af)
local C,Bb,Bc,Bd,Be,Bf=string.match(Af,'^(%d+) (%a) (%d+) (!?)(%d+) (%S*) ')
return C,Bb,Bc,Bd==''and Be or'0',Bf
end
local function Bg(Af)
return(string.gsub(Af,'^(%d+ %a %d+ )!','%1'))
end
local function Bh(Ak)
return string.match(Ak,'^%*([spx])(%d*)$')
end
local function Bi(Ak)
local Bj,Am,Al,Af=string.match(Ak,'^(~?)(%x+)([-+])(.*)$')
if not Am or#Am~=32 then
return nil
end
local C,Bb,_,Be,Bf=Ba(Af)
if Bb~='x'then
return nil
end
local Bk=call('PTTL',Ab)
Be=tonumber(Be)
local Bl=Bj==''and Bk>Be
return{
Am=Am,Bj=Bj~='',Al=Al,Af=Af,C=C,Be=Be,Bf=Bf,
Bl=Bl,Ae=Bk,Bk=Bl and Bk-Be or Bk,
}
end
local function Bm(Ak)
if not Ak then
return{}
end
if string.sub(Ak,1,1)~='*'then
local Bn=Bi(Ak)
return Bn and{Bo='x',Bp='',Bn=Bn,C=Bn.C}
end
local Bo,Bp=Bh(Ak)
return Bo and{Bo=Bo,Bp=Bp,C=Bo=='x'and Bp or nil}
end
local function Bq(Br,by)
local Bp=call('HINCRBY',Ap,Br,by)
if Bp<=0 then
call('HDEL',Ap,Br)
end
end
local function Bs(Bt,Bf)
if Bf==''then
return 0
end
if Bt.Bn then
return Bt.Bn.Bl and Bt.Bn.Bf==Bf and 1 or 0
end
return tonumber(call('HGET',Ap,'o'..Bf)or 0)
end
local function Bu(Af)
local _,Bb,Bc,_,Bf=Ba(Af)
if Bf~=''then
Bq('o'..Bf,-1)
if Bb=='p'then
Bq('p'..Bf,-Bc)
end
end
end
local function Bv(Am,Af)
local _,Bb,Bc=Ba(Af)
if Bb=='p'then
Bq('used',-Bc)
end
call('HDEL',Ao,Am)
end
local function Bw()
call('UNLINK',Ab,An,Ao,Ap)
end
local function Bx(By)
local Am=string.sub(By,-32)
local Af=call('HGET',Ao,Am)
local Bz=By==Am
if Af then
local _,_,_,Be=Ba(Af)
if Bz then
Bu(Af)
end
if not Bz or Be=='0'then
Bv(Am,Af)
end
end
end
local function Ca(J)
local Cb=call('ZREVRANGE',An,0,0,'WITHSCORES')[2]
if not Cb or tonumber(Cb)<=J then
Bw()
return false
end
local Cc=math.max(1,math.ceil(At/3))
local Cd=call('ZRANGEBYSCORE',An,'-inf',J,'LIMIT',0,Cc)
if Cd[1]then
call('ZREM',An,unpack(Cd))
Au=#Cd==Cc
At=At-3*#Cd
end
for _,By in ipairs(Cd)do
Bx(By)
end
return true
end
local function Ce(Ak,J,Am)
local Bt=Bm(Ak)
if Bt and Bt.Bo and not Bt.Bn then
if not Ca(J)then
return{}
end
if Au and Am then
for _,By in ipairs({Am,'~'..Am})do
local Cf=call('ZSCORE',An,By)
if Cf and tonumber(Cf)<=J then
call('ZREM',An,By)
Bx(By)
end
end
end
end
return Bt
end
local function Bl(Bt,Am)
if Bt.Bn then
return Bt.Bn.Bl and Bt.Bn.Am==Am
end
return Bt.Bo and call('ZSCORE',An,Am)
end
local function Cg(Am,Ch,Be)
call('ZADD',An,Ch,Am)
if Be>0 then
call('ZADD',An,Ch+Be,'~'..Am)
end
end
local function Ci()
local Cb=call('ZREVRANGE',An,0,0,'WITHSCORES')[2]
for _,Ax in ipairs({Ab,An,Ao,Ap})do
call('PEXPIREAT',Ax,Cb)
end
end
local function Cj(Bt,Am,Ck,J)
local I=Bt.Bn and Bt.Bn.Af or call('HGET',Ao,Am)
local Af=Bg(I)
local C,_,_,Be,Bf=Ba(Af)
Be=tonumber(Be)
call('PEXPIRE',Ab,Ck+Be)
if Bt.Bn then
if Af~=I then
call('SET',Ab,Am..'+'..Af,'PX',Ck+Be)
end
return C,Bf
end
if Af~=I then
call('HSET',Ao,Am,Af)
end
Cg(Am,J+Ck,Be)
Ci()
return C,Bf
end
local function Cl(J)
return call('ZRANGEBYSCORE',An,'('..string.format('%.0f',J),'+inf','LIMIT',0,1)[1]
end
local function Cm(By,J)
local Am=string.sub(By,-32)
local Bz=call('ZSCORE',An,Am)
local Ae=call('ZSCORE',An,'~'..Am)or Bz
local Bt=Bz and'holding'or'closed'
return string.sub(Am,1,8),Bt,(Bz or Ae)-J,Ae-J,call('HGET',Ao,Am)
end
local function Cn(Co,Bt)
local Bb,Bo,Bp=Co.Bb,Bt.Bo,Bt.Bp
if not Bo then
return'fits'
end
if not Au and Bs(Bt,Co.Bf)>0 then
if Bo=='x'and Bb=='x'and Co.Cp or Bo=='s'and Bb=='s'then
return'passes'
elseif Bo=='x'then
return'deadlock','x',1,''
elseif Bb=='x'then
return'deadlock',Bo,call('HGET',Ap,'p'..Co.Bf)or 1,Bp
end
end
if Bb=='x'or Bo=='x'then
return'in_the_way'
end
if Bb~=Bo or Co.Cq~=Bp then
local Ag=Cl(S(R()))
local _,_,Cr=Ba(call('HGET',Ao,string.sub(Ag,-32)))
return'mismatch',Bo,Cr,Bp
end
local Cr=Bo=='p'and call('HGET',Ap,'used')or 0
return(Bo=='s'or Cr+Co.Bc<=tonumber(Bp))and'fits'or'in_the_way'
end
local function Cs(Bt)
local C=Bt.C or V()
return C and(Bt.C or string.format('%.0f',C))
end
local function Ct()
return Ay('the fence counter is not a number that can grow')
end
local function Cu()
if call('ZCARD',An)+call('HLEN',Ao)+call('HLEN',Ap)>0 then
call('UNLINK',An,Ao,Ap)
end
end
local function Cv(Bn,J)
Cu()
call('SET',Ab,'*x'..Bn.C,'PX',Bn.Ae)
call('HSET',Ao,Bn.Am,Bn.Af)
Cg(Bn.Am,J+Bn.Bk,Bn.Be)
Bq('o'..Bn.Bf,1)
end
local function Cw(Co,C)
local Ck,Be,Af=Co.Ck,Co.Be,C..' '..Co.Af
call('SET',Ab,Co.Am..Co.Al..Af,'PX',Ck+Be)
local Bn={
Am=Co.Am,Bj=false,Al=Co.Al,Af=Af,C=C,Be=Be,
Bf=Co.Bf,Bl=true,Ae=Ck+Be,Bk=Ck,
}
return{Bo='x',Bp='',Bn=Bn,C=C}
end
local function Cx(Co,Bt,C,J)
local Am,Bf=Co.Am,Co.Bf
if C~=Bt.C then
W(tonumber(C))
end
if not Bt.Bo and Co.Bb=='x'then
return Cw(Co,C)
end
if Bt.Bn then
Cv(Bt.Bn,J)
elseif not Bt.Bo then
Cu()
call('SET',Ab,'*'..Co.Bb..Co.Cq,'PX',Co.Ck+Co.Be)
end
Cg(Am,J+Co.Ck,Co.Be)
call('HSET',Ao,Am,C..' '..Co.Af)
if Co.Bb=='p'then
Bq('used',Co.Bc)
end
if Bf~=''then
Bq('o'..Bf,1)
if Co.Bb=='p'then
Bq('p'..Bf,Co.Bc)
end
end
if Co.Bb=='x'then
return{Bo='x',Bp=C,C=C}
end
return{Bo=Co.Bb,Bp=Co.Cq}
end
local function Cy(Am)
if call('ZREM',As,Am,'!'..Am)==0 then
return false
end
call('HDEL',Ar,Am)
return call('ZREM',Aq,Am)==1
end
local function Cz()
return string.match(call('HGET',Ar,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function Da(J)
if call('EXISTS',As)==0 then
return false
end
local Cc=math.max(1,At)
local Cd=call('ZRANGEBYSCORE',As,'-inf',J,'LIMIT',0,Cc)
Av=#Cd==Cc
At=At-#Cd
for _,By in ipairs(Cd)do
local Am=string.match(By,'^!(.*)')
if not Am then
Cy(By)
else
local Db=call('ZSCORE',As,Am)
if Db and tonumber(Db)>J then
local Dc=string.match(call('HGET',Ar,Am)or'','^%d+ %d %S+ (%d+)')
local Dd=Dc and call('ZSCORE',As,By)-Dc
Aw=Aw or Dd and Dd>=tonumber((Cz()))
end
call('ZREM',As,By)
end
end
return true
end
local function De(Am,Df)
local Dg,Dh,Di,Dc,Dj,Cq,Cp,Af=string.match(
Df or'','^(%d+) ([01]) (%S+) (%d+) (%d+) (%d*) ([01]) (.*)$'
)
if not Di then
return nil
end
local Bb,Bc,Be,Bf,Dk=string.match(Af,'^(%a) (%d+) (%d+) (%S*) (.*)$')
local Dl=Be~='0'
return{
Am=Am,Bb=Bb,Cp=Cp=='1',Bc=Bc,Cq=Cq,Bf=Bf,
Af=string.format('%s %s %s%s %s ',Bb,Bc,Dl and'!'or'',Be,Bf)..Dk,
Ck=tonumber(Dc),Be=0,Al=Dl and'+'or'-',Di=Di,Dg=tonumber(Dg),
Dj=tonumber(Dj),Dh=Dh=='1',
}
end
local function Dm(Di,Az)
local Dn=A('PUBLISH',Di,Az)
return type(Dn)~='number'or Dn>0
end
local function Do(Am)
return string.match(call('HGET',Ar,Am)or'','^%d+ %d (%S+)')
end
local function Dp(Dq,Az)
local Dr,Ds=8,nil
for _,Am in ipairs(call('ZRANGE',Aq,0,Dr))do
if Am~=Dq and Dr>0 then
Dr=Dr-1
local Di=Do(Am)
if Di and Dm(Di,Az..Am)then
Ds=Di
break
end
end
end
local T=call('ZREVRANGE',Aq,0,0)[1]
local Di=T and T~=Dq and Do(T)
if Di and Di~=Ds then
Dm(Di,Az..T)
end
end
local function Dt(Dq,J,I)
local Du=call('ZREVRANGE',As,0,0,'WITHSCORES')[2]
if not Du then
return
end
local Dv=0
for _,Am in ipairs(call('ZRANGE',Aq,0,319))do
local Dg,Di=string.match(call('HGET',Ar,Am)or'','^(%d+) %d (%S+)')
if Di then
Dv=Dg
if Am~=Dq then
Dm(Di,'!'..Am)
end
end
end
call('HSET',Ar,'?',string.format('%.0f %s %s',J,Dv,I))
call('PEXPIREAT',Ar,Du)
end
local function Dw(Bt,J,Dq)
local Dx,Dy,Dz,Ea=Aw,false,false,false
local Eb,Ec,Ed,Ee=Cz()
if Dx then
At=math.max(5,At-260)
Aw,Ed,Ee=false,Eb,Ec
end
At=math.max(5,At)
local I=Ed..' '..Ee
Ed,Ee=tonumber(Ed),tonumber(Ee)
local Ef,at,N,Eg,Eh={},0,0,0,{}
while true do
if Bt.Bn and Bt.Bn.Bf==''then
break
end
at=at+1
if at>N then
if Eh[1]then
call('ZREM',Aq,unpack(Eh))
Eh={}
end
local Cc=math.min(math.max(Eg,1),64)
Ef=call('ZRANGE',Aq,0,Cc)
if not Ef[1]then
break
end
N,at=math.min(#Ef,Cc),1
end
local Ei,Ej=Ef[at],Ef[at+1]
local Df=call('HGET',Ar,Ei)
local Co=De(Ei,Df)
local Ek=math.floor(#(Df or'')/256)
local Db=Co and(Av or Co.Dg<=Ee)and call('ZSCORE',As,Ei)
if not Co or Av and Db and tonumber(Db)<=J then
if At<=0 then
Ea=true
break
end
At=At-1-Ek
Eh[#Eh+1]=Ei
Cy(Ei)
else
local El=Cn(Co,Bt)
local C=(El=='fits'or El=='passes')and Cs(Bt)
if not C then
break
end
if At<=0 then
Ea=true
break
end
if Eg==0 then
call('ZREM',Aq,Ei)
else
Eh[#Eh+1]=Ei
end
local Dn=Ei==Dq
local Em=Co.Dg<=Ee and Db
if not Dn and not(Em and Db-Co.Dj<Ed)then
Dn=Dm(Co.Di,Ei)or Co.Dh
end
if not Dn then
At,Eg=At-1-Ek,Eg+1
else
At,Eg=At-5-Ek,0
if Eh[1]then
call('ZREM',Aq,unpack(Eh))
Eh={}
end
if Ei==Dq then
Cy(Ei)
else
call('ZADD',As,J+Co.Ck,'!'..Ei)
Dz=true
end
if Ej or Dz then
Co.Al='+'
end
Bt=Cx(Co,Bt,C,J)
Dy=true
end
end
end
if Eh[1]then
call('ZREM',Aq,unpack(Eh))
end
if Dx then
Dt(Dq,J,I)
elseif Ea then
Dp(Dq,'!')
elseif Dz then
Dp(Dq,'?')
end
if Dy and not Bt.Bn then
Ci()
end
return Bt
end
local J=S(R())
local function En(Ag)
local Ai,Eo=ARGV[Ag],Ag
while ARGV[Eo+1]==''do
Eo=Eo-4
end
local Ae,Af,Ep=unpack(ARGV,Eo+1,Eo+3)
local Bb,Bc,Be,Bf=string.match(Af,'^(%a) (%d+) (%d+) (%S*) ')
local Cp,Cq,Di,Dc,Dj,Cc=
string.match(Ep,'^([01]) (%d*) ?(%S*) ?(%d*) ?(%d*) ?(%d*)$')
return{
Am=string.sub(Ai,1,32),Bb=Bb,Cp=Cp=='1',Bc=Bc,Cq=Cq,
Ck=Ae-Be,Be=tonumber(Be),Bf=Bf,Af=Af,Al=string.sub(Ai,33),
Di=Di~=''and Di,Dc=Dc,Dj=tonumber(Dj),Cc=tonumber(Cc),
}
end
local function Eq(Bt,C,Bf)
return{'granted',C,math.max(1,Bs(Bt,Bf))}
end
local function Er(Bt,Am)
if Bt.Bn then
return Bt.Bn.Am==Am
end
return Bt.Bo and call('HGET',Ao,Am)
end
local function Es(Ah,Co,Bt,Et)
local Bn,Ds=Bt.Bn,nil
if Bn then
local Eu=Bn.Bl and'holding'or'closed'
Ds={string.sub(Bn.Am,1,8),Eu,Bn.Bk,Bn.Ae,'',Bn.Af}
else
local Bc=Co.Bb=='p'and Bt.Bo=='p'
local By=Et and'~'..Co.Am
or Bc and Cl(J)
or call('ZREVRANGE',An,0,0)[1]
local Ev,Eu,Bk,Ae,Af=Cm(By,J)
if Bc and Au then
Ae=0
end
Ds={Ev,Eu,Bk,Ae,Bt.Bp,Af}
end
for _,Br in ipairs(Ds)do
Ah[#Ah+1]=Br
end
return Ah
end
local function Ew(Co,Bt)
if Cy(Co.Am)then
Dw(Bt,J)
end
end
local function Ex(Bt)
if Bt.Bn and Bt.Bn.Al=='-'and not Bt.Bn.Bj then
call('SETRANGE',Ab,32,'+')
end
end
local Ey=0
local function Ez(Co,Bt)
local T=call('ZREVRANGE',Aq,0,0,'WITHSCORES')[2]or 0
Ey=math.max(T+1,Ey+1,R())
local Dg=string.format('%.0f',Ey)
call('ZADD',Aq,Dg,Co.Am)
local Cp=Co.Cp and'1'or'0'
local Fa={
Dg,'0',Co.Di,Co.Dc,Co.Dj,Co.Cq,Cp,Co.Af,
}
call('HSET',Ar,Co.Am,table.concat(Fa,' '))
Ex(Bt)
end
local function Fb(Am,Bt)
if call('ZSCORE',Aq,Am)or not call('ZSCORE',As,Am)or Bl(Bt,Am)then
return
end
local Df=call('HGET',Ar,Am)
if not Df then
Cy(Am)
return
end
call('ZREM',As,'!'..Am)
local Dg,Dk=string.match(Df,'^(%d+) %d (.*)$')
call('HSET',Ar,Am,Dg..' 1 '..Dk)
call('ZADD',Aq,Dg,Am)
call('PEXPIREAT',Aq,call('ZREVRANGE',As,0,0,'WITHSCORES')[2])
Ex(Bt)
end
local function Fc(Co)
call('ZADD',As,J+Co.Dj,Co.Am)
local Cb=call('ZREVRANGE',As,0,0,'WITHSCORES')[2]
for _,Ax in ipairs({Aq,Ar,As})do
call('PEXPIREAT',Ax,Cb)
end
end
local function Fd(Co,Bt,Fe)
local Ff=call('ZRANK',Aq,Co.Am)
if Ff then
call('PEXPIRE',Aq,Co.Dj)
elseif Fe>=Co.Cc and not Av then
return{'full',Fe}
else
Ff=Fe
Ez(Co,Bt)
end
Fc(Co)
return Es({'queued',Ff},Co,Bt)
end
local function Fg(Co,Bt,C)
local Fh=Cx(Co,Bt,C,J)
if not Fh.Bn then
Ci()
end
return Eq(Fh,C,Co.Bf)
end
local function Fi(Co)
local Am=Co.Am
local Bt=Ce(call('GET',Ab),J,Am)
if not Bt then
return Ay()
end
if Bt.Bn and Bt.Bn.Ae<0 then
return Ay('a lock without an end')
end
local Fe=0
local Fj=Da(J)
if Fj then
Fb(Am,Bt)
Bt=Dw(Bt,J,Am)
Fe=call('ZCARD',Aq)
end
if Bl(Bt,Am)then
local C,Bf=Cj(Bt,Am,Co.Ck,J)
if Fj then
Cy(Am)
end
return Eq(Bt,C,Bf)
end
if Er(Bt,Am)then
return Es({'refused'},Co,Bt,true)
end
local El,Fk,Fl,Fm=Cn(Co,Bt)
if El=='deadlock'or El=='mismatch'then
Ew(Co,Bt)
return{El,Fk,Fl,Fm}
end
if El=='passes'or El=='fits'and(Fe==0 or not Bt.Bo)then
local C=Cs(Bt)
if not C then
return Ct()
end
if Fe>0 then
Cy(Am)
end
return Fg(Co,Bt,C)
end
if Co.Di then
return Fd(Co,Bt,Fe)
end
local Fn=Es({'refused'},Co,Bt)
Ew(Co,Bt)
return Fn
end
local function Fo(Ag)
at=(Ag-2)/N+1
return Fi(En(Ag))
end
At=At-math.floor(#P/3)
for _,i in ipairs(P)do
local Ah='later'
if At>0 then
on(KEYS[i])
local Dy
Dy,Ah=pcall(Fo,2+N*(i-1))
if not Dy then
Ah={'error',type(Ah)=='table'and Ah.err or Ah}
end
At=At-35
end
O[i+1]=Ah
end
return O
