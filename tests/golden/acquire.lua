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
O[#KEYS+2]=type(M)=='string'and M or''
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
local Al=A('GET',Ac)
if type(Al)=='string'and string.sub(Al,1,32)==string.sub(Aj,1,32)then
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
local function Bj(Ag)
return(string.gsub(Ag,'^(%d+ %a %d+ )!','%1'))
end
local function Bk(Al)
return string.match(Al,'^%*([spx])(%d*)$')
end
local function Bl(Al)
local Bm,An,Am,Ag=string.match(Al,'^(~?)(%x+)([-+])(.*)$')
if not An or#An~=32 then
return nil
end
local C,Be,_,Bh,Bi=Bd(Ag)
if Be~='x'then
return nil
end
local Bn=call('PTTL',Ac)
Bh=tonumber(Bh)
local Bo=Bm==''and Bn>Bh
return{
An=An,Bm=Bm~='',Am=Am,Ag=Ag,C=C,Bh=Bh,Bi=Bi,
Bo=Bo,Af=Bn,Bn=Bo and Bn-Bh or Bn,
}
end
local function Bp(Al)
if not Al then
return{}
end
if string.sub(Al,1,1)~='*'then
local Bq=Bl(Al)
return Bq and{Br='x',Bs='',Bq=Bq,C=Bq.C}
end
local Br,Bs=Bk(Al)
return Br and{Br=Br,Bs=Bs,C=Br=='x'and Bs or nil}
end
local function Bt(Bu,by)
local Bs=call('HINCRBY',As,Bu,by)
if Bs<=0 then
call('HDEL',As,Bu)
end
end
local function Bv(Bw,Bi)
if Bi==''then
return 0
end
if Bw.Bq then
return Bw.Bq.Bo and Bw.Bq.Bi==Bi and 1 or 0
end
return tonumber(call('HGET',As,'o'..Bi)or 0)
end
local function Bx(Ag)
local _,Be,Bf,_,Bi=Bd(Ag)
if Bi~=''then
Bt('o'..Bi,-1)
if Be=='p'then
Bt('p'..Bi,-Bf)
end
end
end
local function By(An,Ag)
local _,Be,Bf=Bd(Ag)
if Be=='p'then
Bt('used',-Bf)
end
call('HDEL',Ar,An)
end
local function Bz()
call('UNLINK',Ac,Aq,Ar,As)
end
local function Ca(Cb)
local An=string.sub(Cb,-32)
local Ag=call('HGET',Ar,An)
local Cc=Cb==An
if Ag then
local _,_,_,Bh=Bd(Ag)
if Cc then
Bx(Ag)
end
if not Cc or Bh=='0'then
By(An,Ag)
end
end
end
local function Cd(J)
local Ce=call('ZREVRANGE',Aq,0,0,'WITHSCORES')[2]
if not Ce or tonumber(Ce)<=J then
Bz()
return false
end
local Cf=math.max(1,math.ceil(Aw/3))
local Cg=call('ZRANGEBYSCORE',Aq,'-inf',J,'LIMIT',0,Cf)
if Cg[1]then
call('ZREM',Aq,unpack(Cg))
Ax=#Cg==Cf
Aw=Aw-3*#Cg
end
for _,Cb in ipairs(Cg)do
Ca(Cb)
end
return true
end
local function Ch(Al,J,An)
local Bw=Bp(Al)
if Bw and Bw.Br and not Bw.Bq then
if not Cd(J)then
return{}
end
if Ax and An then
for _,Cb in ipairs({An,'~'..An})do
local Ci=call('ZSCORE',Aq,Cb)
if Ci and tonumber(Ci)<=J then
call('ZREM',Aq,Cb)
Ca(Cb)
end
end
end
end
return Bw
end
local function Bo(Bw,An)
if Bw.Bq then
return Bw.Bq.Bo and Bw.Bq.An==An
end
return Bw.Br and call('ZSCORE',Aq,An)
end
local function Cj(An,Ck,Bh)
call('ZADD',Aq,Ck,An)
if Bh>0 then
call('ZADD',Aq,Ck+Bh,'~'..An)
end
end
local function Cl()
local Ce=call('ZREVRANGE',Aq,0,0,'WITHSCORES')[2]
for _,Ba in ipairs({Ac,Aq,Ar,As})do
call('PEXPIREAT',Ba,Ce)
end
end
local function Cm(Bw,An,Cn,J)
local I=Bw.Bq and Bw.Bq.Ag or call('HGET',Ar,An)
local Ag=Bj(I)
local C,_,_,Bh,Bi=Bd(Ag)
Bh=tonumber(Bh)
call('PEXPIRE',Ac,Cn+Bh)
if Bw.Bq then
if Ag~=I then
call('SET',Ac,An..'+'..Ag,'PX',Cn+Bh)
end
return C,Bi
end
if Ag~=I then
call('HSET',Ar,An,Ag)
end
Cj(An,J+Cn,Bh)
Cl()
return C,Bi
end
local function Co(J)
return call('ZRANGEBYSCORE',Aq,'('..string.format('%.0f',J),'+inf','LIMIT',0,1)[1]
end
local function Cp(Cb,J)
local An=string.sub(Cb,-32)
local Cc=call('ZSCORE',Aq,An)
local Af=call('ZSCORE',Aq,'~'..An)or Cc
local Bw=Cc and'holding'or'closed'
return string.sub(An,1,8),Bw,(Cc or Af)-J,Af-J,call('HGET',Ar,An)
end
local function Cq(Cr,Bw)
local Be,Br,Bs=Cr.Be,Bw.Br,Bw.Bs
if not Br then
return'fits'
end
if not Ax and Bv(Bw,Cr.Bi)>0 then
if Br=='x'and Be=='x'and Cr.Cs or Br=='s'and Be=='s'then
return'passes'
elseif Br=='x'then
return'deadlock','x',1,''
elseif Be=='x'then
return'deadlock',Br,call('HGET',As,'p'..Cr.Bi)or 1,Bs
end
end
if Be=='x'or Br=='x'then
return'in_the_way'
end
if Be~=Br or Cr.Ct~=Bs then
local Ah=Co(S(R()))
local _,_,Cu=Bd(call('HGET',Ar,string.sub(Ah,-32)))
return'mismatch',Br,Cu,Bs
end
local Cu=Br=='p'and call('HGET',As,'used')or 0
return(Br=='s'or Cu+Cr.Bf<=tonumber(Bs))and'fits'or'in_the_way'
end
local function Cv(Bw)
local C=Bw.C or W()
return C and(Bw.C or string.format('%.0f',C))
end
local function Cw()
return Bb('the fence counter is not a number that can grow')
end
local function Cx()
if call('ZCARD',Aq)+call('HLEN',Ar)+call('HLEN',As)>0 then
call('UNLINK',Aq,Ar,As)
end
end
local function Cy(Bq,J)
Cx()
call('SET',Ac,'*x'..Bq.C,'PX',Bq.Af)
call('HSET',Ar,Bq.An,Bq.Ag)
Cj(Bq.An,J+Bq.Bn,Bq.Bh)
Bt('o'..Bq.Bi,1)
end
local function Cz(Cr,C)
local Cn,Bh,Ag=Cr.Cn,Cr.Bh,C..' '..Cr.Ag
call('SET',Ac,Cr.An..Cr.Am..Ag,'PX',Cn+Bh)
local Bq={
An=Cr.An,Bm=false,Am=Cr.Am,Ag=Ag,C=C,Bh=Bh,
Bi=Cr.Bi,Bo=true,Af=Cn+Bh,Bn=Cn,
}
return{Br='x',Bs='',Bq=Bq,C=C}
end
local function Da(Cr,Bw,C,J)
local An,Bi=Cr.An,Cr.Bi
if C~=Bw.C then
X(tonumber(C))
end
if not Bw.Br and Cr.Be=='x'then
return Cz(Cr,C)
end
if Bw.Bq then
Cy(Bw.Bq,J)
elseif not Bw.Br then
Cx()
call('SET',Ac,'*'..Cr.Be..Cr.Ct,'PX',Cr.Cn+Cr.Bh)
end
Cj(An,J+Cr.Cn,Cr.Bh)
call('HSET',Ar,An,C..' '..Cr.Ag)
if Cr.Be=='p'then
Bt('used',Cr.Bf)
end
if Bi~=''then
Bt('o'..Bi,1)
if Cr.Be=='p'then
Bt('p'..Bi,Cr.Bf)
end
end
if Cr.Be=='x'then
return{Br='x',Bs=C,C=C}
end
return{Br=Cr.Be,Bs=Cr.Ct}
end
local function Db(An)
if call('ZREM',Av,An,'!'..An)==0 then
return false
end
call('HDEL',Au,An)
return call('ZREM',At,An)==1
end
local function Dc()
return string.match(call('HGET',Au,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function Dd(J)
if call('EXISTS',Av)==0 then
return false
end
local Cf=math.max(1,Aw)
local Cg=call('ZRANGEBYSCORE',Av,'-inf',J,'LIMIT',0,Cf)
Ay=#Cg==Cf
Aw=Aw-#Cg
for _,Cb in ipairs(Cg)do
local An=string.match(Cb,'^!(.*)')
if not An then
Db(Cb)
else
local De=call('ZSCORE',Av,An)
if De and tonumber(De)>J then
local Df=string.match(call('HGET',Au,An)or'','^%d+ %d %S+ (%d+)')
local Dg=Df and call('ZSCORE',Av,Cb)-Df
Az=Az or Dg and Dg>=tonumber((Dc()))
end
call('ZREM',Av,Cb)
end
end
return true
end
local function Dh(An,Di)
local Dj,Dk,Dl,Df,Dm,Ct,Cs,Ag=string.match(
Di or'','^(%d+) ([01]) (%S+) (%d+) (%d+) (%d*) ([01]) (.*)$'
)
if not Dl then
return nil
end
local Be,Bf,Bh,Bi,Dn=string.match(Ag,'^(%a) (%d+) (%d+) (%S*) (.*)$')
local Do=Bh~='0'
return{
An=An,Be=Be,Cs=Cs=='1',Bf=Bf,Ct=Ct,Bi=Bi,
Ag=string.format('%s %s %s%s %s ',Be,Bf,Do and'!'or'',Bh,Bi)..Dn,
Cn=tonumber(Df),Bh=0,Am=Do and'+'or'-',Dl=Dl,Dj=tonumber(Dj),
Dm=tonumber(Dm),Dk=Dk=='1',
}
end
local function Dp(Dl,Bc)
local Dq=A('PUBLISH',Dl,Bc)
return type(Dq)~='number'or Dq>0
end
local function Dr(An)
return string.match(call('HGET',Au,An)or'','^%d+ %d (%S+)')
end
local function Ds(Dt,Bc)
local Du,Dv=8,nil
for _,An in ipairs(call('ZRANGE',At,0,Du))do
if An~=Dt and Du>0 then
Du=Du-1
local Dl=Dr(An)
if Dl and Dp(Dl,Bc..An)then
Dv=Dl
break
end
end
end
local T=call('ZREVRANGE',At,0,0)[1]
local Dl=T and T~=Dt and Dr(T)
if Dl and Dl~=Dv then
Dp(Dl,Bc..T)
end
end
local function Dw(Dt,J,I)
local Dx=call('ZREVRANGE',Av,0,0,'WITHSCORES')[2]
if not Dx then
return
end
local Dy=0
for _,An in ipairs(call('ZRANGE',At,0,319))do
local Dj,Dl=string.match(call('HGET',Au,An)or'','^(%d+) %d (%S+)')
if Dl then
Dy=Dj
if An~=Dt then
Dp(Dl,'!'..An)
end
end
end
call('HSET',Au,'?',string.format('%.0f %s %s',J,Dy,I))
call('PEXPIREAT',Au,Dx)
end
local function Dz(Bw,J,Dt)
local Ea,Eb,Ec,Ed=Az,false,false,false
local Ee,Ef,Eg,Eh=Dc()
if Ea then
Aw=math.max(5,Aw-260)
Az,Eg,Eh=false,Ee,Ef
end
Aw=math.max(5,Aw)
local I=Eg..' '..Eh
Eg,Eh=tonumber(Eg),tonumber(Eh)
local Ei,at,N,Ej,Ek={},0,0,0,{}
while true do
if Bw.Bq and Bw.Bq.Bi==''then
break
end
at=at+1
if at>N then
if Ek[1]then
call('ZREM',At,unpack(Ek))
Ek={}
end
local Cf=math.min(math.max(Ej,1),64)
Ei=call('ZRANGE',At,0,Cf)
if not Ei[1]then
break
end
N,at=math.min(#Ei,Cf),1
end
local El,Em=Ei[at],Ei[at+1]
local Di=call('HGET',Au,El)
local Cr=Dh(El,Di)
local En=math.floor(#(Di or'')/256)
local De=Cr and(Ay or Cr.Dj<=Eh)and call('ZSCORE',Av,El)
if not Cr or Ay and De and tonumber(De)<=J then
if Aw<=0 then
Ed=true
break
end
Aw=Aw-1-En
Ek[#Ek+1]=El
Db(El)
else
local Eo=Cq(Cr,Bw)
V=true
local C=(Eo=='fits'or Eo=='passes')and Cv(Bw)
if not C then
break
end
if Aw<=0 then
Ed=true
break
end
if Ej==0 then
call('ZREM',At,El)
else
Ek[#Ek+1]=El
end
local Dq=El==Dt
local Ep=Cr.Dj<=Eh and De
if not Dq and not(Ep and De-Cr.Dm<Eg)then
Dq=Dp(Cr.Dl,El)or Cr.Dk
end
if not Dq then
Aw,Ej=Aw-1-En,Ej+1
else
Aw,Ej=Aw-5-En,0
if Ek[1]then
call('ZREM',At,unpack(Ek))
Ek={}
end
if El==Dt then
Db(El)
else
call('ZADD',Av,J+Cr.Cn,'!'..El)
Ec=true
end
if Em or Ec then
Cr.Am='+'
end
Bw=Da(Cr,Bw,C,J)
Eb=true
end
end
end
if Ek[1]then
call('ZREM',At,unpack(Ek))
end
if Ea then
Dw(Dt,J,I)
elseif Ed then
Ds(Dt,'!')
elseif Ec then
Ds(Dt,'?')
end
if Eb and not Bw.Bq then
Cl()
end
return Bw
end
local J=S(R())
local function Eq(Ah)
local Aj,Er=ARGV[Ah],Ah
while ARGV[Er+1]==''do
Er=Er-4
end
local Af,Ag,Es=unpack(ARGV,Er+1,Er+3)
local Be,Bf,Bh,Bi=string.match(Ag,'^(%a) (%d+) (%d+) (%S*) ')
local Cs,Ct,Dl,Df,Dm,Cf,Et=
string.match(Es,'^([01]) (%d*) ?(%S*) ?(%d*) ?(%d*) ?(%d*) ?(%d*)$')
return{
An=string.sub(Aj,1,32),Be=Be,Cs=Cs=='1',Bf=Bf,Ct=Ct,
Cn=Af-Bh,Bh=tonumber(Bh),Bi=Bi,Ag=Ag,Am=string.sub(Aj,33),
Dl=Dl~=''and Dl,Df=Df,Dm=tonumber(Dm),Cf=tonumber(Cf),
Et=tonumber(Et),
}
end
local function Eu(Bw,C,Bi)
return{'granted',C,math.max(1,Bv(Bw,Bi))}
end
local function Ev(Bw,An)
if Bw.Bq then
return Bw.Bq.An==An
end
return Bw.Br and call('HGET',Ar,An)
end
local function Ew(Ai,Cr,Bw,Ex)
local Bq,Dv=Bw.Bq,nil
if Bq then
local Ey=Bq.Bo and'holding'or'closed'
Dv={string.sub(Bq.An,1,8),Ey,Bq.Bn,Bq.Af,'',Bq.Ag}
else
local Bf=Cr.Be=='p'and Bw.Br=='p'
local Cb=Ex and'~'..Cr.An
or Bf and Co(J)
or call('ZREVRANGE',Aq,0,0)[1]
local Ez,Ey,Bn,Af,Ag=Cp(Cb,J)
if Bf and Ax then
Af=0
end
Dv={Ez,Ey,Bn,Af,Bw.Bs,Ag}
end
for _,Bu in ipairs(Dv)do
Ai[#Ai+1]=Bu
end
return Ai
end
local function Fa(Cr,Bw)
if Db(Cr.An)then
Dz(Bw,J)
end
end
local function Fb(Bw)
if Bw.Bq and Bw.Bq.Am=='-'and not Bw.Bq.Bm then
call('SETRANGE',Ac,32,'+')
end
end
local Fc=0
local function Fd(Cr,Bw)
local T=call('ZREVRANGE',At,0,0,'WITHSCORES')[2]or 0
local Bs=Cr.Et
if not Bs then
Fc=math.max(T+1,Fc+1,R())
Bs=Fc
end
local Dj=string.format('%.0f',Bs)
call('ZADD',At,Dj,Cr.An)
local Cs=Cr.Cs and'1'or'0'
local Fe={
Dj,'0',Cr.Dl,Cr.Df,Cr.Dm,Cr.Ct,Cs,Cr.Ag,
}
call('HSET',Au,Cr.An,table.concat(Fe,' '))
Fb(Bw)
end
local function Ff(An,Bw)
if call('ZSCORE',At,An)or not call('ZSCORE',Av,An)or Bo(Bw,An)then
return
end
local Di=call('HGET',Au,An)
if not Di then
Db(An)
return
end
call('ZREM',Av,'!'..An)
local Dj,Dn=string.match(Di,'^(%d+) %d (.*)$')
call('HSET',Au,An,Dj..' 1 '..Dn)
call('ZADD',At,Dj,An)
call('PEXPIREAT',At,call('ZREVRANGE',Av,0,0,'WITHSCORES')[2])
Fb(Bw)
end
local function Fg(Cr)
call('ZADD',Av,J+Cr.Dm,Cr.An)
local Ce=call('ZREVRANGE',Av,0,0,'WITHSCORES')[2]
for _,Ba in ipairs({At,Au,Av})do
call('PEXPIREAT',Ba,Ce)
end
end
local function Fh(Cr,Bw,Fi)
local Fj=call('ZRANK',At,Cr.An)
if Fj then
call('PEXPIRE',At,Cr.Dm)
elseif Fi>=Cr.Cf and not Ay then
return{'full',Fi}
else
Fd(Cr,Bw)
Fj=call('ZRANK',At,Cr.An)
end
Fg(Cr)
return Ew({'queued',Fj},Cr,Bw)
end
local function Fk(Cr,Bw,C)
local Fl=Da(Cr,Bw,C,J)
if not Fl.Bq then
Cl()
end
return Eu(Fl,C,Cr.Bi)
end
local function Fm(Cr)
local An=Cr.An
local Bw=Ch(call('GET',Ac),J,An)
if not Bw then
return Bb()
end
if Bw.Bq and Bw.Bq.Af<0 then
return Bb('a lock without an end')
end
local Fi=0
local Fn=Dd(J)
if Fn then
Ff(An,Bw)
Bw=Dz(Bw,J,An)
Fi=call('ZCARD',At)
end
if Bo(Bw,An)then
local C,Bi=Cm(Bw,An,Cr.Cn,J)
if Fn then
Db(An)
end
return Eu(Bw,C,Bi)
end
if Ev(Bw,An)then
return Ew({'refused'},Cr,Bw,true)
end
local Eo,Fo,Fp,Fq=Cq(Cr,Bw)
if Eo=='deadlock'or Eo=='mismatch'then
Fa(Cr,Bw)
return{Eo,Fo,Fp,Fq}
end
if Eo=='passes'or Eo=='fits'and(Fi==0 or not Bw.Br)then
local C=Cv(Bw)
if not C then
return Cw()
end
if Fi>0 then
Db(An)
end
return Fk(Cr,Bw,C)
end
if Cr.Dl then
return Fh(Cr,Bw,Fi)
end
local Fr=Ew({'refused'},Cr,Bw)
Fa(Cr,Bw)
return Fr
end
local function Fs(Ah)
at=(Ah-2)/N+1
return Fm(Eq(Ah))
end
Aw=Aw-math.floor(#P/3)
for _,i in ipairs(P)do
local Ai='later'
if Aw>0 then
on(KEYS[i])
local Eb
Eb,Ai=pcall(Fs,2+N*(i-1))
if not Eb then
Ai={'error',type(Ai)=='table'and Ai.err or Ai}
end
Aw=Aw-35
end
O[i+1]=Ai
end
return O
