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
local K=false
local function L(i)
if not H then
local M=tonumber(A('GET',G)or 0)
if not M or not(M<9000000000000000)then
return nil
end
H=math.max(M,D()-1)
end
return J and math.max(H+1,J+(i or at))or H+1
end
local function N(O)
if O>I then
local P=O+#KEYS-2
if ARGV[#ARGV]=='0'or K and call('PTTL',G)==-1 then
call('SET',G,P)
else
call('SET',G,P,'PX',ARGV[#ARGV])
end
I=P
end
H=O
end
local Q=call('GET',KEYS[1])
if
Q
and#ARGV[2]==33
and string.sub(Q,1,32)==B
and string.find(Q,'^[-+]%d+ x 1 0 ',33)
and call('EXISTS',KEYS[1]..':p')==0
then
local O=L()
if O and pcall(N,O)then
call('SET',KEYS[1],ARGV[2]..string.format('%.0f',O)..' '..ARGV[4],'PX',ARGV[3])
return{ARGV[1],1,O,0}
end
end
local R,S,T,U,V,W,X
local Y,Z,Aa,Ab=320,false,false,false
local function on(Ac)
Y,Z,Aa,Ab=math.max(Y,5),false,false,false
R,S,T,U=Ac,Ac..':h',Ac..':d',Ac..':o'
V,W,X=Ac..':q',Ac..':w',Ac..':p'
end
local function Ad(Ae)
return{'corrupt',Ae or'a value that is no lock'}
end
local function Af(Ag)
local O,Ah,Ai,Aj,Ak,Al=string.match(Ag,'^(%d+) (%a) (%d+) (!?)(%d+) (%S*) ')
return O,Ah,Ai,Aj==''and Ak or'0',Al
end
local function Am(Ag)
return(string.gsub(Ag,'^(%d+ %a %d+ )!','%1'))
end
local function An(Q)
return string.match(Q,'^%*([spx])(%d*)$')
end
local function Ao(Q)
local Ap,Aq,Ar,Ag=string.match(Q,'^(~?)(%x+)([-+])(.*)$')
if not Aq or#Aq~=32 then
return nil
end
local O,Ah,_,Ak,Al=Af(Ag)
if Ah~='x'then
return nil
end
local As=call('PTTL',R)
Ak=tonumber(Ak)
local At=Ap==''and As>Ak
return{
Aq=Aq,Ap=Ap~='',Ar=Ar,Ag=Ag,O=O,Ak=Ak,Al=Al,
At=At,Au=As,As=At and As-Ak or As,
}
end
local function Av(Q)
if not Q then
return{}
end
if string.sub(Q,1,1)~='*'then
local Aw=Ao(Q)
return Aw and{Ax='x',Ay='',Aw=Aw,O=Aw.O}
end
local Ax,Ay=An(Q)
return Ax and{Ax=Ax,Ay=Ay,O=Ax=='x'and Ay or nil}
end
local function Az(Ba,by)
local Ay=call('HINCRBY',U,Ba,by)
if Ay<=0 then
call('HDEL',U,Ba)
end
end
local function Bb(Bc,Al)
if Al==''then
return 0
end
if Bc.Aw then
return Bc.Aw.At and Bc.Aw.Al==Al and 1 or 0
end
return tonumber(call('HGET',U,'o'..Al)or 0)
end
local function Bd(Ag)
local _,Ah,Ai,_,Al=Af(Ag)
if Al~=''then
Az('o'..Al,-1)
if Ah=='p'then
Az('p'..Al,-Ai)
end
end
end
local function Be(Aq,Ag)
local _,Ah,Ai=Af(Ag)
if Ah=='p'then
Az('used',-Ai)
end
call('HDEL',T,Aq)
end
local function Bf()
call('UNLINK',R,S,T,U)
end
local function Bg(Bh)
local Aq=string.sub(Bh,-32)
local Ag=call('HGET',T,Aq)
local Bi=Bh==Aq
if Ag then
local _,_,_,Ak=Af(Ag)
if Bi then
Bd(Ag)
end
if not Bi or Ak=='0'then
Be(Aq,Ag)
end
end
end
local function Bj(Bk)
local Bl=call('ZREVRANGE',S,0,0,'WITHSCORES')[2]
if not Bl or tonumber(Bl)<=Bk then
Bf()
return false
end
local Bm=math.max(1,math.ceil(Y/3))
local Bn=call('ZRANGEBYSCORE',S,'-inf',Bk,'LIMIT',0,Bm)
if Bn[1]then
call('ZREM',S,unpack(Bn))
Z=#Bn==Bm
Y=Y-3*#Bn
end
for _,Bh in ipairs(Bn)do
Bg(Bh)
end
return true
end
local function Bo(Q,Bk,Aq)
local Bc=Av(Q)
if Bc and Bc.Ax and not Bc.Aw then
if not Bj(Bk)then
return{}
end
if Z and Aq then
for _,Bh in ipairs({Aq,'~'..Aq})do
local Bp=call('ZSCORE',S,Bh)
if Bp and tonumber(Bp)<=Bk then
call('ZREM',S,Bh)
Bg(Bh)
end
end
end
end
return Bc
end
local function At(Bc,Aq)
if Bc.Aw then
return Bc.Aw.At and Bc.Aw.Aq==Aq
end
return Bc.Ax and call('ZSCORE',S,Aq)
end
local function Bq(Aq,Br,Ak)
call('ZADD',S,Br,Aq)
if Ak>0 then
call('ZADD',S,Br+Ak,'~'..Aq)
end
end
local function Bs()
local Bl=call('ZREVRANGE',S,0,0,'WITHSCORES')[2]
for _,Ac in ipairs({R,S,T,U})do
call('PEXPIREAT',Ac,Bl)
end
end
local function Bt(Bc,Aq,Bu,Bk)
local M=Bc.Aw and Bc.Aw.Ag or call('HGET',T,Aq)
local Ag=Am(M)
local O,_,_,Ak,Al=Af(Ag)
Ak=tonumber(Ak)
call('PEXPIRE',R,Bu+Ak)
if Bc.Aw then
if Ag~=M then
call('SET',R,Aq..'+'..Ag,'PX',Bu+Ak)
end
return O,Al
end
if Ag~=M then
call('HSET',T,Aq,Ag)
end
Bq(Aq,Bk+Bu,Ak)
Bs()
return O,Al
end
local function Bv(Bk)
return call('ZRANGEBYSCORE',S,'('..string.format('%.0f',Bk),'+inf','LIMIT',0,1)[1]
end
local function Bw(Bh,Bk)
local Aq=string.sub(Bh,-32)
local Bi=call('ZSCORE',S,Aq)
local Au=call('ZSCORE',S,'~'..Aq)or Bi
local Bc=Bi and'holding'or'closed'
return string.sub(Aq,1,8),Bc,(Bi or Au)-Bk,Au-Bk,call('HGET',T,Aq)
end
local function Bx(By,Bc)
local Ah,Ax,Ay=By.Ah,Bc.Ax,Bc.Ay
if not Ax then
return'fits'
end
if not Z and Bb(Bc,By.Al)>0 then
if Ax=='x'and Ah=='x'and By.Bz or Ax=='s'and Ah=='s'then
return'passes'
elseif Ax=='x'then
return'deadlock','x',1,''
elseif Ah=='x'then
return'deadlock',Ax,call('HGET',U,'p'..By.Al)or 1,Ay
end
end
if Ah=='x'or Ax=='x'then
return'in_the_way'
end
if Ah~=Ax or By.Ca~=Ay then
local Cb=Bv(F(D()))
local _,_,Cc=Af(call('HGET',T,string.sub(Cb,-32)))
return'mismatch',Ax,Cc,Ay
end
local Cc=Ax=='p'and call('HGET',U,'used')or 0
return(Ax=='s'or Cc+By.Ai<=tonumber(Ay))and'fits'or'in_the_way'
end
local function Cd(Bc)
local O=Bc.O or L()
return O and(Bc.O or string.format('%.0f',O))
end
local function Ce()
return Ad('the fence counter is not a number that can grow')
end
local function Cf()
if call('ZCARD',S)+call('HLEN',T)+call('HLEN',U)>0 then
call('UNLINK',S,T,U)
end
end
local function Cg(Aw,Bk)
Cf()
call('SET',R,'*x'..Aw.O,'PX',Aw.Au)
call('HSET',T,Aw.Aq,Aw.Ag)
Bq(Aw.Aq,Bk+Aw.As,Aw.Ak)
Az('o'..Aw.Al,1)
end
local function Ch(By,O)
local Bu,Ak,Ag=By.Bu,By.Ak,O..' '..By.Ag
call('SET',R,By.Aq..By.Ar..Ag,'PX',Bu+Ak)
local Aw={
Aq=By.Aq,Ap=false,Ar=By.Ar,Ag=Ag,O=O,Ak=Ak,
Al=By.Al,At=true,Au=Bu+Ak,As=Bu,
}
return{Ax='x',Ay='',Aw=Aw,O=O}
end
local function Ci(By,Bc,O,Bk)
local Aq,Al=By.Aq,By.Al
if O~=Bc.O then
N(tonumber(O))
end
if not Bc.Ax and By.Ah=='x'then
return Ch(By,O)
end
if Bc.Aw then
Cg(Bc.Aw,Bk)
elseif not Bc.Ax then
Cf()
call('SET',R,'*'..By.Ah..By.Ca,'PX',By.Bu+By.Ak)
end
Bq(Aq,Bk+By.Bu,By.Ak)
call('HSET',T,Aq,O..' '..By.Ag)
if By.Ah=='p'then
Az('used',By.Ai)
end
if Al~=''then
Az('o'..Al,1)
if By.Ah=='p'then
Az('p'..Al,By.Ai)
end
end
if By.Ah=='x'then
return{Ax='x',Ay=O,O=O}
end
return{Ax=By.Ah,Ay=By.Ca}
end
local function Cj(Aq)
if call('ZREM',X,Aq,'!'..Aq)==0 then
return false
end
call('HDEL',W,Aq)
return call('ZREM',V,Aq)==1
end
local function Ck()
return string.match(call('HGET',W,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function Cl(Bk)
if call('EXISTS',X)==0 then
return false
end
local Bm=math.max(1,Y)
local Bn=call('ZRANGEBYSCORE',X,'-inf',Bk,'LIMIT',0,Bm)
Aa=#Bn==Bm
Y=Y-#Bn
for _,Bh in ipairs(Bn)do
local Aq=string.match(Bh,'^!(.*)')
if not Aq then
Cj(Bh)
else
local Cm=call('ZSCORE',X,Aq)
if Cm and tonumber(Cm)>Bk then
local Cn=string.match(call('HGET',W,Aq)or'','^%d+ %d %S+ (%d+)')
local Co=Cn and call('ZSCORE',X,Bh)-Cn
Ab=Ab or Co and Co>=tonumber((Ck()))
end
call('ZREM',X,Bh)
end
end
return true
end
local function Cp(Aq,Cq)
local Cr,Cs,Ct,Cn,Cu,Ca,Bz,Ag=string.match(
Cq or'','^(%d+) ([01]) (%S+) (%d+) (%d+) (%d*) ([01]) (.*)$'
)
if not Ct then
return nil
end
local Ah,Ai,Ak,Al,Cv=string.match(Ag,'^(%a) (%d+) (%d+) (%S*) (.*)$')
local Cw=Ak~='0'
return{
Aq=Aq,Ah=Ah,Bz=Bz=='1',Ai=Ai,Ca=Ca,Al=Al,
Ag=string.format('%s %s %s%s %s ',Ah,Ai,Cw and'!'or'',Ak,Al)..Cv,
Bu=tonumber(Cn),Ak=0,Ar=Cw and'+'or'-',Ct=Ct,Cr=tonumber(Cr),
Cu=tonumber(Cu),Cs=Cs=='1',
}
end
local function Cx(Ct,Ae)
local Cy=A('PUBLISH',Ct,Ae)
return type(Cy)~='number'or Cy>0
end
local function Cz(Aq)
return string.match(call('HGET',W,Aq)or'','^%d+ %d (%S+)')
end
local function Da(Db,Ae)
local Dc,Dd=8,nil
for _,Aq in ipairs(call('ZRANGE',V,0,Dc))do
if Aq~=Db and Dc>0 then
Dc=Dc-1
local Ct=Cz(Aq)
if Ct and Cx(Ct,Ae..Aq)then
Dd=Ct
break
end
end
end
local H=call('ZREVRANGE',V,0,0)[1]
local Ct=H and H~=Db and Cz(H)
if Ct and Ct~=Dd then
Cx(Ct,Ae..H)
end
end
local function De(Db,Bk,M)
local Df=call('ZREVRANGE',X,0,0,'WITHSCORES')[2]
if not Df then
return
end
local Dg=0
for _,Aq in ipairs(call('ZRANGE',V,0,319))do
local Cr,Ct=string.match(call('HGET',W,Aq)or'','^(%d+) %d (%S+)')
if Ct then
Dg=Cr
if Aq~=Db then
Cx(Ct,'!'..Aq)
end
end
end
call('HSET',W,'?',string.format('%.0f %s %s',Bk,Dg,M))
call('PEXPIREAT',W,Df)
end
local function Dh(Bc,Bk,Db)
local Di,Dj,Dk,Dl=Ab,false,false,false
local Dm,Dn,Do,Dp=Ck()
if Di then
Y=math.max(5,Y-260)
Ab,Do,Dp=false,Dm,Dn
end
Y=math.max(5,Y)
local M=Do..' '..Dp
Do,Dp=tonumber(Do),tonumber(Dp)
local Dq,at,Dr,Ds,Dt={},0,0,0,{}
while true do
if Bc.Aw and Bc.Aw.Al==''then
break
end
at=at+1
if at>Dr then
if Dt[1]then
call('ZREM',V,unpack(Dt))
Dt={}
end
local Bm=math.min(math.max(Ds,1),64)
Dq=call('ZRANGE',V,0,Bm)
if not Dq[1]then
break
end
Dr,at=math.min(#Dq,Bm),1
end
local Du,Dv=Dq[at],Dq[at+1]
local Cq=call('HGET',W,Du)
local By=Cp(Du,Cq)
local Dw=math.floor(#(Cq or'')/256)
local Cm=By and(Aa or By.Cr<=Dp)and call('ZSCORE',X,Du)
if not By or Aa and Cm and tonumber(Cm)<=Bk then
if Y<=0 then
Dl=true
break
end
Y=Y-1-Dw
Dt[#Dt+1]=Du
Cj(Du)
else
local Dx=Bx(By,Bc)
K=true
local O=(Dx=='fits'or Dx=='passes')and Cd(Bc)
if not O then
break
end
if Y<=0 then
Dl=true
break
end
if Ds==0 then
call('ZREM',V,Du)
else
Dt[#Dt+1]=Du
end
local Cy=Du==Db
local Dy=By.Cr<=Dp and Cm
if not Cy and not(Dy and Cm-By.Cu<Do)then
Cy=Cx(By.Ct,Du)or By.Cs
end
if not Cy then
Y,Ds=Y-1-Dw,Ds+1
else
Y,Ds=Y-5-Dw,0
if Dt[1]then
call('ZREM',V,unpack(Dt))
Dt={}
end
if Du==Db then
Cj(Du)
else
call('ZADD',X,Bk+By.Bu,'!'..Du)
Dk=true
end
if Dv or Dk then
By.Ar='+'
end
Bc=Ci(By,Bc,O,Bk)
Dj=true
end
end
end
if Dt[1]then
call('ZREM',V,unpack(Dt))
end
if Di then
De(Db,Bk,M)
elseif Dl then
Da(Db,'!')
elseif Dk then
Da(Db,'?')
end
if Dj and not Bc.Aw then
Bs()
end
return Bc
end
local Bk=F(D())
local function Dz(Cb)
local Ea,Eb=ARGV[Cb],Cb
while ARGV[Eb+1]==''do
Eb=Eb-4
end
local Au,Ag,Ec=unpack(ARGV,Eb+1,Eb+3)
local Ah,Ai,Ak,Al=string.match(Ag,'^(%a) (%d+) (%d+) (%S*) ')
local Bz,Ca,Ct,Cn,Cu,Bm,Ed=
string.match(Ec,'^([01]) (%d*) ?(%S*) ?(%d*) ?(%d*) ?(%d*) ?(%d*)$')
return{
Aq=string.sub(Ea,1,32),Ah=Ah,Bz=Bz=='1',Ai=Ai,Ca=Ca,
Bu=Au-Ak,Ak=tonumber(Ak),Al=Al,Ag=Ag,Ar=string.sub(Ea,33),
Ct=Ct~=''and Ct,Cn=Cn,Cu=tonumber(Cu),Bm=tonumber(Bm),
Ed=tonumber(Ed),
}
end
local function Ee(Bc,O,Al)
return{'granted',O,math.max(1,Bb(Bc,Al))}
end
local function Ef(Bc,Aq)
if Bc.Aw then
return Bc.Aw.Aq==Aq
end
return Bc.Ax and call('HGET',T,Aq)
end
local function Eg(Eh,By,Bc,Ei)
local Aw,Dd=Bc.Aw,nil
if Aw then
local Ej=Aw.At and'holding'or'closed'
Dd={string.sub(Aw.Aq,1,8),Ej,Aw.As,Aw.Au,'',Aw.Ag}
else
local Ai=By.Ah=='p'and Bc.Ax=='p'
local Bh=Ei and'~'..By.Aq
or Ai and Bv(Bk)
or call('ZREVRANGE',S,0,0)[1]
local Ek,Ej,As,Au,Ag=Bw(Bh,Bk)
if Ai and Z then
Au=0
end
Dd={Ek,Ej,As,Au,Bc.Ay,Ag}
end
for _,Ba in ipairs(Dd)do
Eh[#Eh+1]=Ba
end
return Eh
end
local function El(By,Bc)
if Cj(By.Aq)then
Dh(Bc,Bk)
end
end
local function Em(Bc)
if Bc.Aw and Bc.Aw.Ar=='-'and not Bc.Aw.Ap then
call('SETRANGE',R,32,'+')
end
end
local En=0
local function Eo(By,Bc)
local H=call('ZREVRANGE',V,0,0,'WITHSCORES')[2]or 0
local Ay=By.Ed
if not Ay then
En=math.max(H+1,En+1,D())
Ay=En
end
local Cr=string.format('%.0f',Ay)
call('ZADD',V,Cr,By.Aq)
local Bz=By.Bz and'1'or'0'
local Ep={
Cr,'0',By.Ct,By.Cn,By.Cu,By.Ca,Bz,By.Ag,
}
call('HSET',W,By.Aq,table.concat(Ep,' '))
Em(Bc)
end
local function Eq(Aq,Bc)
if call('ZSCORE',V,Aq)or not call('ZSCORE',X,Aq)or At(Bc,Aq)then
return
end
local Cq=call('HGET',W,Aq)
if not Cq then
Cj(Aq)
return
end
call('ZREM',X,'!'..Aq)
local Cr,Cv=string.match(Cq,'^(%d+) %d (.*)$')
call('HSET',W,Aq,Cr..' 1 '..Cv)
call('ZADD',V,Cr,Aq)
call('PEXPIREAT',V,call('ZREVRANGE',X,0,0,'WITHSCORES')[2])
Em(Bc)
end
local function Er(By)
call('ZADD',X,Bk+By.Cu,By.Aq)
local Bl=call('ZREVRANGE',X,0,0,'WITHSCORES')[2]
for _,Ac in ipairs({V,W,X})do
call('PEXPIREAT',Ac,Bl)
end
end
local function Es(By,Bc,Et)
local Eu=call('ZRANK',V,By.Aq)
if Eu then
call('PEXPIRE',V,By.Cu)
elseif Et>=By.Bm and not Aa then
return{'full',Et}
else
Eo(By,Bc)
Eu=call('ZRANK',V,By.Aq)
end
Er(By)
return Eg({'queued',Eu},By,Bc)
end
local function Ev(By,Bc,O)
local Ew=Ci(By,Bc,O,Bk)
if not Ew.Aw then
Bs()
end
return Ee(Ew,O,By.Al)
end
local function Ex(By)
local Aq=By.Aq
local Bc=Bo(call('GET',R),Bk,Aq)
if not Bc then
return Ad()
end
if Bc.Aw and Bc.Aw.Au<0 then
return Ad('a lock without an end')
end
local Et=0
local Ey=Cl(Bk)
if Ey then
Eq(Aq,Bc)
Bc=Dh(Bc,Bk,Aq)
Et=call('ZCARD',V)
end
if At(Bc,Aq)then
local O,Al=Bt(Bc,Aq,By.Bu,Bk)
if Ey then
Cj(Aq)
end
return Ee(Bc,O,Al)
end
if Ef(Bc,Aq)then
return Eg({'refused'},By,Bc,true)
end
local Dx,Ez,Fa,Fb=Bx(By,Bc)
if Dx=='deadlock'or Dx=='mismatch'then
El(By,Bc)
return{Dx,Ez,Fa,Fb}
end
if Dx=='passes'or Dx=='fits'and(Et==0 or not Bc.Ax)then
local O=Cd(Bc)
if not O then
return Ce()
end
if Et>0 then
Cj(Aq)
end
return Ev(By,Bc,O)
end
if By.Ct then
return Es(By,Bc,Et)
end
local Fc=Eg({'refused'},By,Bc)
El(By,Bc)
return Fc
end
local function Fd(Bc,Aq,Ag)
if Bc.Aw then
call('DEL',R)
return{}
end
call('ZREM',S,Aq,'~'..Aq)
Bd(Ag)
Be(Aq,Ag)
if call('ZCARD',S)==0 then
Bf()
return{}
end
Bs()
return Bc
end
local function Fe(Bc,Aq,Al,Ff)
Cj(Aq)
if not At(Bc,Aq)then
return{'not_held',Bb(Bc,Al)},Bc
end
local Ag=Bc.Aw and Bc.Aw.Ag or call('HGET',T,Aq)
local _,_,_,_,Fg=Af(Ag)
Bc=Ff(Bc,Aq,Ag)
local As=Bb(Bc,Fg)
return As>0 and{'still_held',As}or 1,Bc
end
on(KEYS[1])
local function Fh(By)
local O=Cd({})
if not O then
return Ce()
end
Cj(By.Aq)
if call('EXISTS',V)==1 then
By.Ar='+'
end
return Ev(By,{},O)
end
local function Fi(Fj,Bc)
local By=Dz(2)
if ARGV[8]=='1'and Fj==1 and not Bc.Ax then
return Fh(By)
end
return Ex(By)
end
local Bc=Bo(Q,Bk,B)
if not Bc then
return{ARGV[1],Ad()}
end
Cl(Bk)
local Fj
Fj,Bc=Fe(Bc,B,ARGV[7],Fd)
local Fk,Fl=pcall(Fi,Fj,Bc)
if not Fk then
Fl={'error',type(Fl)=='table'and Fl.err or Fl}
end
local Fm=call('ZCARD',V)-(call('ZSCORE',V,string.sub(ARGV[2],1,32))and 1 or 0)
return{ARGV[1],Fj,Fl,Fm>0 and 1 or 0}
