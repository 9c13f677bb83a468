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
return{ARGV[1],C,J,type(M)=='string'and string.sub(M,1,400)or''}
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
local V=false
local function W(i)
if not T then
local I=tonumber(A('GET',F)or 0)
if not I or not(I<9000000000000000)then
return nil
end
T=math.max(I,R()-1)
end
return U and math.max(T+1,U+(i or at))or T+1
end
local function X(C)
if C>L then
local Y=C+#KEYS-2
if ARGV[#ARGV]=='0'or V and call('PTTL',F)==-1 then
call('SET',F,Y)
else
call('SET',F,Y,'PX',ARGV[#ARGV])
end
L=Y
end
T=C
end
if#ARGV>2+N*(#KEYS-1)then
U=B(ARGV[#ARGV-1],R())-1
O[#KEYS+1]=R()
local M=A('GET',KEYS[#KEYS]..'recovered')
O[#KEYS+2]=type(M)=='string'and string.sub(M,1,400)or''
end
if#KEYS>2 then
local Z={}
for i=1,#KEYS-1 do
Z[2*i-1],Z[2*i]=KEYS[i],KEYS[i]..':p'
end
E=A('EXISTS',unpack(Z))==0
end
local Aa={}
local function Ab(Ac)
if E then
return not Aa[Ac]
end
return#KEYS>2 and A('EXISTS',Ac,Ac..':p')==0
end
local Ad,Ae,Af,Ag
for i=1,#KEYS-1 do
local Ac,Ah,Ai=KEYS[i],2+N*(i-1),nil
local Aj=ARGV[Ah]
if ARGV[Ah+1]~=''then
Af,Ag=ARGV[Ah+1],ARGV[Ah+2]
end
if#Aj==33 and not P[Ac]then
if Ab(Ac)then
local C=T and not U and T+1 or W(i)
if C and(C<=L or pcall(X,C))then
T,Aa[Ac]=C,true
local Ak=C%10000
if C-Ak~=Ad then
Ad=C-Ak
Ae=string.format('%.0f',Ad/10000)
end
local Al=Aj..Ae..string.format('%04d',Ak)..' '..Ag
Ai=A('SET',Ac,Al,'PX',Af).ok and C
end
else
local Al=A('GETRANGE',Ac,0,12099)
if type(Al)=='string'and#Al<12100 and string.sub(Al,1,32)==string.sub(Aj,1,32)then
local Am,C=string.match(Al,'^([-+])(%d+) x 1 0  ',33)
Ai=C and A('PEXPIRE',Ac,Af)==1 and tonumber(C)
if Ai and Am=='+'then
local An=string.sub(Aj,1,32)
if U and type(A('ZSCORE',Ac..':p','!'..An))=='string'then
local Ao=W(i)
if Ao and(Ao<=L or pcall(X,Ao))then
T=Ao
local Ap=string.sub(Al,1,33)..string.format('%.0f',Ao)..string.sub(Al,34+#C)
Ai=A('SET',Ac,Ap,'PX',Af).ok and Ao or Ai
end
end
if A('ZREM',Ac..':p',An,'!'..An)~=0 then
A('HDEL',Ac..':w',An)
end
end
end
end
end
if Ai then
O[i+1]=Ai
else
P[#P+1],P[Ac]=i,true
end
end
if not P[1]then
return O
end
local Ac,Aq,Ar,As,At,Au,Av
local Aw,Ax,Ay,Az=320,false,false,false
local function on(Ba)
Aw,Ax,Ay,Az=math.max(Aw,5),false,false,false
Ac,Aq,Ar,As=Ba,Ba..':h',Ba..':d',Ba..':o'
At,Au,Av=Ba..':q',Ba..':w',Ba..':p'
end
local function Bb(Bc)
return{'corrupt',Bc or'a value that is no lock'}
end
local function Bd(Ag)
local C,Be,Bf,Bg,Bh,Bi=string.match(Ag,'^(%d+) (%a) (%d+) (!?)(%d+) (%S*) ')
return C,Be,Bf,Bg==''and Bh or'0',Bi
end
local Bj=12000
local function Bk()
local Al=A('GETRANGE',Ac,0,Bj+99)
if type(Al)~='string'then
return call('GET',Ac)
end
return(Al~=''or call('EXISTS',Ac)==1)and Al
end
local function Bl(Ag)
if not Ag or#Ag<=Bj then
return Ag
end
local Aj=string.match(string.sub(Ag,1,Bj),'^%d* %a %d+ !?%d+ %S* ')
return(Aj or'')..'{"cut":"longer than '..Bj..' bytes"}'
end
local function Bm(Ag)
return(string.gsub(Ag,'^(%d+ %a %d+ )!','%1'))
end
local function Bn(Al)
if#Al<=32 then
return string.match(Al,'^%*([spx])(%d*)$')
end
end
local function Bo(Al)
local Bp,An,Am,Bq=string.match(Al,'^(~?)(%x+)([-+])()')
if not An or#An~=32 then
return nil
end
local Ag=Bl(string.sub(Al,Bq))
local C,Be,_,Bh,Bi=Bd(Ag)
if Be~='x'then
return nil
end
local Br=call('PTTL',Ac)
Bh=tonumber(Bh)
local Bs=Bp==''and Br>Bh
return{
An=An,Bp=Bp~='',Am=Am,Ag=Ag,C=C,Bh=Bh,Bi=Bi,
Bs=Bs,Af=Br,Br=Bs and Br-Bh or Br,
}
end
local function Bt(Al)
if not Al then
return{}
end
if string.sub(Al,1,1)~='*'then
local Bu=Bo(Al)
return Bu and{Bv='x',Bw='',Bu=Bu,C=Bu.C}
end
local Bv,Bw=Bn(Al)
return Bv and{Bv=Bv,Bw=Bw,C=Bv=='x'and Bw or nil}
end
local function Bx(By,by)
local Bw=call('HINCRBY',As,By,by)
if Bw<=0 then
call('HDEL',As,By)
end
end
local function Bz(Ca,Bi)
if Bi==''then
return 0
end
if Ca.Bu then
return Ca.Bu.Bs and Ca.Bu.Bi==Bi and 1 or 0
end
return tonumber(call('HGET',As,'o'..Bi)or 0)
end
local function Cb(Ag)
local _,Be,Bf,_,Bi=Bd(Ag)
if Bi~=''then
Bx('o'..Bi,-1)
if Be=='p'then
Bx('p'..Bi,-Bf)
end
end
end
local function Cc(An,Ag)
local _,Be,Bf=Bd(Ag)
if Be=='p'then
Bx('used',-Bf)
end
call('HDEL',Ar,An)
end
local function Cd()
call('UNLINK',Ac,Aq,Ar,As)
end
local function Ce(Cf)
local An=string.sub(Cf,-32)
local Ag=call('HGET',Ar,An)
local Cg=Cf==An
if Ag then
local _,_,_,Bh=Bd(Ag)
if Cg then
Cb(Ag)
end
if not Cg or Bh=='0'then
Cc(An,Ag)
end
end
end
local function Ch(J)
local Ci=call('ZREVRANGE',Aq,0,0,'WITHSCORES')[2]
if not Ci or tonumber(Ci)<=J then
Cd()
return false
end
local Cj=math.max(1,math.ceil(Aw/3))
local Ck=call('ZRANGEBYSCORE',Aq,'-inf',J,'LIMIT',0,Cj)
if Ck[1]then
call('ZREM',Aq,unpack(Ck))
Ax=#Ck==Cj
Aw=Aw-3*#Ck
end
for _,Cf in ipairs(Ck)do
Ce(Cf)
end
return true
end
local function Cl(J,An)
local Ca=Bt(Bk())
if Ca and Ca.Bv and not Ca.Bu then
if not Ch(J)then
return{}
end
if Ax and An then
for _,Cf in ipairs({An,'~'..An})do
local Cm=call('ZSCORE',Aq,Cf)
if Cm and tonumber(Cm)<=J then
call('ZREM',Aq,Cf)
Ce(Cf)
end
end
end
end
return Ca
end
local function Bs(Ca,An)
if Ca.Bu then
return Ca.Bu.Bs and Ca.Bu.An==An
end
return Ca.Bv and call('ZSCORE',Aq,An)
end
local function Cn(An,Co,Bh)
call('ZADD',Aq,Co,An)
if Bh>0 then
call('ZADD',Aq,Co+Bh,'~'..An)
end
end
local function Cp()
local Ci=call('ZREVRANGE',Aq,0,0,'WITHSCORES')[2]
for _,Ba in ipairs({Ac,Aq,Ar,As})do
call('PEXPIREAT',Ba,Ci)
end
end
local function Cq(Ca,An,Cr,J)
local I=Ca.Bu and Ca.Bu.Ag or call('HGET',Ar,An)
local Ag=Bm(I)
local C,_,_,Bh,Bi=Bd(Ag)
Bh=tonumber(Bh)
call('PEXPIRE',Ac,Cr+Bh)
if Ca.Bu then
if Ag~=I then
call('SET',Ac,An..'+'..Ag,'PX',Cr+Bh)
end
return C,Bi
end
if Ag~=I then
call('HSET',Ar,An,Ag)
end
Cn(An,J+Cr,Bh)
Cp()
return C,Bi
end
local function Cs(J)
return call('ZRANGEBYSCORE',Aq,'('..string.format('%.0f',J),'+inf','LIMIT',0,1)[1]
end
local function Ct(Cf,J)
local An=string.sub(Cf,-32)
local Cg=call('ZSCORE',Aq,An)
local Af=call('ZSCORE',Aq,'~'..An)or Cg
local Ca=Cg and'holding'or'closed'
return string.sub(An,1,8),Ca,(Cg or Af)-J,Af-J,Bl(call('HGET',Ar,An))
end
local function Cu(Cv,Ca)
local Be,Bv,Bw=Cv.Be,Ca.Bv,Ca.Bw
if not Bv then
return'fits'
end
if not Ax and Bz(Ca,Cv.Bi)>0 then
if Bv=='x'and Be=='x'and Cv.Cw or Bv=='s'and Be=='s'then
return'passes'
elseif Bv=='x'then
return'deadlock','x',1,''
elseif Be=='x'then
return'deadlock',Bv,call('HGET',As,'p'..Cv.Bi)or 1,Bw
end
end
if Be=='x'or Bv=='x'then
return'in_the_way'
end
if Be~=Bv or Cv.Cx~=Bw then
local Ah=Cs(S(R()))
local _,_,Cy=Bd(call('HGET',Ar,string.sub(Ah,-32)))
return'mismatch',Bv,string.sub(Cy,1,20),Bw
end
local Cy=Bv=='p'and call('HGET',As,'used')or 0
return(Bv=='s'or Cy+Cv.Bf<=tonumber(Bw))and'fits'or'in_the_way'
end
local function Cz(Ca)
local C=Ca.C or W()
return C and(Ca.C or string.format('%.0f',C))
end
local function Da()
return Bb('the fence counter is not a number that can grow')
end
local function Db()
if call('ZCARD',Aq)+call('HLEN',Ar)+call('HLEN',As)>0 then
call('UNLINK',Aq,Ar,As)
end
end
local function Dc(Bu,J)
Db()
call('SET',Ac,'*x'..Bu.C,'PX',Bu.Af)
call('HSET',Ar,Bu.An,Bu.Ag)
Cn(Bu.An,J+Bu.Br,Bu.Bh)
Bx('o'..Bu.Bi,1)
end
local function Dd(Cv,C)
local Cr,Bh,Ag=Cv.Cr,Cv.Bh,C..' '..Cv.Ag
call('SET',Ac,Cv.An..Cv.Am..Ag,'PX',Cr+Bh)
local Bu={
An=Cv.An,Bp=false,Am=Cv.Am,Ag=Ag,C=C,Bh=Bh,
Bi=Cv.Bi,Bs=true,Af=Cr+Bh,Br=Cr,
}
return{Bv='x',Bw='',Bu=Bu,C=C}
end
local function De(Cv,Ca,C,J)
local An,Bi=Cv.An,Cv.Bi
if C~=Ca.C then
X(tonumber(C))
end
if not Ca.Bv and Cv.Be=='x'then
return Dd(Cv,C)
end
if Ca.Bu then
Dc(Ca.Bu,J)
elseif not Ca.Bv then
Db()
call('SET',Ac,'*'..Cv.Be..Cv.Cx,'PX',Cv.Cr+Cv.Bh)
end
Cn(An,J+Cv.Cr,Cv.Bh)
call('HSET',Ar,An,C..' '..Cv.Ag)
if Cv.Be=='p'then
Bx('used',Cv.Bf)
end
if Bi~=''then
Bx('o'..Bi,1)
if Cv.Be=='p'then
Bx('p'..Bi,Cv.Bf)
end
end
if Cv.Be=='x'then
return{Bv='x',Bw=C,C=C}
end
return{Bv=Cv.Be,Bw=Cv.Cx}
end
local function Df(An)
if call('ZREM',Av,An,'!'..An)==0 then
return false
end
call('HDEL',Au,An)
return call('ZREM',At,An)==1
end
local function Dg()
return string.match(call('HGET',Au,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function Dh(J)
if call('EXISTS',Av)==0 then
return false
end
local Cj=math.max(1,Aw)
local Ck=call('ZRANGEBYSCORE',Av,'-inf',J,'LIMIT',0,Cj)
Ay=#Ck==Cj
Aw=Aw-#Ck
for _,Cf in ipairs(Ck)do
local An=string.match(Cf,'^!(.*)')
if not An then
Df(Cf)
else
local Di=call('ZSCORE',Av,An)
if Di and tonumber(Di)>J then
local Dj=string.match(call('HGET',Au,An)or'','^%d+ %d %S+ (%d+)')
local Dk=Dj and call('ZSCORE',Av,Cf)-Dj
Az=Az or Dk and Dk>=tonumber((Dg()))
end
call('ZREM',Av,Cf)
end
end
return true
end
local function Dl(An,Dm)
local Dn,Do,Dp,Dj,Dq,Cx,Cw,Ag=string.match(
Dm or'','^(%d+) ([01]) (%S+) (%d+) (%d+) (%d*) ([01]) (.*)$'
)
if not Dp then
return nil
end
local Be,Bf,Bh,Bi,Dr=string.match(Ag,'^(%a) (%d+) (%d+) (%S*) (.*)$')
local Ds=Bh~='0'
return{
An=An,Be=Be,Cw=Cw=='1',Bf=Bf,Cx=Cx,Bi=Bi,
Ag=string.format('%s %s %s%s %s ',Be,Bf,Ds and'!'or'',Bh,Bi)..Dr,
Cr=tonumber(Dj),Bh=0,Am=Ds and'+'or'-',Dp=Dp,Dn=tonumber(Dn),
Dq=tonumber(Dq),Do=Do=='1',
}
end
local function Dt(Dp,Bc)
local Du=A('PUBLISH',Dp,Bc)
return type(Du)~='number'or Du>0
end
local function Dv(An)
return string.match(call('HGET',Au,An)or'','^%d+ %d (%S+)')
end
local function Dw(Dx,Bc)
local Dy,Dz=8,nil
for _,An in ipairs(call('ZRANGE',At,0,Dy))do
if An~=Dx and Dy>0 then
Dy=Dy-1
local Dp=Dv(An)
if Dp and Dt(Dp,Bc..An)then
Dz=Dp
break
end
end
end
local T=call('ZREVRANGE',At,0,0)[1]
local Dp=T and T~=Dx and Dv(T)
if Dp and Dp~=Dz then
Dt(Dp,Bc..T)
end
end
local function Ea(Dx,J,I)
local Eb=call('ZREVRANGE',Av,0,0,'WITHSCORES')[2]
if not Eb then
return
end
local Ec=0
for _,An in ipairs(call('ZRANGE',At,0,319))do
local Dn,Dp=string.match(call('HGET',Au,An)or'','^(%d+) %d (%S+)')
if Dp then
Ec=Dn
if An~=Dx then
Dt(Dp,'!'..An)
end
end
end
call('HSET',Au,'?',string.format('%.0f %s %s',J,Ec,I))
call('PEXPIREAT',Au,Eb)
end
local function Ed(Ca,J,Dx)
local Ee,Ef,Eg,Eh=Az,false,false,false
local Ei,Ej,Ek,El=Dg()
if Ee then
Aw=math.max(5,Aw-260)
Az,Ek,El=false,Ei,Ej
end
Aw=math.max(5,Aw)
local I=Ek..' '..El
Ek,El=tonumber(Ek),tonumber(El)
local Em,at,N,En,Eo={},0,0,0,{}
while true do
if Ca.Bu and Ca.Bu.Bi==''then
break
end
at=at+1
if at>N then
if Eo[1]then
call('ZREM',At,unpack(Eo))
Eo={}
end
local Cj=math.min(math.max(En,1),64)
Em=call('ZRANGE',At,0,Cj)
if not Em[1]then
break
end
N,at=math.min(#Em,Cj),1
end
local Ep,Eq=Em[at],Em[at+1]
local Dm=call('HGET',Au,Ep)
local Cv=Dl(Ep,Dm)
local Er=math.floor(#(Dm or'')/256)
local Di=Cv and(Ay or Cv.Dn<=El)and call('ZSCORE',Av,Ep)
if not Cv or Ay and Di and tonumber(Di)<=J then
if Aw<=0 then
Eh=true
break
end
Aw=Aw-1-Er
Eo[#Eo+1]=Ep
Df(Ep)
else
local Es=Cu(Cv,Ca)
V=true
local C=(Es=='fits'or Es=='passes')and Cz(Ca)
if not C then
break
end
if Aw<=0 then
Eh=true
break
end
if En==0 then
call('ZREM',At,Ep)
else
Eo[#Eo+1]=Ep
end
local Du=Ep==Dx
local Et=Cv.Dn<=El and Di
if not Du and not(Et and Di-Cv.Dq<Ek)then
Du=Dt(Cv.Dp,Ep)or Cv.Do
end
if not Du then
Aw,En=Aw-1-Er,En+1
else
Aw,En=Aw-5-Er,0
if Eo[1]then
call('ZREM',At,unpack(Eo))
Eo={}
end
if Ep==Dx then
Df(Ep)
else
call('ZADD',Av,J+Cv.Cr,'!'..Ep)
Eg=true
end
if Eq or Eg then
Cv.Am='+'
end
Ca=De(Cv,Ca,C,J)
Ef=true
end
end
end
if Eo[1]then
call('ZREM',At,unpack(Eo))
end
if Ee then
Ea(Dx,J,I)
elseif Eh then
Dw(Dx,'!')
elseif Eg then
Dw(Dx,'?')
end
if Ef and not Ca.Bu then
Cp()
end
return Ca
end
local J=S(R())
local function Eu(Ah)
local Aj,Ev=ARGV[Ah],Ah
while ARGV[Ev+1]==''do
Ev=Ev-4
end
local Af,Ag,Ew=unpack(ARGV,Ev+1,Ev+3)
local Be,Bf,Bh,Bi=string.match(Ag,'^(%a) (%d+) (%d+) (%S*) ')
local Cw,Cx,Dp,Dj,Dq,Cj,Ex=
string.match(Ew,'^([01]) (%d*) ?(%S*) ?(%d*) ?(%d*) ?(%d*) ?(%d*)$')
return{
An=string.sub(Aj,1,32),Be=Be,Cw=Cw=='1',Bf=Bf,Cx=Cx,
Cr=Af-Bh,Bh=tonumber(Bh),Bi=Bi,Ag=Ag,Am=string.sub(Aj,33),
Dp=Dp~=''and Dp,Dj=Dj,Dq=tonumber(Dq),Cj=tonumber(Cj),
Ex=tonumber(Ex),
}
end
local function Ey(Ca,C,Bi)
return{'granted',C,math.max(1,Bz(Ca,Bi))}
end
local function Ez(Ca,An)
if Ca.Bu then
return Ca.Bu.An==An
end
return Ca.Bv and call('HGET',Ar,An)
end
local function Fa(Ai,Cv,Ca,Fb)
local Bu,Dz=Ca.Bu,nil
if Bu then
local Fc=Bu.Bs and'holding'or'closed'
Dz={string.sub(Bu.An,1,8),Fc,Bu.Br,Bu.Af,'',Bu.Ag}
else
local Bf=Cv.Be=='p'and Ca.Bv=='p'
local Cf=Fb and'~'..Cv.An
or Bf and Cs(J)
or call('ZREVRANGE',Aq,0,0)[1]
local Fd,Fc,Br,Af,Ag=Ct(Cf,J)
if Bf and Ax then
Af=0
end
Dz={Fd,Fc,Br,Af,Ca.Bw,Ag}
end
for _,By in ipairs(Dz)do
Ai[#Ai+1]=By
end
return Ai
end
local function Fe(Cv,Ca)
if Df(Cv.An)then
Ed(Ca,J)
end
end
local function Ff(Ca)
if Ca.Bu and Ca.Bu.Am=='-'and not Ca.Bu.Bp then
call('SETRANGE',Ac,32,'+')
end
end
local Fg=0
local function Fh(Cv,Ca)
local T=call('ZREVRANGE',At,0,0,'WITHSCORES')[2]or 0
local Bw=Cv.Ex
if not Bw then
Fg=math.max(T+1,Fg+1,R())
Bw=Fg
end
local Dn=string.format('%.0f',Bw)
call('ZADD',At,Dn,Cv.An)
local Cw=Cv.Cw and'1'or'0'
local Fi={
Dn,'0',Cv.Dp,Cv.Dj,Cv.Dq,Cv.Cx,Cw,Cv.Ag,
}
call('HSET',Au,Cv.An,table.concat(Fi,' '))
Ff(Ca)
end
local function Fj(An,Ca)
if call('ZSCORE',At,An)or not call('ZSCORE',Av,An)or Bs(Ca,An)then
return
end
local Dm=call('HGET',Au,An)
if not Dm then
Df(An)
return
end
call('ZREM',Av,'!'..An)
local Dn,Dr=string.match(Dm,'^(%d+) %d (.*)$')
call('HSET',Au,An,Dn..' 1 '..Dr)
call('ZADD',At,Dn,An)
call('PEXPIREAT',At,call('ZREVRANGE',Av,0,0,'WITHSCORES')[2])
Ff(Ca)
end
local function Fk(Cv)
call('ZADD',Av,J+Cv.Dq,Cv.An)
local Ci=call('ZREVRANGE',Av,0,0,'WITHSCORES')[2]
for _,Ba in ipairs({At,Au,Av})do
call('PEXPIREAT',Ba,Ci)
end
end
local function Fl(Cv,Ca,Fm)
local Fn=call('ZRANK',At,Cv.An)
if Fn then
call('PEXPIRE',At,Cv.Dq)
elseif Fm>=Cv.Cj and not Ay then
return{'full',Fm}
else
Fh(Cv,Ca)
Fn=call('ZRANK',At,Cv.An)
end
Fk(Cv)
return Fa({'queued',Fn},Cv,Ca)
end
local function Fo(Cv,Ca,C)
local Fp=De(Cv,Ca,C,J)
if not Fp.Bu then
Cp()
end
return Ey(Fp,C,Cv.Bi)
end
local function Fq(Cv)
local An=Cv.An
local Ca=Cl(J,An)
if not Ca then
return Bb()
end
if Ca.Bu and Ca.Bu.Af<0 then
return Bb('a lock without an end')
end
local Fm=0
local Fr=Dh(J)
if Fr then
Fj(An,Ca)
Ca=Ed(Ca,J,An)
Fm=call('ZCARD',At)
end
if Bs(Ca,An)then
local C,Bi=Cq(Ca,An,Cv.Cr,J)
if Fr then
Df(An)
end
return Ey(Ca,C,Bi)
end
if Ez(Ca,An)then
return Fa({'refused'},Cv,Ca,true)
end
local Es,Fs,Ft,Fu=Cu(Cv,Ca)
if Es=='deadlock'or Es=='mismatch'then
Fe(Cv,Ca)
return{Es,Fs,Ft,Fu}
end
if Es=='passes'or Es=='fits'and(Fm==0 or not Ca.Bv)then
local C=Cz(Ca)
if not C then
return Da()
end
if Fm>0 then
Df(An)
end
return Fo(Cv,Ca,C)
end
if Cv.Dp then
return Fl(Cv,Ca,Fm)
end
local Fv=Fa({'refused'},Cv,Ca)
Fe(Cv,Ca)
return Fv
end
local function Fw(Ah)
at=(Ah-2)/N+1
return Fq(Eu(Ah))
end
Aw=Aw-math.floor(#P/3)
for _,i in ipairs(P)do
local Ai='later'
if Aw>0 then
on(KEYS[i])
local Ef
Ef,Ai=pcall(Fw,2+N*(i-1))
if not Ef then
Ai={'error',type(Ai)=='table'and Ai.err or Ai}
end
Aw=Aw-35
end
O[i+1]=Ai
end
return O
