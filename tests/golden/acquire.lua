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
local Am,C,An,Ao=string.match(Al,'^([-+])(%d+) x 1 0/?(%d*)(  .*)$',33)
Ai=C and A('PEXPIRE',Ac,Af)==1 and tonumber(C)
local Ap,Aq=string.sub(Aj,1,32),nil
if Ai and Am=='+'and U and type(A('ZSCORE',Ac..':p','!'..Ap))=='string'then
Aq=W(i)
if Aq and(Aq<=L or pcall(X,Aq))then
T=Aq
else
Aq=nil
end
end
if Ai and(Aq or An~=Af)then
Ai=Aq or Ai
local Ar=string.format('%s%.0f x 1 0/%s',string.sub(Al,1,33),Ai,Af)
Ai=A('SET',Ac,Ar..Ao,'PX',Af).ok and Ai
end
if Ai and Am=='+'then
if A('ZREM',Ac..':p',Ap,'!'..Ap)~=0 then
A('HDEL',Ac..':w',Ap)
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
local Ac,As,At,Au,Av,Aw,Ax
local Ay,Az,Ba,Bb=320,false,false,false
local function on(Bc)
Ay,Az,Ba,Bb=math.max(Ay,5),false,false,false
Ac,As,At,Au=Bc,Bc..':h',Bc..':d',Bc..':o'
Av,Aw,Ax=Bc..':q',Bc..':w',Bc..':p'
end
local function Bd(Be)
return{'corrupt',Be or'a value that is no lock'}
end
local function Bf(Ag)
local C,Bg,Bh,Bi,Bj,An,Bk=string.match(Ag,'^(%d+) (%a) (%d+) (!?)(%d+)/?(%d*) (%S*) ')
return C,Bg,Bh,Bi==''and Bj or'0',Bk,tonumber(An)
end
local Bl=12000
local function Bm()
local Al=A('GETRANGE',Ac,0,Bl+99)
if type(Al)~='string'then
return call('GET',Ac)
end
return(Al~=''or call('EXISTS',Ac)==1)and Al
end
local function Bn(Ag)
if not Ag or#Ag<=Bl then
return Ag
end
local Aj=string.match(string.sub(Ag,1,Bl),'^%d* %a %d+ !?%d+/?%d* %S* ')
return(Aj or'')..'{"cut":"longer than '..Bl..' bytes"}'
end
local function Bo(Ag,An)
return(string.gsub(Ag,'^(%d+ %a %d+ )!?(%d+)/?%d* ','%1%2/'..An..' '))
end
local function Bp(Al)
if#Al<=32 then
return string.match(Al,'^%*([spx])(%d*)$')
end
end
local function Bq(Al)
local Br,Ap,Am,Bs=string.match(Al,'^(~?)(%x+)([-+])()')
if not Ap or#Ap~=32 then
return nil
end
local Ag=Bn(string.sub(Al,Bs))
local C,Bg,_,Bj,Bk,An=Bf(Ag)
if Bg~='x'then
return nil
end
local Bt=call('PTTL',Ac)
Bj=tonumber(Bj)
local Bu=An and Bt>An+Bj
Bt=Bu and An+Bj or Bt
local Bv=Br==''and Bt>Bj
return{
Ap=Ap,Br=Br~='',Am=Am,Ag=Ag,C=C,Bj=Bj,Bk=Bk,
Bv=Bv,Af=Bt,Bt=Bv and Bt-Bj or Bt,Bu=Bu,
}
end
local function Bw(Al)
if not Al then
return{}
end
if string.sub(Al,1,1)~='*'then
local Bx=Bq(Al)
return Bx and{By='x',Bz='',Bx=Bx,C=Bx.C}
end
local By,Bz=Bp(Al)
return By and{By=By,Bz=Bz,C=By=='x'and Bz or nil}
end
local function Ca(Cb,by)
local Bz=call('HINCRBY',Au,Cb,by)
if Bz<=0 then
call('HDEL',Au,Cb)
end
end
local function Cc(Cd,Bk)
if Bk==''then
return 0
end
if Cd.Bx then
return Cd.Bx.Bv and Cd.Bx.Bk==Bk and 1 or 0
end
return tonumber(call('HGET',Au,'o'..Bk)or 0)
end
local function Ce(Ag)
local _,Bg,Bh,_,Bk=Bf(Ag)
if Bk~=''then
Ca('o'..Bk,-1)
if Bg=='p'then
Ca('p'..Bk,-Bh)
end
end
end
local function Cf(Ap,Ag)
local _,Bg,Bh=Bf(Ag)
if Bg=='p'then
Ca('used',-Bh)
end
call('HDEL',At,Ap)
end
local function Cg()
call('UNLINK',Ac,As,At,Au)
end
local function Ch(Ci)
local Ap=string.sub(Ci,-32)
local Ag=call('HGET',At,Ap)
local Cj=Ci==Ap
if Ag then
local _,_,_,Bj=Bf(Ag)
if Cj then
Ce(Ag)
end
if not Cj or Bj=='0'then
Cf(Ap,Ag)
end
end
end
local function Ck()
local Cl=call('ZREVRANGE',As,0,0,'WITHSCORES')[2]
for _,Bc in ipairs({Ac,As,At,Au})do
call('PEXPIREAT',Bc,Cl)
end
end
local function Cm(J)
local Cn,Cl=false,call('ZREVRANGE',As,0,0,'WITHSCORES')
while Cl[1]and Ay>0 do
local Ci=Cl[1]
local _,_,_,Bj,_,An=Bf(call('HGET',At,string.sub(Ci,-32))or'')
local Co=An and J+An+(#Ci>32 and Bj or 0)
if not Co or tonumber(Cl[2])<=Co then
break
end
call('PEXPIREAT',Ac,Cl[2])
call('ZADD',As,Co,Ci)
Cn,Ay,Cl=true,Ay-3,call('ZREVRANGE',As,0,0,'WITHSCORES')
end
if Cn then
Ck()
end
return Cl[2]
end
local function Cp(J)
local Cl=Cm(J)
if not Cl or tonumber(Cl)<=J then
Cg()
return false
end
local Co=math.max(1,math.ceil(Ay/3))
local Cq=call('ZRANGEBYSCORE',As,'-inf',J,'LIMIT',0,Co)
if Cq[1]then
call('ZREM',As,unpack(Cq))
Az=#Cq==Co
Ay=Ay-3*#Cq
end
for _,Ci in ipairs(Cq)do
Ch(Ci)
end
return true
end
local function Cr(J,Ap)
local Cd=Bw(Bm())
if Cd and Cd.Bx and Cd.Bx.Bu then
call('PEXPIRE',Ac,Cd.Bx.Af)
end
if Cd and Cd.By and not Cd.Bx then
if not Cp(J)then
return{}
end
if Az and Ap then
for _,Ci in ipairs({Ap,'~'..Ap})do
local Cs=call('ZSCORE',As,Ci)
if Cs and tonumber(Cs)<=J then
call('ZREM',As,Ci)
Ch(Ci)
end
end
end
end
return Cd
end
local function Bv(Cd,Ap)
if Cd.Bx then
return Cd.Bx.Bv and Cd.Bx.Ap==Ap
end
return Cd.By and call('ZSCORE',As,Ap)
end
local function Ct(Ap,Cu,Bj)
call('ZADD',As,Cu,Ap)
if Bj>0 then
call('ZADD',As,Cu+Bj,'~'..Ap)
end
end
local function Cv(Cd,Ap,An,J)
local I=Cd.Bx and Cd.Bx.Ag or call('HGET',At,Ap)
local Ag=Bo(I,An)
local C,_,_,Bj,Bk=Bf(Ag)
Bj=tonumber(Bj)
call('PEXPIRE',Ac,An+Bj)
if Cd.Bx then
if Ag~=I then
call('SET',Ac,Ap..Cd.Bx.Am..Ag,'PX',An+Bj)
end
return C,Bk
end
if Ag~=I then
call('HSET',At,Ap,Ag)
end
Ct(Ap,J+An,Bj)
Ck()
return C,Bk
end
local function Cw(J)
return call('ZRANGEBYSCORE',As,'('..string.format('%.0f',J),'+inf','LIMIT',0,1)[1]
end
local function Cx(Ci,J)
local Ap=string.sub(Ci,-32)
local Cj=call('ZSCORE',As,Ap)
local Af=call('ZSCORE',As,'~'..Ap)or Cj
local Cd=Cj and'holding'or'closed'
return string.sub(Ap,1,8),Cd,(Cj or Af)-J,Af-J,Bn(call('HGET',At,Ap))
end
local function Cy(Cz,Cd)
local Bg,By,Bz=Cz.Bg,Cd.By,Cd.Bz
if not By then
return'fits'
end
if not Az and Cc(Cd,Cz.Bk)>0 then
if By=='x'and Bg=='x'and Cz.Da or By=='s'and Bg=='s'then
return'passes'
elseif By=='x'then
return'deadlock','x',1,''
elseif Bg=='x'then
return'deadlock',By,call('HGET',Au,'p'..Cz.Bk)or 1,Bz
end
end
if Bg=='x'or By=='x'then
return'in_the_way'
end
if Bg~=By or Cz.Db~=Bz then
local Ah=Cw(S(R()))
local _,_,Dc=Bf(call('HGET',At,string.sub(Ah,-32)))
return'mismatch',By,string.sub(Dc,1,20),Bz
end
local Dc=By=='p'and call('HGET',Au,'used')or 0
return(By=='s'or Dc+Cz.Bh<=tonumber(Bz))and'fits'or'in_the_way'
end
local function Dd(Cd)
local C=Cd.C or W()
return C and(Cd.C or string.format('%.0f',C))
end
local function De()
return Bd('the fence counter is not a number that can grow')
end
local function Df()
if call('ZCARD',As)+call('HLEN',At)+call('HLEN',Au)>0 then
call('UNLINK',As,At,Au)
end
end
local function Dg(Bx,J)
Df()
call('SET',Ac,'*x'..Bx.C,'PX',Bx.Af)
call('HSET',At,Bx.Ap,Bx.Ag)
Ct(Bx.Ap,J+Bx.Bt,Bx.Bj)
Ca('o'..Bx.Bk,1)
end
local function Dh(Cz,C)
local An,Bj,Ag=Cz.An,Cz.Bj,C..' '..Cz.Ag
call('SET',Ac,Cz.Ap..Cz.Am..Ag,'PX',An+Bj)
local Bx={
Ap=Cz.Ap,Br=false,Am=Cz.Am,Ag=Ag,C=C,Bj=Bj,
Bk=Cz.Bk,Bv=true,Af=An+Bj,Bt=An,
}
return{By='x',Bz='',Bx=Bx,C=C}
end
local function Di(Cz,Cd,C,J)
local Ap,Bk=Cz.Ap,Cz.Bk
if C~=Cd.C then
X(tonumber(C))
end
if not Cd.By and Cz.Bg=='x'then
return Dh(Cz,C)
end
if Cd.Bx then
Dg(Cd.Bx,J)
elseif not Cd.By then
Df()
call('SET',Ac,'*'..Cz.Bg..Cz.Db,'PX',Cz.An+Cz.Bj)
end
Ct(Ap,J+Cz.An,Cz.Bj)
call('HSET',At,Ap,C..' '..Cz.Ag)
if Cz.Bg=='p'then
Ca('used',Cz.Bh)
end
if Bk~=''then
Ca('o'..Bk,1)
if Cz.Bg=='p'then
Ca('p'..Bk,Cz.Bh)
end
end
if Cz.Bg=='x'then
return{By='x',Bz=C,C=C}
end
return{By=Cz.Bg,Bz=Cz.Db}
end
local function Dj(Ap)
if call('ZREM',Ax,Ap,'!'..Ap)==0 then
return false
end
call('HDEL',Aw,Ap)
return call('ZREM',Av,Ap)==1
end
local function Dk()
return string.match(call('HGET',Aw,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function Dl(J)
if call('EXISTS',Ax)==0 then
return false
end
local Co=math.max(1,Ay)
local Cq=call('ZRANGEBYSCORE',Ax,'-inf',J,'LIMIT',0,Co)
Ba=#Cq==Co
Ay=Ay-#Cq
for _,Ci in ipairs(Cq)do
local Ap=string.match(Ci,'^!(.*)')
if not Ap then
Dj(Ci)
else
local Dm=call('ZSCORE',Ax,Ap)
if Dm and tonumber(Dm)>J then
local Dn=string.match(call('HGET',Aw,Ap)or'','^%d+ %d %S+ (%d+)')
local Do=Dn and call('ZSCORE',Ax,Ci)-Dn
Bb=Bb or Do and Do>=tonumber((Dk()))
end
call('ZREM',Ax,Ci)
end
end
return true
end
local function Dp(Ap,Dq)
local Dr,Ds,Dt,Dn,Du,Db,Da,Ag=string.match(
Dq or'','^(%d+) ([01]) (%S+) (%d+) (%d+) (%d*) ([01]) (.*)$'
)
if not Dt then
return nil
end
local Bg,Bh,Bj,Bk,Ao=string.match(Ag,'^(%a) (%d+) (%d+)/?%d* (%S*) (.*)$')
local Dv=Bj~='0'
return{
Ap=Ap,Bg=Bg,Da=Da=='1',Bh=Bh,Db=Db,Bk=Bk,
Ag=string.format('%s %s %s%s/%s %s ',Bg,Bh,Dv and'!'or'',Bj,Dn,Bk)..Ao,
An=tonumber(Dn),Bj=0,Am=Dv and'+'or'-',Dt=Dt,Dr=tonumber(Dr),
Du=tonumber(Du),Ds=Ds=='1',
}
end
local function Dw(Dt,Be)
local Dx=A('PUBLISH',Dt,Be)
return type(Dx)~='number'or Dx>0
end
local function Dy(Ap)
return string.match(call('HGET',Aw,Ap)or'','^%d+ %d (%S+)')
end
local function Dz(Ea,Be)
local Eb,Ec=8,nil
for _,Ap in ipairs(call('ZRANGE',Av,0,Eb))do
if Ap~=Ea and Eb>0 then
Eb=Eb-1
local Dt=Dy(Ap)
if Dt and Dw(Dt,Be..Ap)then
Ec=Dt
break
end
end
end
local T=call('ZREVRANGE',Av,0,0)[1]
local Dt=T and T~=Ea and Dy(T)
if Dt and Dt~=Ec then
Dw(Dt,Be..T)
end
end
local function Ed(Ea,J,I)
local Ee=call('ZREVRANGE',Ax,0,0,'WITHSCORES')[2]
if not Ee then
return
end
local Ef=0
for _,Ap in ipairs(call('ZRANGE',Av,0,319))do
local Dr,Dt=string.match(call('HGET',Aw,Ap)or'','^(%d+) %d (%S+)')
if Dt then
Ef=Dr
if Ap~=Ea then
Dw(Dt,'!'..Ap)
end
end
end
call('HSET',Aw,'?',string.format('%.0f %s %s',J,Ef,I))
call('PEXPIREAT',Aw,Ee)
end
local function Eg(Cd,J,Ea)
local Eh,Ei,Ej,Ek=Bb,false,false,false
local El,Em,En,Eo=Dk()
if Eh then
Ay=math.max(5,Ay-260)
Bb,En,Eo=false,El,Em
end
Ay=math.max(5,Ay)
local I=En..' '..Eo
En,Eo=tonumber(En),tonumber(Eo)
local Ep,at,N,Eq,Er={},0,0,0,{}
while true do
if Cd.Bx and Cd.Bx.Bk==''then
break
end
at=at+1
if at>N then
if Er[1]then
call('ZREM',Av,unpack(Er))
Er={}
end
local Co=math.min(math.max(Eq,1),64)
Ep=call('ZRANGE',Av,0,Co)
if not Ep[1]then
break
end
N,at=math.min(#Ep,Co),1
end
local Es,Et=Ep[at],Ep[at+1]
local Dq=call('HGET',Aw,Es)
local Cz=Dp(Es,Dq)
local Eu=math.floor(#(Dq or'')/256)
local Dm=Cz and(Ba or Cz.Dr<=Eo)and call('ZSCORE',Ax,Es)
if not Cz or Ba and Dm and tonumber(Dm)<=J then
if Ay<=0 then
Ek=true
break
end
Ay=Ay-1-Eu
Er[#Er+1]=Es
Dj(Es)
else
local Ev=Cy(Cz,Cd)
V=true
local C=(Ev=='fits'or Ev=='passes')and Dd(Cd)
if not C then
break
end
if Ay<=0 then
Ek=true
break
end
if Eq==0 then
call('ZREM',Av,Es)
else
Er[#Er+1]=Es
end
local Dx=Es==Ea
local Ew=Cz.Dr<=Eo and Dm
if not Dx and not(Ew and Dm-Cz.Du<En)then
Dx=Dw(Cz.Dt,Es)or Cz.Ds
end
if not Dx then
Ay,Eq=Ay-1-Eu,Eq+1
else
Ay,Eq=Ay-5-Eu,0
if Er[1]then
call('ZREM',Av,unpack(Er))
Er={}
end
if Es==Ea then
Dj(Es)
else
call('ZADD',Ax,J+Cz.An,'!'..Es)
Ej=true
end
if Et or Ej then
Cz.Am='+'
end
Cd=Di(Cz,Cd,C,J)
Ei=true
end
end
end
if Er[1]then
call('ZREM',Av,unpack(Er))
end
if Eh then
Ed(Ea,J,I)
elseif Ek then
Dz(Ea,'!')
elseif Ej then
Dz(Ea,'?')
end
if Ei and not Cd.Bx then
Ck()
end
return Cd
end
local J=S(R())
local function Ex(Ah)
local Aj,Ey=ARGV[Ah],Ah
while ARGV[Ey+1]==''do
Ey=Ey-4
end
local Af,Ag,Ez=unpack(ARGV,Ey+1,Ey+3)
local Bg,Bh,Bj,Bk=string.match(Ag,'^(%a) (%d+) (%d+)/?%d* (%S*) ')
local Da,Db,Dt,Dn,Du,Co,Fa=
string.match(Ez,'^([01]) (%d*) ?(%S*) ?(%d*) ?(%d*) ?(%d*) ?(%d*)$')
return{
Ap=string.sub(Aj,1,32),Bg=Bg,Da=Da=='1',Bh=Bh,Db=Db,
An=Af-Bj,Bj=tonumber(Bj),Bk=Bk,Ag=Ag,Am=string.sub(Aj,33),
Dt=Dt~=''and Dt,Dn=Dn,Du=tonumber(Du),Co=tonumber(Co),
Fa=tonumber(Fa),
}
end
local function Fb(Cd,C,Bk)
return{'granted',C,math.max(1,Cc(Cd,Bk))}
end
local function Fc(Cd,Ap)
if Cd.Bx then
return Cd.Bx.Ap==Ap
end
return Cd.By and call('HGET',At,Ap)
end
local function Fd(Ai,Cz,Cd,Fe)
local Bx,Ec=Cd.Bx,nil
if Bx then
local Ff=Bx.Bv and'holding'or'closed'
Ec={string.sub(Bx.Ap,1,8),Ff,Bx.Bt,Bx.Af,'',Bx.Ag}
else
local Bh=Cz.Bg=='p'and Cd.By=='p'
local Ci=Fe and'~'..Cz.Ap
or Bh and Cw(J)
or call('ZREVRANGE',As,0,0)[1]
local Fg,Ff,Bt,Af,Ag=Cx(Ci,J)
if Bh and Az then
Af=0
end
Ec={Fg,Ff,Bt,Af,Cd.Bz,Ag}
end
for _,Cb in ipairs(Ec)do
Ai[#Ai+1]=Cb
end
return Ai
end
local function Fh(Cz,Cd)
if Dj(Cz.Ap)then
Eg(Cd,J)
end
end
local function Fi(Cd)
if Cd.Bx and Cd.Bx.Am=='-'and not Cd.Bx.Br then
call('SETRANGE',Ac,32,'+')
end
end
local Fj=0
local function Fk(Cz,Cd)
local T=call('ZREVRANGE',Av,0,0,'WITHSCORES')[2]or 0
local Bz=Cz.Fa
if not Bz then
Fj=math.max(T+1,Fj+1,R())
Bz=Fj
end
local Dr=string.format('%.0f',Bz)
call('ZADD',Av,Dr,Cz.Ap)
local Da=Cz.Da and'1'or'0'
local Fl={
Dr,'0',Cz.Dt,Cz.Dn,Cz.Du,Cz.Db,Da,Cz.Ag,
}
call('HSET',Aw,Cz.Ap,table.concat(Fl,' '))
Fi(Cd)
end
local function Fm(Ap,Cd)
if call('ZSCORE',Av,Ap)or not call('ZSCORE',Ax,Ap)or Bv(Cd,Ap)then
return
end
local Dq=call('HGET',Aw,Ap)
if not Dq then
Dj(Ap)
return
end
call('ZREM',Ax,'!'..Ap)
local Dr,Ao=string.match(Dq,'^(%d+) %d (.*)$')
call('HSET',Aw,Ap,Dr..' 1 '..Ao)
call('ZADD',Av,Dr,Ap)
call('PEXPIREAT',Av,call('ZREVRANGE',Ax,0,0,'WITHSCORES')[2])
Fi(Cd)
end
local function Fn(Cz)
call('ZADD',Ax,J+Cz.Du,Cz.Ap)
local Cl=call('ZREVRANGE',Ax,0,0,'WITHSCORES')[2]
for _,Bc in ipairs({Av,Aw,Ax})do
call('PEXPIREAT',Bc,Cl)
end
end
local function Fo(Cz,Cd,Fp)
local Fq=call('ZRANK',Av,Cz.Ap)
if Fq then
call('PEXPIRE',Av,Cz.Du)
elseif Fp>=Cz.Co and not Ba then
return{'full',Fp}
else
Fk(Cz,Cd)
Fq=call('ZRANK',Av,Cz.Ap)
end
Fn(Cz)
return Fd({'queued',Fq},Cz,Cd)
end
local function Fr(Cz,Cd,C)
local Fs=Di(Cz,Cd,C,J)
if not Fs.Bx then
Ck()
end
return Fb(Fs,C,Cz.Bk)
end
local function Ft(Cz)
local Ap=Cz.Ap
local Cd=Cr(J,Ap)
if not Cd then
return Bd()
end
if Cd.Bx and Cd.Bx.Af<0 then
return Bd('a lock without an end')
end
local Fp=0
local Fu=Dl(J)
if Fu then
Fm(Ap,Cd)
Cd=Eg(Cd,J,Ap)
Fp=call('ZCARD',Av)
end
if Bv(Cd,Ap)then
local C,Bk=Cv(Cd,Ap,Cz.An,J)
if Fu then
Dj(Ap)
end
return Fb(Cd,C,Bk)
end
if Fc(Cd,Ap)then
return Fd({'refused'},Cz,Cd,true)
end
local Ev,Fv,Fw,Fx=Cy(Cz,Cd)
if Ev=='deadlock'or Ev=='mismatch'then
Fh(Cz,Cd)
return{Ev,Fv,Fw,Fx}
end
if Ev=='passes'or Ev=='fits'and(Fp==0 or not Cd.By)then
local C=Dd(Cd)
if not C then
return De()
end
if Fp>0 then
Dj(Ap)
end
return Fr(Cz,Cd,C)
end
if Cz.Dt then
return Fo(Cz,Cd,Fp)
end
local Fy=Fd({'refused'},Cz,Cd)
Fh(Cz,Cd)
return Fy
end
local function Fz(Ah)
at=(Ah-2)/N+1
return Ft(Ex(Ah))
end
Ay=Ay-math.floor(#P/3)
for _,i in ipairs(P)do
local Ai='later'
if Ay>0 then
on(KEYS[i])
local Ei
Ei,Ai=pcall(Fz,2+N*(i-1))
if not Ei then
Ai={'error',type(Ai)=='table'and Ai.err or Ai}
end
Ay=Ay-35
end
O[i+1]=Ai
end
return O
