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
local Am=12000
local function An()
local Q=A('GETRANGE',R,0,Am+99)
if type(Q)~='string'then
return call('GET',R)
end
return(Q~=''or call('EXISTS',R)==1)and Q
end
local function Ao(Ag)
if not Ag or#Ag<=Am then
return Ag
end
local Ap=string.match(string.sub(Ag,1,Am),'^%d* %a %d+ !?%d+ %S* ')
return(Ap or'')..'{"cut":"longer than '..Am..' bytes"}'
end
local function Aq(Ag)
return(string.gsub(Ag,'^(%d+ %a %d+ )!','%1'))
end
local function Ar(Q)
if#Q<=32 then
return string.match(Q,'^%*([spx])(%d*)$')
end
end
local function As(Q)
local At,Au,Av,B=string.match(Q,'^(~?)(%x+)([-+])()')
if not Au or#Au~=32 then
return nil
end
local Ag=Ao(string.sub(Q,B))
local O,Ah,_,Ak,Al=Af(Ag)
if Ah~='x'then
return nil
end
local Aw=call('PTTL',R)
Ak=tonumber(Ak)
local Ax=At==''and Aw>Ak
return{
Au=Au,At=At~='',Av=Av,Ag=Ag,O=O,Ak=Ak,Al=Al,
Ax=Ax,Ay=Aw,Aw=Ax and Aw-Ak or Aw,
}
end
local function Az(Q)
if not Q then
return{}
end
if string.sub(Q,1,1)~='*'then
local Ba=As(Q)
return Ba and{Bb='x',Bc='',Ba=Ba,O=Ba.O}
end
local Bb,Bc=Ar(Q)
return Bb and{Bb=Bb,Bc=Bc,O=Bb=='x'and Bc or nil}
end
local function Bd(Be,by)
local Bc=call('HINCRBY',U,Be,by)
if Bc<=0 then
call('HDEL',U,Be)
end
end
local function Bf(Bg,Al)
if Al==''then
return 0
end
if Bg.Ba then
return Bg.Ba.Ax and Bg.Ba.Al==Al and 1 or 0
end
return tonumber(call('HGET',U,'o'..Al)or 0)
end
local function Bh(Ag)
local _,Ah,Ai,_,Al=Af(Ag)
if Al~=''then
Bd('o'..Al,-1)
if Ah=='p'then
Bd('p'..Al,-Ai)
end
end
end
local function Bi(Au,Ag)
local _,Ah,Ai=Af(Ag)
if Ah=='p'then
Bd('used',-Ai)
end
call('HDEL',T,Au)
end
local function Bj()
call('UNLINK',R,S,T,U)
end
local function Bk(Bl)
local Au=string.sub(Bl,-32)
local Ag=call('HGET',T,Au)
local Bm=Bl==Au
if Ag then
local _,_,_,Ak=Af(Ag)
if Bm then
Bh(Ag)
end
if not Bm or Ak=='0'then
Bi(Au,Ag)
end
end
end
local function Bn(Bo)
local Bp=call('ZREVRANGE',S,0,0,'WITHSCORES')[2]
if not Bp or tonumber(Bp)<=Bo then
Bj()
return false
end
local Bq=math.max(1,math.ceil(Y/3))
local Br=call('ZRANGEBYSCORE',S,'-inf',Bo,'LIMIT',0,Bq)
if Br[1]then
call('ZREM',S,unpack(Br))
Z=#Br==Bq
Y=Y-3*#Br
end
for _,Bl in ipairs(Br)do
Bk(Bl)
end
return true
end
local function Bs(Bo,Au)
local Bg=Az(An())
if Bg and Bg.Bb and not Bg.Ba then
if not Bn(Bo)then
return{}
end
if Z and Au then
for _,Bl in ipairs({Au,'~'..Au})do
local Bt=call('ZSCORE',S,Bl)
if Bt and tonumber(Bt)<=Bo then
call('ZREM',S,Bl)
Bk(Bl)
end
end
end
end
return Bg
end
local function Ax(Bg,Au)
if Bg.Ba then
return Bg.Ba.Ax and Bg.Ba.Au==Au
end
return Bg.Bb and call('ZSCORE',S,Au)
end
local function Bu(Au,Bv,Ak)
call('ZADD',S,Bv,Au)
if Ak>0 then
call('ZADD',S,Bv+Ak,'~'..Au)
end
end
local function Bw()
local Bp=call('ZREVRANGE',S,0,0,'WITHSCORES')[2]
for _,Ac in ipairs({R,S,T,U})do
call('PEXPIREAT',Ac,Bp)
end
end
local function Bx(Bg,Au,By,Bo)
local M=Bg.Ba and Bg.Ba.Ag or call('HGET',T,Au)
local Ag=Aq(M)
local O,_,_,Ak,Al=Af(Ag)
Ak=tonumber(Ak)
call('PEXPIRE',R,By+Ak)
if Bg.Ba then
if Ag~=M then
call('SET',R,Au..'+'..Ag,'PX',By+Ak)
end
return O,Al
end
if Ag~=M then
call('HSET',T,Au,Ag)
end
Bu(Au,Bo+By,Ak)
Bw()
return O,Al
end
local function Bz(Bo)
return call('ZRANGEBYSCORE',S,'('..string.format('%.0f',Bo),'+inf','LIMIT',0,1)[1]
end
local function Ca(Bl,Bo)
local Au=string.sub(Bl,-32)
local Bm=call('ZSCORE',S,Au)
local Ay=call('ZSCORE',S,'~'..Au)or Bm
local Bg=Bm and'holding'or'closed'
return string.sub(Au,1,8),Bg,(Bm or Ay)-Bo,Ay-Bo,Ao(call('HGET',T,Au))
end
local function Cb(Cc,Bg)
local Ah,Bb,Bc=Cc.Ah,Bg.Bb,Bg.Bc
if not Bb then
return'fits'
end
if not Z and Bf(Bg,Cc.Al)>0 then
if Bb=='x'and Ah=='x'and Cc.Cd or Bb=='s'and Ah=='s'then
return'passes'
elseif Bb=='x'then
return'deadlock','x',1,''
elseif Ah=='x'then
return'deadlock',Bb,call('HGET',U,'p'..Cc.Al)or 1,Bc
end
end
if Ah=='x'or Bb=='x'then
return'in_the_way'
end
if Ah~=Bb or Cc.Ce~=Bc then
local Cf=Bz(F(D()))
local _,_,Cg=Af(call('HGET',T,string.sub(Cf,-32)))
return'mismatch',Bb,string.sub(Cg,1,20),Bc
end
local Cg=Bb=='p'and call('HGET',U,'used')or 0
return(Bb=='s'or Cg+Cc.Ai<=tonumber(Bc))and'fits'or'in_the_way'
end
local function Ch(Bg)
local O=Bg.O or L()
return O and(Bg.O or string.format('%.0f',O))
end
local function Ci()
return Ad('the fence counter is not a number that can grow')
end
local function Cj()
if call('ZCARD',S)+call('HLEN',T)+call('HLEN',U)>0 then
call('UNLINK',S,T,U)
end
end
local function Ck(Ba,Bo)
Cj()
call('SET',R,'*x'..Ba.O,'PX',Ba.Ay)
call('HSET',T,Ba.Au,Ba.Ag)
Bu(Ba.Au,Bo+Ba.Aw,Ba.Ak)
Bd('o'..Ba.Al,1)
end
local function Cl(Cc,O)
local By,Ak,Ag=Cc.By,Cc.Ak,O..' '..Cc.Ag
call('SET',R,Cc.Au..Cc.Av..Ag,'PX',By+Ak)
local Ba={
Au=Cc.Au,At=false,Av=Cc.Av,Ag=Ag,O=O,Ak=Ak,
Al=Cc.Al,Ax=true,Ay=By+Ak,Aw=By,
}
return{Bb='x',Bc='',Ba=Ba,O=O}
end
local function Cm(Cc,Bg,O,Bo)
local Au,Al=Cc.Au,Cc.Al
if O~=Bg.O then
N(tonumber(O))
end
if not Bg.Bb and Cc.Ah=='x'then
return Cl(Cc,O)
end
if Bg.Ba then
Ck(Bg.Ba,Bo)
elseif not Bg.Bb then
Cj()
call('SET',R,'*'..Cc.Ah..Cc.Ce,'PX',Cc.By+Cc.Ak)
end
Bu(Au,Bo+Cc.By,Cc.Ak)
call('HSET',T,Au,O..' '..Cc.Ag)
if Cc.Ah=='p'then
Bd('used',Cc.Ai)
end
if Al~=''then
Bd('o'..Al,1)
if Cc.Ah=='p'then
Bd('p'..Al,Cc.Ai)
end
end
if Cc.Ah=='x'then
return{Bb='x',Bc=O,O=O}
end
return{Bb=Cc.Ah,Bc=Cc.Ce}
end
local function Cn(Au)
if call('ZREM',X,Au,'!'..Au)==0 then
return false
end
call('HDEL',W,Au)
return call('ZREM',V,Au)==1
end
local function Co()
return string.match(call('HGET',W,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function Cp(Bo)
if call('EXISTS',X)==0 then
return false
end
local Bq=math.max(1,Y)
local Br=call('ZRANGEBYSCORE',X,'-inf',Bo,'LIMIT',0,Bq)
Aa=#Br==Bq
Y=Y-#Br
for _,Bl in ipairs(Br)do
local Au=string.match(Bl,'^!(.*)')
if not Au then
Cn(Bl)
else
local Cq=call('ZSCORE',X,Au)
if Cq and tonumber(Cq)>Bo then
local Cr=string.match(call('HGET',W,Au)or'','^%d+ %d %S+ (%d+)')
local Cs=Cr and call('ZSCORE',X,Bl)-Cr
Ab=Ab or Cs and Cs>=tonumber((Co()))
end
call('ZREM',X,Bl)
end
end
return true
end
local function Ct(Au,Cu)
local Cv,Cw,Cx,Cr,Cy,Ce,Cd,Ag=string.match(
Cu or'','^(%d+) ([01]) (%S+) (%d+) (%d+) (%d*) ([01]) (.*)$'
)
if not Cx then
return nil
end
local Ah,Ai,Ak,Al,Cz=string.match(Ag,'^(%a) (%d+) (%d+) (%S*) (.*)$')
local Da=Ak~='0'
return{
Au=Au,Ah=Ah,Cd=Cd=='1',Ai=Ai,Ce=Ce,Al=Al,
Ag=string.format('%s %s %s%s %s ',Ah,Ai,Da and'!'or'',Ak,Al)..Cz,
By=tonumber(Cr),Ak=0,Av=Da and'+'or'-',Cx=Cx,Cv=tonumber(Cv),
Cy=tonumber(Cy),Cw=Cw=='1',
}
end
local function Db(Cx,Ae)
local Dc=A('PUBLISH',Cx,Ae)
return type(Dc)~='number'or Dc>0
end
local function Dd(Au)
return string.match(call('HGET',W,Au)or'','^%d+ %d (%S+)')
end
local function De(Df,Ae)
local Dg,Dh=8,nil
for _,Au in ipairs(call('ZRANGE',V,0,Dg))do
if Au~=Df and Dg>0 then
Dg=Dg-1
local Cx=Dd(Au)
if Cx and Db(Cx,Ae..Au)then
Dh=Cx
break
end
end
end
local H=call('ZREVRANGE',V,0,0)[1]
local Cx=H and H~=Df and Dd(H)
if Cx and Cx~=Dh then
Db(Cx,Ae..H)
end
end
local function Di(Df,Bo,M)
local Dj=call('ZREVRANGE',X,0,0,'WITHSCORES')[2]
if not Dj then
return
end
local Dk=0
for _,Au in ipairs(call('ZRANGE',V,0,319))do
local Cv,Cx=string.match(call('HGET',W,Au)or'','^(%d+) %d (%S+)')
if Cx then
Dk=Cv
if Au~=Df then
Db(Cx,'!'..Au)
end
end
end
call('HSET',W,'?',string.format('%.0f %s %s',Bo,Dk,M))
call('PEXPIREAT',W,Dj)
end
local function Dl(Bg,Bo,Df)
local Dm,Dn,Do,Dp=Ab,false,false,false
local Dq,Dr,Ds,Dt=Co()
if Dm then
Y=math.max(5,Y-260)
Ab,Ds,Dt=false,Dq,Dr
end
Y=math.max(5,Y)
local M=Ds..' '..Dt
Ds,Dt=tonumber(Ds),tonumber(Dt)
local Du,at,Dv,Dw,Dx={},0,0,0,{}
while true do
if Bg.Ba and Bg.Ba.Al==''then
break
end
at=at+1
if at>Dv then
if Dx[1]then
call('ZREM',V,unpack(Dx))
Dx={}
end
local Bq=math.min(math.max(Dw,1),64)
Du=call('ZRANGE',V,0,Bq)
if not Du[1]then
break
end
Dv,at=math.min(#Du,Bq),1
end
local Dy,Dz=Du[at],Du[at+1]
local Cu=call('HGET',W,Dy)
local Cc=Ct(Dy,Cu)
local Ea=math.floor(#(Cu or'')/256)
local Cq=Cc and(Aa or Cc.Cv<=Dt)and call('ZSCORE',X,Dy)
if not Cc or Aa and Cq and tonumber(Cq)<=Bo then
if Y<=0 then
Dp=true
break
end
Y=Y-1-Ea
Dx[#Dx+1]=Dy
Cn(Dy)
else
local Eb=Cb(Cc,Bg)
K=true
local O=(Eb=='fits'or Eb=='passes')and Ch(Bg)
if not O then
break
end
if Y<=0 then
Dp=true
break
end
if Dw==0 then
call('ZREM',V,Dy)
else
Dx[#Dx+1]=Dy
end
local Dc=Dy==Df
local Ec=Cc.Cv<=Dt and Cq
if not Dc and not(Ec and Cq-Cc.Cy<Ds)then
Dc=Db(Cc.Cx,Dy)or Cc.Cw
end
if not Dc then
Y,Dw=Y-1-Ea,Dw+1
else
Y,Dw=Y-5-Ea,0
if Dx[1]then
call('ZREM',V,unpack(Dx))
Dx={}
end
if Dy==Df then
Cn(Dy)
else
call('ZADD',X,Bo+Cc.By,'!'..Dy)
Do=true
end
if Dz or Do then
Cc.Av='+'
end
Bg=Cm(Cc,Bg,O,Bo)
Dn=true
end
end
end
if Dx[1]then
call('ZREM',V,unpack(Dx))
end
if Dm then
Di(Df,Bo,M)
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
local Bo=F(D())
local function Ed(Cf)
local Ap,Ee=ARGV[Cf],Cf
while ARGV[Ee+1]==''do
Ee=Ee-4
end
local Ay,Ag,Ef=unpack(ARGV,Ee+1,Ee+3)
local Ah,Ai,Ak,Al=string.match(Ag,'^(%a) (%d+) (%d+) (%S*) ')
local Cd,Ce,Cx,Cr,Cy,Bq,Eg=
string.match(Ef,'^([01]) (%d*) ?(%S*) ?(%d*) ?(%d*) ?(%d*) ?(%d*)$')
return{
Au=string.sub(Ap,1,32),Ah=Ah,Cd=Cd=='1',Ai=Ai,Ce=Ce,
By=Ay-Ak,Ak=tonumber(Ak),Al=Al,Ag=Ag,Av=string.sub(Ap,33),
Cx=Cx~=''and Cx,Cr=Cr,Cy=tonumber(Cy),Bq=tonumber(Bq),
Eg=tonumber(Eg),
}
end
local function Eh(Bg,O,Al)
return{'granted',O,math.max(1,Bf(Bg,Al))}
end
local function Ei(Bg,Au)
if Bg.Ba then
return Bg.Ba.Au==Au
end
return Bg.Bb and call('HGET',T,Au)
end
local function Ej(Ek,Cc,Bg,El)
local Ba,Dh=Bg.Ba,nil
if Ba then
local Em=Ba.Ax and'holding'or'closed'
Dh={string.sub(Ba.Au,1,8),Em,Ba.Aw,Ba.Ay,'',Ba.Ag}
else
local Ai=Cc.Ah=='p'and Bg.Bb=='p'
local Bl=El and'~'..Cc.Au
or Ai and Bz(Bo)
or call('ZREVRANGE',S,0,0)[1]
local En,Em,Aw,Ay,Ag=Ca(Bl,Bo)
if Ai and Z then
Ay=0
end
Dh={En,Em,Aw,Ay,Bg.Bc,Ag}
end
for _,Be in ipairs(Dh)do
Ek[#Ek+1]=Be
end
return Ek
end
local function Eo(Cc,Bg)
if Cn(Cc.Au)then
Dl(Bg,Bo)
end
end
local function Ep(Bg)
if Bg.Ba and Bg.Ba.Av=='-'and not Bg.Ba.At then
call('SETRANGE',R,32,'+')
end
end
local Eq=0
local function Er(Cc,Bg)
local H=call('ZREVRANGE',V,0,0,'WITHSCORES')[2]or 0
local Bc=Cc.Eg
if not Bc then
Eq=math.max(H+1,Eq+1,D())
Bc=Eq
end
local Cv=string.format('%.0f',Bc)
call('ZADD',V,Cv,Cc.Au)
local Cd=Cc.Cd and'1'or'0'
local Es={
Cv,'0',Cc.Cx,Cc.Cr,Cc.Cy,Cc.Ce,Cd,Cc.Ag,
}
call('HSET',W,Cc.Au,table.concat(Es,' '))
Ep(Bg)
end
local function Et(Au,Bg)
if call('ZSCORE',V,Au)or not call('ZSCORE',X,Au)or Ax(Bg,Au)then
return
end
local Cu=call('HGET',W,Au)
if not Cu then
Cn(Au)
return
end
call('ZREM',X,'!'..Au)
local Cv,Cz=string.match(Cu,'^(%d+) %d (.*)$')
call('HSET',W,Au,Cv..' 1 '..Cz)
call('ZADD',V,Cv,Au)
call('PEXPIREAT',V,call('ZREVRANGE',X,0,0,'WITHSCORES')[2])
Ep(Bg)
end
local function Eu(Cc)
call('ZADD',X,Bo+Cc.Cy,Cc.Au)
local Bp=call('ZREVRANGE',X,0,0,'WITHSCORES')[2]
for _,Ac in ipairs({V,W,X})do
call('PEXPIREAT',Ac,Bp)
end
end
local function Ev(Cc,Bg,Ew)
local Ex=call('ZRANK',V,Cc.Au)
if Ex then
call('PEXPIRE',V,Cc.Cy)
elseif Ew>=Cc.Bq and not Aa then
return{'full',Ew}
else
Er(Cc,Bg)
Ex=call('ZRANK',V,Cc.Au)
end
Eu(Cc)
return Ej({'queued',Ex},Cc,Bg)
end
local function Ey(Cc,Bg,O)
local Ez=Cm(Cc,Bg,O,Bo)
if not Ez.Ba then
Bw()
end
return Eh(Ez,O,Cc.Al)
end
local function Fa(Cc)
local Au=Cc.Au
local Bg=Bs(Bo,Au)
if not Bg then
return Ad()
end
if Bg.Ba and Bg.Ba.Ay<0 then
return Ad('a lock without an end')
end
local Ew=0
local Fb=Cp(Bo)
if Fb then
Et(Au,Bg)
Bg=Dl(Bg,Bo,Au)
Ew=call('ZCARD',V)
end
if Ax(Bg,Au)then
local O,Al=Bx(Bg,Au,Cc.By,Bo)
if Fb then
Cn(Au)
end
return Eh(Bg,O,Al)
end
if Ei(Bg,Au)then
return Ej({'refused'},Cc,Bg,true)
end
local Eb,Fc,Fd,Fe=Cb(Cc,Bg)
if Eb=='deadlock'or Eb=='mismatch'then
Eo(Cc,Bg)
return{Eb,Fc,Fd,Fe}
end
if Eb=='passes'or Eb=='fits'and(Ew==0 or not Bg.Bb)then
local O=Ch(Bg)
if not O then
return Ci()
end
if Ew>0 then
Cn(Au)
end
return Ey(Cc,Bg,O)
end
if Cc.Cx then
return Ev(Cc,Bg,Ew)
end
local Ff=Ej({'refused'},Cc,Bg)
Eo(Cc,Bg)
return Ff
end
local function Fg(Bg,Au,Ag)
if Bg.Ba then
call('DEL',R)
return{}
end
call('ZREM',S,Au,'~'..Au)
Bh(Ag)
Bi(Au,Ag)
if call('ZCARD',S)==0 then
Bj()
return{}
end
Bw()
return Bg
end
local function Fh(Bg,Au,Al,Fi)
Cn(Au)
if not Ax(Bg,Au)then
return{'not_held',Bf(Bg,Al)},Bg
end
local Ag=Bg.Ba and Bg.Ba.Ag or call('HGET',T,Au)
local _,_,_,_,Fj=Af(Ag)
Bg=Fi(Bg,Au,Ag)
local Aw=Bf(Bg,Fj)
return Aw>0 and{'still_held',Aw}or 1,Bg
end
on(KEYS[1])
local function Fk(Cc)
local O=Ch({})
if not O then
return Ci()
end
Cn(Cc.Au)
if call('EXISTS',V)==1 then
Cc.Av='+'
end
return Ey(Cc,{},O)
end
local function Fl(Fm,Bg)
local Cc=Ed(2)
if ARGV[8]=='1'and Fm==1 and not Bg.Bb then
return Fk(Cc)
end
return Fa(Cc)
end
local Bg=Bs(Bo,B)
if not Bg then
return{ARGV[1],Ad()}
end
Cp(Bo)
local Fm
Fm,Bg=Fh(Bg,B,ARGV[7],Fg)
local Fn,Fo=pcall(Fl,Fm,Bg)
if not Fn then
Fo={'error',type(Fo)=='table'and Fo.err or Fo}
end
local Fp=call('ZCARD',V)-(call('ZSCORE',V,string.sub(ARGV[2],1,32))and 1 or 0)
return{ARGV[1],Fm,Fo,Fp>0 and 1 or 0}
