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
local V,W=nil,false
local function X(i)
if not T then
local I=tonumber(A('GET',F)or 0)
if not I or not(I<9000000000000000)then
return nil
end
T=math.max(I,R()-1)
end
return U and math.max(T+1,U+(i or at))or T+1
end
local function Y(C)
if C>L then
local Z=C+#KEYS-2
if ARGV[#ARGV]=='0'or W and call('PTTL',F)==-1 then
call('SET',F,Z)
else
call('SET',F,Z,'PX',ARGV[#ARGV])
end
L=Z
end
T=C
end
if#ARGV>2+N*(#KEYS-1)then
U=B(ARGV[#ARGV-1],R())-1
V=tonumber(ARGV[#ARGV-1])
O[#KEYS+1]=R()
local M=A('GET',KEYS[#KEYS]..'recovered')
O[#KEYS+2]=type(M)=='string'and M or''
end
if#KEYS>2 then
local Aa={}
for i=1,#KEYS-1 do
Aa[2*i-1],Aa[2*i]=KEYS[i],KEYS[i]..':p'
end
E=A('EXISTS',unpack(Aa))==0
end
local Ab={}
local function Ac(Ad)
if E then
return not Ab[Ad]
end
return#KEYS>2 and A('EXISTS',Ad,Ad..':p')==0
end
local Ae,Af,Ag,Ah
for i=1,#KEYS-1 do
local Ad,Ai,Aj=KEYS[i],2+N*(i-1),nil
local Ak=ARGV[Ai]
if ARGV[Ai+1]~=''then
Ag,Ah=ARGV[Ai+1],ARGV[Ai+2]
end
if#Ak==33 and not P[Ad]then
if Ac(Ad)then
local C=T and not U and T+1 or X(i)
if C and(C<=L or pcall(Y,C))then
T,Ab[Ad]=C,true
local Al=C%10000
if C-Al~=Ae then
Ae=C-Al
Af=string.format('%.0f',Ae/10000)
end
local Am=Ak..Af..string.format('%04d',Al)..' '..Ah
Aj=A('SET',Ad,Am,'PX',Ag).ok and C
end
else
local Am=A('GET',Ad)
if type(Am)=='string'and string.sub(Am,1,32)==string.sub(Ak,1,32)then
local An,C=string.match(Am,'^([-+])(%d+) x 1 0  ',33)
Aj=C and A('PEXPIRE',Ad,Ag)==1 and tonumber(C)
if Aj and An=='+'then
local Ao=string.sub(Ak,1,32)
if U and type(A('ZSCORE',Ad..':p','!'..Ao))=='string'then
local Ap=X(i)
if Ap and(Ap<=L or pcall(Y,Ap))then
T=Ap
local Aq=string.sub(Am,1,33)..string.format('%.0f',Ap)..string.sub(Am,34+#C)
Aj=A('SET',Ad,Aq,'PX',Ag).ok and Ap or Aj
end
end
if A('ZREM',Ad..':p',Ao,'!'..Ao)~=0 then
A('HDEL',Ad..':w',Ao)
end
end
end
end
end
if Aj then
O[i+1]=Aj
else
P[#P+1],P[Ad]=i,true
end
end
if not P[1]then
return O
end
local Ad,Ar,As,At,Au,Av,Aw
local Ax,Ay,Az,Ba=320,false,false,false
local function on(Bb)
Ax,Ay,Az,Ba=math.max(Ax,5),false,false,false
Ad,Ar,As,At=Bb,Bb..':h',Bb..':d',Bb..':o'
Au,Av,Aw=Bb..':q',Bb..':w',Bb..':p'
end
local function Bc(Bd)
return{'corrupt',Bd or'a value that is no lock'}
end
local function Be(Ah)
local C,Bf,Bg,Bh,Bi,Bj=string.match(Ah,'^(%d+) (%a) (%d+) (!?)(%d+) (%S*) ')
return C,Bf,Bg,Bh==''and Bi or'0',Bj
end
local function Bk(Ah)
return(string.gsub(Ah,'^(%d+ %a %d+ )!','%1'))
end
local function Bl(Am)
return string.match(Am,'^%*([spx])(%d*)$')
end
local function Bm(Am)
local Bn,Ao,An,Ah=string.match(Am,'^(~?)(%x+)([-+])(.*)$')
if not Ao or#Ao~=32 then
return nil
end
local C,Bf,_,Bi,Bj=Be(Ah)
if Bf~='x'then
return nil
end
local Bo=call('PTTL',Ad)
Bi=tonumber(Bi)
local Bp=Bn==''and Bo>Bi
return{
Ao=Ao,Bn=Bn~='',An=An,Ah=Ah,C=C,Bi=Bi,Bj=Bj,
Bp=Bp,Ag=Bo,Bo=Bp and Bo-Bi or Bo,
}
end
local function Bq(Am)
if not Am then
return{}
end
if string.sub(Am,1,1)~='*'then
local Br=Bm(Am)
return Br and{Bs='x',Bt='',Br=Br,C=Br.C}
end
local Bs,Bt=Bl(Am)
return Bs and{Bs=Bs,Bt=Bt,C=Bs=='x'and Bt or nil}
end
local function Bu(Bv,by)
local Bt=call('HINCRBY',At,Bv,by)
if Bt<=0 then
call('HDEL',At,Bv)
end
end
local function Bw(Bx,Bj)
if Bj==''then
return 0
end
if Bx.Br then
return Bx.Br.Bp and Bx.Br.Bj==Bj and 1 or 0
end
return tonumber(call('HGET',At,'o'..Bj)or 0)
end
local function By(Ah)
local _,Bf,Bg,_,Bj=Be(Ah)
if Bj~=''then
Bu('o'..Bj,-1)
if Bf=='p'then
Bu('p'..Bj,-Bg)
end
end
end
local function Bz(Ao,Ah)
local _,Bf,Bg=Be(Ah)
if Bf=='p'then
Bu('used',-Bg)
end
call('HDEL',As,Ao)
end
local function Ca()
call('UNLINK',Ad,Ar,As,At)
end
local function Cb(Cc)
local Ao=string.sub(Cc,-32)
local Ah=call('HGET',As,Ao)
local Cd=Cc==Ao
if Ah then
local _,_,_,Bi=Be(Ah)
if Cd then
By(Ah)
end
if not Cd or Bi=='0'then
Bz(Ao,Ah)
end
end
end
local function Ce(J)
local Cf=call('ZREVRANGE',Ar,0,0,'WITHSCORES')[2]
if not Cf or tonumber(Cf)<=J then
Ca()
return false
end
local Cg=math.max(1,math.ceil(Ax/3))
local Ch=call('ZRANGEBYSCORE',Ar,'-inf',J,'LIMIT',0,Cg)
if Ch[1]then
call('ZREM',Ar,unpack(Ch))
Ay=#Ch==Cg
Ax=Ax-3*#Ch
end
for _,Cc in ipairs(Ch)do
Cb(Cc)
end
return true
end
local function Ci(Am,J,Ao)
local Bx=Bq(Am)
if Bx and Bx.Bs and not Bx.Br then
if not Ce(J)then
return{}
end
if Ay and Ao then
for _,Cc in ipairs({Ao,'~'..Ao})do
local Cj=call('ZSCORE',Ar,Cc)
if Cj and tonumber(Cj)<=J then
call('ZREM',Ar,Cc)
Cb(Cc)
end
end
end
end
return Bx
end
local function Bp(Bx,Ao)
if Bx.Br then
return Bx.Br.Bp and Bx.Br.Ao==Ao
end
return Bx.Bs and call('ZSCORE',Ar,Ao)
end
local function Ck(Ao,Cl,Bi)
call('ZADD',Ar,Cl,Ao)
if Bi>0 then
call('ZADD',Ar,Cl+Bi,'~'..Ao)
end
end
local function Cm()
local Cf=call('ZREVRANGE',Ar,0,0,'WITHSCORES')[2]
for _,Bb in ipairs({Ad,Ar,As,At})do
call('PEXPIREAT',Bb,Cf)
end
end
local function Cn(Bx,Ao,Co,J)
local I=Bx.Br and Bx.Br.Ah or call('HGET',As,Ao)
local Ah=Bk(I)
local C,_,_,Bi,Bj=Be(Ah)
Bi=tonumber(Bi)
call('PEXPIRE',Ad,Co+Bi)
if Bx.Br then
if Ah~=I then
call('SET',Ad,Ao..'+'..Ah,'PX',Co+Bi)
end
return C,Bj
end
if Ah~=I then
call('HSET',As,Ao,Ah)
end
Ck(Ao,J+Co,Bi)
Cm()
return C,Bj
end
local function Cp(J)
return call('ZRANGEBYSCORE',Ar,'('..string.format('%.0f',J),'+inf','LIMIT',0,1)[1]
end
local function Cq(Cc,J)
local Ao=string.sub(Cc,-32)
local Cd=call('ZSCORE',Ar,Ao)
local Ag=call('ZSCORE',Ar,'~'..Ao)or Cd
local Bx=Cd and'holding'or'closed'
return string.sub(Ao,1,8),Bx,(Cd or Ag)-J,Ag-J,call('HGET',As,Ao)
end
local function Cr(Cs,Bx)
local Bf,Bs,Bt=Cs.Bf,Bx.Bs,Bx.Bt
if not Bs then
return'fits'
end
if not Ay and Bw(Bx,Cs.Bj)>0 then
if Bs=='x'and Bf=='x'and Cs.Ct or Bs=='s'and Bf=='s'then
return'passes'
elseif Bs=='x'then
return'deadlock','x',1,''
elseif Bf=='x'then
return'deadlock',Bs,call('HGET',At,'p'..Cs.Bj)or 1,Bt
end
end
if Bf=='x'or Bs=='x'then
return'in_the_way'
end
if Bf~=Bs or Cs.Cu~=Bt then
local Ai=Cp(S(R()))
local _,_,Cv=Be(call('HGET',As,string.sub(Ai,-32)))
return'mismatch',Bs,Cv,Bt
end
local Cv=Bs=='p'and call('HGET',At,'used')or 0
return(Bs=='s'or Cv+Cs.Bg<=tonumber(Bt))and'fits'or'in_the_way'
end
local function Cw(Bx)
local C=Bx.C or X()
return C and(Bx.C or string.format('%.0f',C))
end
local function Cx()
return Bc('the fence counter is not a number that can grow')
end
local function Cy()
if call('ZCARD',Ar)+call('HLEN',As)+call('HLEN',At)>0 then
call('UNLINK',Ar,As,At)
end
end
local function Cz(Br,J)
Cy()
call('SET',Ad,'*x'..Br.C,'PX',Br.Ag)
call('HSET',As,Br.Ao,Br.Ah)
Ck(Br.Ao,J+Br.Bo,Br.Bi)
Bu('o'..Br.Bj,1)
end
local function Da(Cs,C)
local Co,Bi,Ah=Cs.Co,Cs.Bi,C..' '..Cs.Ah
call('SET',Ad,Cs.Ao..Cs.An..Ah,'PX',Co+Bi)
local Br={
Ao=Cs.Ao,Bn=false,An=Cs.An,Ah=Ah,C=C,Bi=Bi,
Bj=Cs.Bj,Bp=true,Ag=Co+Bi,Bo=Co,
}
return{Bs='x',Bt='',Br=Br,C=C}
end
local function Db(Cs,Bx,C,J)
local Ao,Bj=Cs.Ao,Cs.Bj
if C~=Bx.C then
Y(tonumber(C))
end
if not Bx.Bs and Cs.Bf=='x'then
return Da(Cs,C)
end
if Bx.Br then
Cz(Bx.Br,J)
elseif not Bx.Bs then
Cy()
call('SET',Ad,'*'..Cs.Bf..Cs.Cu,'PX',Cs.Co+Cs.Bi)
end
Ck(Ao,J+Cs.Co,Cs.Bi)
call('HSET',As,Ao,C..' '..Cs.Ah)
if Cs.Bf=='p'then
Bu('used',Cs.Bg)
end
if Bj~=''then
Bu('o'..Bj,1)
if Cs.Bf=='p'then
Bu('p'..Bj,Cs.Bg)
end
end
if Cs.Bf=='x'then
return{Bs='x',Bt=C,C=C}
end
return{Bs=Cs.Bf,Bt=Cs.Cu}
end
local function Dc(Ao)
if call('ZREM',Aw,Ao,'!'..Ao)==0 then
return false
end
call('HDEL',Av,Ao)
return call('ZREM',Au,Ao)==1
end
local function Dd()
return string.match(call('HGET',Av,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function De(J)
if call('EXISTS',Aw)==0 then
return false
end
local Cg=math.max(1,Ax)
local Ch=call('ZRANGEBYSCORE',Aw,'-inf',J,'LIMIT',0,Cg)
Az=#Ch==Cg
Ax=Ax-#Ch
for _,Cc in ipairs(Ch)do
local Ao=string.match(Cc,'^!(.*)')
if not Ao then
Dc(Cc)
else
local Df=call('ZSCORE',Aw,Ao)
if Df and tonumber(Df)>J then
local Dg=string.match(call('HGET',Av,Ao)or'','^%d+ %d %S+ (%d+)')
local Dh=Dg and call('ZSCORE',Aw,Cc)-Dg
Ba=Ba or Dh and Dh>=tonumber((Dd()))
end
call('ZREM',Aw,Cc)
end
end
return true
end
local function Di(Ao,Dj)
local Dk,Dl,Dm,Dg,Dn,Cu,Ct,Ah=string.match(
Dj or'','^(%d+) ([01]) (%S+) (%d+) (%d+) (%d*) ([01]) (.*)$'
)
if not Dm then
return nil
end
local Bf,Bg,Bi,Bj,Do=string.match(Ah,'^(%a) (%d+) (%d+) (%S*) (.*)$')
local Dp=Bi~='0'
return{
Ao=Ao,Bf=Bf,Ct=Ct=='1',Bg=Bg,Cu=Cu,Bj=Bj,
Ah=string.format('%s %s %s%s %s ',Bf,Bg,Dp and'!'or'',Bi,Bj)..Do,
Co=tonumber(Dg),Bi=0,An=Dp and'+'or'-',Dm=Dm,Dk=tonumber(Dk),
Dn=tonumber(Dn),Dl=Dl=='1',
}
end
local function Dq(Dm,Bd)
local Dr=A('PUBLISH',Dm,Bd)
return type(Dr)~='number'or Dr>0
end
local function Ds(Ao)
return string.match(call('HGET',Av,Ao)or'','^%d+ %d (%S+)')
end
local function Dt(Du,Bd)
local Dv,Dw=8,nil
for _,Ao in ipairs(call('ZRANGE',Au,0,Dv))do
if Ao~=Du and Dv>0 then
Dv=Dv-1
local Dm=Ds(Ao)
if Dm and Dq(Dm,Bd..Ao)then
Dw=Dm
break
end
end
end
local T=call('ZREVRANGE',Au,0,0)[1]
local Dm=T and T~=Du and Ds(T)
if Dm and Dm~=Dw then
Dq(Dm,Bd..T)
end
end
local function Dx(Du,J,I)
local Dy=call('ZREVRANGE',Aw,0,0,'WITHSCORES')[2]
if not Dy then
return
end
local Dz=0
for _,Ao in ipairs(call('ZRANGE',Au,0,319))do
local Dk,Dm=string.match(call('HGET',Av,Ao)or'','^(%d+) %d (%S+)')
if Dm then
Dz=Dk
if Ao~=Du then
Dq(Dm,'!'..Ao)
end
end
end
call('HSET',Av,'?',string.format('%.0f %s %s',J,Dz,I))
call('PEXPIREAT',Av,Dy)
end
local function Ea(Bx,J,Du)
local Eb,Ec,Ed,Ee=Ba,false,false,false
local Ef,Eg,Eh,Ei=Dd()
if Eb then
Ax=math.max(5,Ax-260)
Ba,Eh,Ei=false,Ef,Eg
end
Ax=math.max(5,Ax)
local I=Eh..' '..Ei
Eh,Ei=tonumber(Eh),tonumber(Ei)
local Ej,at,N,Ek,El={},0,0,0,{}
while true do
if Bx.Br and Bx.Br.Bj==''then
break
end
at=at+1
if at>N then
if El[1]then
call('ZREM',Au,unpack(El))
El={}
end
local Cg=math.min(math.max(Ek,1),64)
Ej=call('ZRANGE',Au,0,Cg)
if not Ej[1]then
break
end
N,at=math.min(#Ej,Cg),1
end
local Em,En=Ej[at],Ej[at+1]
local Dj=call('HGET',Av,Em)
local Cs=Di(Em,Dj)
local Eo=math.floor(#(Dj or'')/256)
local Df=Cs and(Az or Cs.Dk<=Ei)and call('ZSCORE',Aw,Em)
if not Cs or Az and Df and tonumber(Df)<=J then
if Ax<=0 then
Ee=true
break
end
Ax=Ax-1-Eo
El[#El+1]=Em
Dc(Em)
else
local Ep=Cr(Cs,Bx)
W=true
local C=(Ep=='fits'or Ep=='passes')and Cw(Bx)
if not C then
break
end
if Ax<=0 then
Ee=true
break
end
if Ek==0 then
call('ZREM',Au,Em)
else
El[#El+1]=Em
end
local Dr=Em==Du
local Eq=Cs.Dk<=Ei and Df
if not Dr and not(Eq and Df-Cs.Dn<Eh)then
Dr=Dq(Cs.Dm,Em)or Cs.Dl
end
if not Dr then
Ax,Ek=Ax-1-Eo,Ek+1
else
Ax,Ek=Ax-5-Eo,0
if El[1]then
call('ZREM',Au,unpack(El))
El={}
end
if Em==Du then
Dc(Em)
else
call('ZADD',Aw,J+Cs.Co,'!'..Em)
Ed=true
end
if En or Ed then
Cs.An='+'
end
Bx=Db(Cs,Bx,C,J)
Ec=true
end
end
end
if El[1]then
call('ZREM',Au,unpack(El))
end
if Eb then
Dx(Du,J,I)
elseif Ee then
Dt(Du,'!')
elseif Ed then
Dt(Du,'?')
end
if Ec and not Bx.Br then
Cm()
end
return Bx
end
local J=S(R())
local function Er(Ai)
local Ak,Es=ARGV[Ai],Ai
while ARGV[Es+1]==''do
Es=Es-4
end
local Ag,Ah,Et=unpack(ARGV,Es+1,Es+3)
local Bf,Bg,Bi,Bj=string.match(Ah,'^(%a) (%d+) (%d+) (%S*) ')
local Ct,Cu,Dm,Dg,Dn,Cg=
string.match(Et,'^([01]) (%d*) ?(%S*) ?(%d*) ?(%d*) ?(%d*)$')
return{
Ao=string.sub(Ak,1,32),Bf=Bf,Ct=Ct=='1',Bg=Bg,Cu=Cu,
Co=Ag-Bi,Bi=tonumber(Bi),Bj=Bj,Ah=Ah,An=string.sub(Ak,33),
Dm=Dm~=''and Dm,Dg=Dg,Dn=tonumber(Dn),Cg=tonumber(Cg),
}
end
local function Eu(Bx,C,Bj)
return{'granted',C,math.max(1,Bw(Bx,Bj))}
end
local function Ev(Bx,Ao)
if Bx.Br then
return Bx.Br.Ao==Ao
end
return Bx.Bs and call('HGET',As,Ao)
end
local function Ew(Aj,Cs,Bx,Ex)
local Br,Dw=Bx.Br,nil
if Br then
local Ey=Br.Bp and'holding'or'closed'
Dw={string.sub(Br.Ao,1,8),Ey,Br.Bo,Br.Ag,'',Br.Ah}
else
local Bg=Cs.Bf=='p'and Bx.Bs=='p'
local Cc=Ex and'~'..Cs.Ao
or Bg and Cp(J)
or call('ZREVRANGE',Ar,0,0)[1]
local Ez,Ey,Bo,Ag,Ah=Cq(Cc,J)
if Bg and Ay then
Ag=0
end
Dw={Ez,Ey,Bo,Ag,Bx.Bt,Ah}
end
for _,Bv in ipairs(Dw)do
Aj[#Aj+1]=Bv
end
return Aj
end
local function Fa(Cs,Bx)
if Dc(Cs.Ao)then
Ea(Bx,J)
end
end
local function Fb(Bx)
if Bx.Br and Bx.Br.An=='-'and not Bx.Br.Bn then
call('SETRANGE',Ad,32,'+')
end
end
local Fc=0
local function Fd(Cs,Bx)
local T=call('ZREVRANGE',Au,0,0,'WITHSCORES')[2]or 0
local Bt=math.max(T+1,Fc+1,R())
if V and V>0 then
Bt=V+at-1
else
Fc=Bt
end
local Dk=string.format('%.0f',Bt)
call('ZADD',Au,Dk,Cs.Ao)
local Ct=Cs.Ct and'1'or'0'
local Fe={
Dk,'0',Cs.Dm,Cs.Dg,Cs.Dn,Cs.Cu,Ct,Cs.Ah,
}
call('HSET',Av,Cs.Ao,table.concat(Fe,' '))
Fb(Bx)
end
local function Ff(Ao,Bx)
if call('ZSCORE',Au,Ao)or not call('ZSCORE',Aw,Ao)or Bp(Bx,Ao)then
return
end
local Dj=call('HGET',Av,Ao)
if not Dj then
Dc(Ao)
return
end
call('ZREM',Aw,'!'..Ao)
local Dk,Do=string.match(Dj,'^(%d+) %d (.*)$')
call('HSET',Av,Ao,Dk..' 1 '..Do)
call('ZADD',Au,Dk,Ao)
call('PEXPIREAT',Au,call('ZREVRANGE',Aw,0,0,'WITHSCORES')[2])
Fb(Bx)
end
local function Fg(Cs)
call('ZADD',Aw,J+Cs.Dn,Cs.Ao)
local Cf=call('ZREVRANGE',Aw,0,0,'WITHSCORES')[2]
for _,Bb in ipairs({Au,Av,Aw})do
call('PEXPIREAT',Bb,Cf)
end
end
local function Fh(Cs,Bx,Fi)
local Fj=call('ZRANK',Au,Cs.Ao)
if Fj then
call('PEXPIRE',Au,Cs.Dn)
elseif Fi>=Cs.Cg and not Az then
return{'full',Fi}
else
Fd(Cs,Bx)
Fj=call('ZRANK',Au,Cs.Ao)
end
Fg(Cs)
return Ew({'queued',Fj},Cs,Bx)
end
local function Fk(Cs,Bx,C)
local Fl=Db(Cs,Bx,C,J)
if not Fl.Br then
Cm()
end
return Eu(Fl,C,Cs.Bj)
end
local function Fm(Cs)
local Ao=Cs.Ao
local Bx=Ci(call('GET',Ad),J,Ao)
if not Bx then
return Bc()
end
if Bx.Br and Bx.Br.Ag<0 then
return Bc('a lock without an end')
end
local Fi=0
local Fn=De(J)
if Fn then
Ff(Ao,Bx)
Bx=Ea(Bx,J,Ao)
Fi=call('ZCARD',Au)
end
if Bp(Bx,Ao)then
local C,Bj=Cn(Bx,Ao,Cs.Co,J)
if Fn then
Dc(Ao)
end
return Eu(Bx,C,Bj)
end
if Ev(Bx,Ao)then
return Ew({'refused'},Cs,Bx,true)
end
local Ep,Fo,Fp,Fq=Cr(Cs,Bx)
if Ep=='deadlock'or Ep=='mismatch'then
Fa(Cs,Bx)
return{Ep,Fo,Fp,Fq}
end
if Ep=='passes'or Ep=='fits'and(Fi==0 or not Bx.Bs)then
local C=Cw(Bx)
if not C then
return Cx()
end
if Fi>0 then
Dc(Ao)
end
return Fk(Cs,Bx,C)
end
if Cs.Dm then
return Fh(Cs,Bx,Fi)
end
local Fr=Ew({'refused'},Cs,Bx)
Fa(Cs,Bx)
return Fr
end
local function Fs(Ai)
at=(Ai-2)/N+1
return Fm(Er(Ai))
end
Ax=Ax-math.floor(#P/3)
for _,i in ipairs(P)do
local Aj='later'
if Ax>0 then
on(KEYS[i])
local Ec
Ec,Aj=pcall(Fs,2+N*(i-1))
if not Ec then
Aj={'error',type(Aj)=='table'and Aj.err or Aj}
end
Ax=Ax-35
end
O[i+1]=Aj
end
return O
