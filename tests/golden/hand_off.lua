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
and string.find(Q,'^[-+]%d+ x 1 0[/ ]',33)
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
local O,Ah,Ai,Aj,Ak,Al,Am=string.match(Ag,'^(%d+) (%a) (%d+) (!?)(%d+)/?(%d*) (%S*) ')
return O,Ah,Ai,Aj==''and Ak or'0',Am,tonumber(Al)
end
local An=12000
local function Ao()
local Q=A('GETRANGE',R,0,An+99)
if type(Q)~='string'then
return call('GET',R)
end
return(Q~=''or call('EXISTS',R)==1)and Q
end
local function Ap(Ag)
if not Ag or#Ag<=An then
return Ag
end
local Aq=string.match(string.sub(Ag,1,An),'^%d* %a %d+ !?%d+/?%d* %S* ')
return(Aq or'')..'{"cut":"longer than '..An..' bytes"}'
end
local function Ar(Ag,Al)
return(string.gsub(Ag,'^(%d+ %a %d+ )!?(%d+)/?%d* ','%1%2/'..Al..' '))
end
local function As(Q)
if#Q<=32 then
return string.match(Q,'^%*([spx])(%d*)$')
end
end
local function At(Q)
local Au,Av,Aw,B=string.match(Q,'^(~?)(%x+)([-+])()')
if not Av or#Av~=32 then
return nil
end
local Ag=Ap(string.sub(Q,B))
local O,Ah,_,Ak,Am,Al=Af(Ag)
if Ah~='x'then
return nil
end
local Ax=call('PTTL',R)
Ak=tonumber(Ak)
local Ay=Al and Ax>Al+Ak
Ax=Ay and Al+Ak or Ax
local Az=Au==''and Ax>Ak
return{
Av=Av,Au=Au~='',Aw=Aw,Ag=Ag,O=O,Ak=Ak,Am=Am,
Az=Az,Ba=Ax,Ax=Az and Ax-Ak or Ax,Ay=Ay,
}
end
local function Bb(Q)
if not Q then
return{}
end
if string.sub(Q,1,1)~='*'then
local Bc=At(Q)
return Bc and{Bd='x',Be='',Bc=Bc,O=Bc.O}
end
local Bd,Be=As(Q)
return Bd and{Bd=Bd,Be=Be,O=Bd=='x'and Be or nil}
end
local function Bf(Bg,by)
local Be=call('HINCRBY',U,Bg,by)
if Be<=0 then
call('HDEL',U,Bg)
end
end
local function Bh(Bi,Am)
if Am==''then
return 0
end
if Bi.Bc then
return Bi.Bc.Az and Bi.Bc.Am==Am and 1 or 0
end
return tonumber(call('HGET',U,'o'..Am)or 0)
end
local function Bj(Ag)
local _,Ah,Ai,_,Am=Af(Ag)
if Am~=''then
Bf('o'..Am,-1)
if Ah=='p'then
Bf('p'..Am,-Ai)
end
end
end
local function Bk(Av,Ag)
local _,Ah,Ai=Af(Ag)
if Ah=='p'then
Bf('used',-Ai)
end
call('HDEL',T,Av)
end
local function Bl()
call('UNLINK',R,S,T,U)
end
local function Bm(Bn)
local Av=string.sub(Bn,-32)
local Ag=call('HGET',T,Av)
local Bo=Bn==Av
if Ag then
local _,_,_,Ak=Af(Ag)
if Bo then
Bj(Ag)
end
if not Bo or Ak=='0'then
Bk(Av,Ag)
end
end
end
local function Bp()
local Bq=call('ZREVRANGE',S,0,0,'WITHSCORES')[2]
for _,Ac in ipairs({R,S,T,U})do
call('PEXPIREAT',Ac,Bq)
end
end
local function Br(Bs)
local Bt,Bq=false,call('ZREVRANGE',S,0,0,'WITHSCORES')
while Bq[1]and Y>0 do
local Bn=Bq[1]
local _,_,_,Ak,_,Al=Af(call('HGET',T,string.sub(Bn,-32))or'')
local Bu=Al and Bs+Al+(#Bn>32 and Ak or 0)
if not Bu or tonumber(Bq[2])<=Bu then
break
end
call('PEXPIREAT',R,Bq[2])
call('ZADD',S,Bu,Bn)
Bt,Y,Bq=true,Y-3,call('ZREVRANGE',S,0,0,'WITHSCORES')
end
if Bt then
Bp()
end
return Bq[2]
end
local function Bv(Bs)
local Bq=Br(Bs)
if not Bq or tonumber(Bq)<=Bs then
Bl()
return false
end
local Bu=math.max(1,math.ceil(Y/3))
local Bw=call('ZRANGEBYSCORE',S,'-inf',Bs,'LIMIT',0,Bu)
if Bw[1]then
call('ZREM',S,unpack(Bw))
Z=#Bw==Bu
Y=Y-3*#Bw
end
for _,Bn in ipairs(Bw)do
Bm(Bn)
end
return true
end
local function Bx(Bs,Av)
local Bi=Bb(Ao())
if Bi and Bi.Bc and Bi.Bc.Ay then
call('PEXPIRE',R,Bi.Bc.Ba)
end
if Bi and Bi.Bd and not Bi.Bc then
if not Bv(Bs)then
return{}
end
if Z and Av then
for _,Bn in ipairs({Av,'~'..Av})do
local By=call('ZSCORE',S,Bn)
if By and tonumber(By)<=Bs then
call('ZREM',S,Bn)
Bm(Bn)
end
end
end
end
return Bi
end
local function Az(Bi,Av)
if Bi.Bc then
return Bi.Bc.Az and Bi.Bc.Av==Av
end
return Bi.Bd and call('ZSCORE',S,Av)
end
local function Bz(Av,Ca,Ak)
call('ZADD',S,Ca,Av)
if Ak>0 then
call('ZADD',S,Ca+Ak,'~'..Av)
end
end
local function Cb(Bi,Av,Al,Bs)
local M=Bi.Bc and Bi.Bc.Ag or call('HGET',T,Av)
local Ag=Ar(M,Al)
local O,_,_,Ak,Am=Af(Ag)
Ak=tonumber(Ak)
call('PEXPIRE',R,Al+Ak)
if Bi.Bc then
if Ag~=M then
call('SET',R,Av..Bi.Bc.Aw..Ag,'PX',Al+Ak)
end
return O,Am
end
if Ag~=M then
call('HSET',T,Av,Ag)
end
Bz(Av,Bs+Al,Ak)
Bp()
return O,Am
end
local function Cc(Bs)
return call('ZRANGEBYSCORE',S,'('..string.format('%.0f',Bs),'+inf','LIMIT',0,1)[1]
end
local function Cd(Bn,Bs)
local Av=string.sub(Bn,-32)
local Bo=call('ZSCORE',S,Av)
local Ba=call('ZSCORE',S,'~'..Av)or Bo
local Bi=Bo and'holding'or'closed'
return string.sub(Av,1,8),Bi,(Bo or Ba)-Bs,Ba-Bs,Ap(call('HGET',T,Av))
end
local function Ce(Cf,Bi)
local Ah,Bd,Be=Cf.Ah,Bi.Bd,Bi.Be
if not Bd then
return'fits'
end
if not Z and Bh(Bi,Cf.Am)>0 then
if Bd=='x'and Ah=='x'and Cf.Cg or Bd=='s'and Ah=='s'then
return'passes'
elseif Bd=='x'then
return'deadlock','x',1,''
elseif Ah=='x'then
return'deadlock',Bd,call('HGET',U,'p'..Cf.Am)or 1,Be
end
end
if Ah=='x'or Bd=='x'then
return'in_the_way'
end
if Ah~=Bd or Cf.Ch~=Be then
local Ci=Cc(F(D()))
local _,_,Cj=Af(call('HGET',T,string.sub(Ci,-32)))
return'mismatch',Bd,string.sub(Cj,1,20),Be
end
local Cj=Bd=='p'and call('HGET',U,'used')or 0
return(Bd=='s'or Cj+Cf.Ai<=tonumber(Be))and'fits'or'in_the_way'
end
local function Ck(Bi)
local O=Bi.O or L()
return O and(Bi.O or string.format('%.0f',O))
end
local function Cl()
return Ad('the fence counter is not a number that can grow')
end
local function Cm()
if call('ZCARD',S)+call('HLEN',T)+call('HLEN',U)>0 then
call('UNLINK',S,T,U)
end
end
local function Cn(Bc,Bs)
Cm()
call('SET',R,'*x'..Bc.O,'PX',Bc.Ba)
call('HSET',T,Bc.Av,Bc.Ag)
Bz(Bc.Av,Bs+Bc.Ax,Bc.Ak)
Bf('o'..Bc.Am,1)
end
local function Co(Cf,O)
local Al,Ak,Ag=Cf.Al,Cf.Ak,O..' '..Cf.Ag
call('SET',R,Cf.Av..Cf.Aw..Ag,'PX',Al+Ak)
local Bc={
Av=Cf.Av,Au=false,Aw=Cf.Aw,Ag=Ag,O=O,Ak=Ak,
Am=Cf.Am,Az=true,Ba=Al+Ak,Ax=Al,
}
return{Bd='x',Be='',Bc=Bc,O=O}
end
local function Cp(Cf,Bi,O,Bs)
local Av,Am=Cf.Av,Cf.Am
if O~=Bi.O then
N(tonumber(O))
end
if not Bi.Bd and Cf.Ah=='x'then
return Co(Cf,O)
end
if Bi.Bc then
Cn(Bi.Bc,Bs)
elseif not Bi.Bd then
Cm()
call('SET',R,'*'..Cf.Ah..Cf.Ch,'PX',Cf.Al+Cf.Ak)
end
Bz(Av,Bs+Cf.Al,Cf.Ak)
call('HSET',T,Av,O..' '..Cf.Ag)
if Cf.Ah=='p'then
Bf('used',Cf.Ai)
end
if Am~=''then
Bf('o'..Am,1)
if Cf.Ah=='p'then
Bf('p'..Am,Cf.Ai)
end
end
if Cf.Ah=='x'then
return{Bd='x',Be=O,O=O}
end
return{Bd=Cf.Ah,Be=Cf.Ch}
end
local function Cq(Av)
if call('ZREM',X,Av,'!'..Av)==0 then
return false
end
call('HDEL',W,Av)
return call('ZREM',V,Av)==1
end
local function Cr()
return string.match(call('HGET',W,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function Cs(Bs)
if call('EXISTS',X)==0 then
return false
end
local Bu=math.max(1,Y)
local Bw=call('ZRANGEBYSCORE',X,'-inf',Bs,'LIMIT',0,Bu)
Aa=#Bw==Bu
Y=Y-#Bw
for _,Bn in ipairs(Bw)do
local Av=string.match(Bn,'^!(.*)')
if not Av then
Cq(Bn)
else
local Ct=call('ZSCORE',X,Av)
if Ct and tonumber(Ct)>Bs then
local Cu=string.match(call('HGET',W,Av)or'','^%d+ %d %S+ (%d+)')
local Cv=Cu and call('ZSCORE',X,Bn)-Cu
Ab=Ab or Cv and Cv>=tonumber((Cr()))
end
call('ZREM',X,Bn)
end
end
return true
end
local function Cw(Av,Cx)
local Cy,Cz,Da,Cu,Db,Ch,Cg,Ag=string.match(
Cx or'','^(%d+) ([01]) (%S+) (%d+) (%d+) (%d*) ([01]) (.*)$'
)
if not Da then
return nil
end
local Ah,Ai,Ak,Am,Dc=string.match(Ag,'^(%a) (%d+) (%d+)/?%d* (%S*) (.*)$')
local Dd=Ak~='0'
return{
Av=Av,Ah=Ah,Cg=Cg=='1',Ai=Ai,Ch=Ch,Am=Am,
Ag=string.format('%s %s %s%s/%s %s ',Ah,Ai,Dd and'!'or'',Ak,Cu,Am)..Dc,
Al=tonumber(Cu),Ak=0,Aw=Dd and'+'or'-',Da=Da,Cy=tonumber(Cy),
Db=tonumber(Db),Cz=Cz=='1',
}
end
local function De(Da,Ae)
local Df=A('PUBLISH',Da,Ae)
return type(Df)~='number'or Df>0
end
local function Dg(Av)
return string.match(call('HGET',W,Av)or'','^%d+ %d (%S+)')
end
local function Dh(Di,Ae)
local Dj,Dk=8,nil
for _,Av in ipairs(call('ZRANGE',V,0,Dj))do
if Av~=Di and Dj>0 then
Dj=Dj-1
local Da=Dg(Av)
if Da and De(Da,Ae..Av)then
Dk=Da
break
end
end
end
local H=call('ZREVRANGE',V,0,0)[1]
local Da=H and H~=Di and Dg(H)
if Da and Da~=Dk then
De(Da,Ae..H)
end
end
local function Dl(Di,Bs,M)
local Dm=call('ZREVRANGE',X,0,0,'WITHSCORES')[2]
if not Dm then
return
end
local Dn=0
for _,Av in ipairs(call('ZRANGE',V,0,319))do
local Cy,Da=string.match(call('HGET',W,Av)or'','^(%d+) %d (%S+)')
if Da then
Dn=Cy
if Av~=Di then
De(Da,'!'..Av)
end
end
end
call('HSET',W,'?',string.format('%.0f %s %s',Bs,Dn,M))
call('PEXPIREAT',W,Dm)
end
local function Do(Bi,Bs,Di)
local Dp,Dq,Dr,Ds=Ab,false,false,false
local Dt,Du,Dv,Dw=Cr()
if Dp then
Y=math.max(5,Y-260)
Ab,Dv,Dw=false,Dt,Du
end
Y=math.max(5,Y)
local M=Dv..' '..Dw
Dv,Dw=tonumber(Dv),tonumber(Dw)
local Dx,at,Dy,Dz,Ea={},0,0,0,{}
while true do
if Bi.Bc and Bi.Bc.Am==''then
break
end
at=at+1
if at>Dy then
if Ea[1]then
call('ZREM',V,unpack(Ea))
Ea={}
end
local Bu=math.min(math.max(Dz,1),64)
Dx=call('ZRANGE',V,0,Bu)
if not Dx[1]then
break
end
Dy,at=math.min(#Dx,Bu),1
end
local Eb,Ec=Dx[at],Dx[at+1]
local Cx=call('HGET',W,Eb)
local Cf=Cw(Eb,Cx)
local Ed=math.floor(#(Cx or'')/256)
local Ct=Cf and(Aa or Cf.Cy<=Dw)and call('ZSCORE',X,Eb)
if not Cf or Aa and Ct and tonumber(Ct)<=Bs then
if Y<=0 then
Ds=true
break
end
Y=Y-1-Ed
Ea[#Ea+1]=Eb
Cq(Eb)
else
local Ee=Ce(Cf,Bi)
K=true
local O=(Ee=='fits'or Ee=='passes')and Ck(Bi)
if not O then
break
end
if Y<=0 then
Ds=true
break
end
if Dz==0 then
call('ZREM',V,Eb)
else
Ea[#Ea+1]=Eb
end
local Df=Eb==Di
local Ef=Cf.Cy<=Dw and Ct
if not Df and not(Ef and Ct-Cf.Db<Dv)then
Df=De(Cf.Da,Eb)or Cf.Cz
end
if not Df then
Y,Dz=Y-1-Ed,Dz+1
else
Y,Dz=Y-5-Ed,0
if Ea[1]then
call('ZREM',V,unpack(Ea))
Ea={}
end
if Eb==Di then
Cq(Eb)
else
call('ZADD',X,Bs+Cf.Al,'!'..Eb)
Dr=true
end
if Ec or Dr then
Cf.Aw='+'
end
Bi=Cp(Cf,Bi,O,Bs)
Dq=true
end
end
end
if Ea[1]then
call('ZREM',V,unpack(Ea))
end
if Dp then
Dl(Di,Bs,M)
elseif Ds then
Dh(Di,'!')
elseif Dr then
Dh(Di,'?')
end
if Dq and not Bi.Bc then
Bp()
end
return Bi
end
local Bs=F(D())
local function Eg(Ci)
local Aq,Eh=ARGV[Ci],Ci
while ARGV[Eh+1]==''do
Eh=Eh-4
end
local Ba,Ag,Ei=unpack(ARGV,Eh+1,Eh+3)
local Ah,Ai,Ak,Am=string.match(Ag,'^(%a) (%d+) (%d+)/?%d* (%S*) ')
local Cg,Ch,Da,Cu,Db,Bu,Ej=
string.match(Ei,'^([01]) (%d*) ?(%S*) ?(%d*) ?(%d*) ?(%d*) ?(%d*)$')
return{
Av=string.sub(Aq,1,32),Ah=Ah,Cg=Cg=='1',Ai=Ai,Ch=Ch,
Al=Ba-Ak,Ak=tonumber(Ak),Am=Am,Ag=Ag,Aw=string.sub(Aq,33),
Da=Da~=''and Da,Cu=Cu,Db=tonumber(Db),Bu=tonumber(Bu),
Ej=tonumber(Ej),
}
end
local function Ek(Bi,O,Am)
return{'granted',O,math.max(1,Bh(Bi,Am))}
end
local function El(Bi,Av)
if Bi.Bc then
return Bi.Bc.Av==Av
end
return Bi.Bd and call('HGET',T,Av)
end
local function Em(En,Cf,Bi,Eo)
local Bc,Dk=Bi.Bc,nil
if Bc then
local Ep=Bc.Az and'holding'or'closed'
Dk={string.sub(Bc.Av,1,8),Ep,Bc.Ax,Bc.Ba,'',Bc.Ag}
else
local Ai=Cf.Ah=='p'and Bi.Bd=='p'
local Bn=Eo and'~'..Cf.Av
or Ai and Cc(Bs)
or call('ZREVRANGE',S,0,0)[1]
local Eq,Ep,Ax,Ba,Ag=Cd(Bn,Bs)
if Ai and Z then
Ba=0
end
Dk={Eq,Ep,Ax,Ba,Bi.Be,Ag}
end
for _,Bg in ipairs(Dk)do
En[#En+1]=Bg
end
return En
end
local function Er(Cf,Bi)
if Cq(Cf.Av)then
Do(Bi,Bs)
end
end
local function Es(Bi)
if Bi.Bc and Bi.Bc.Aw=='-'and not Bi.Bc.Au then
call('SETRANGE',R,32,'+')
end
end
local Et=0
local function Eu(Cf,Bi)
local H=call('ZREVRANGE',V,0,0,'WITHSCORES')[2]or 0
local Be=Cf.Ej
if not Be then
Et=math.max(H+1,Et+1,D())
Be=Et
end
local Cy=string.format('%.0f',Be)
call('ZADD',V,Cy,Cf.Av)
local Cg=Cf.Cg and'1'or'0'
local Ev={
Cy,'0',Cf.Da,Cf.Cu,Cf.Db,Cf.Ch,Cg,Cf.Ag,
}
call('HSET',W,Cf.Av,table.concat(Ev,' '))
Es(Bi)
end
local function Ew(Av,Bi)
if call('ZSCORE',V,Av)or not call('ZSCORE',X,Av)or Az(Bi,Av)then
return
end
local Cx=call('HGET',W,Av)
if not Cx then
Cq(Av)
return
end
call('ZREM',X,'!'..Av)
local Cy,Dc=string.match(Cx,'^(%d+) %d (.*)$')
call('HSET',W,Av,Cy..' 1 '..Dc)
call('ZADD',V,Cy,Av)
call('PEXPIREAT',V,call('ZREVRANGE',X,0,0,'WITHSCORES')[2])
Es(Bi)
end
local function Ex(Cf)
call('ZADD',X,Bs+Cf.Db,Cf.Av)
local Bq=call('ZREVRANGE',X,0,0,'WITHSCORES')[2]
for _,Ac in ipairs({V,W,X})do
call('PEXPIREAT',Ac,Bq)
end
end
local function Ey(Cf,Bi,Ez)
local Fa=call('ZRANK',V,Cf.Av)
if Fa then
call('PEXPIRE',V,Cf.Db)
elseif Ez>=Cf.Bu and not Aa then
return{'full',Ez}
else
Eu(Cf,Bi)
Fa=call('ZRANK',V,Cf.Av)
end
Ex(Cf)
return Em({'queued',Fa},Cf,Bi)
end
local function Fb(Cf,Bi,O)
local Fc=Cp(Cf,Bi,O,Bs)
if not Fc.Bc then
Bp()
end
return Ek(Fc,O,Cf.Am)
end
local function Fd(Cf)
local Av=Cf.Av
local Bi=Bx(Bs,Av)
if not Bi then
return Ad()
end
if Bi.Bc and Bi.Bc.Ba<0 then
return Ad('a lock without an end')
end
local Ez=0
local Fe=Cs(Bs)
if Fe then
Ew(Av,Bi)
Bi=Do(Bi,Bs,Av)
Ez=call('ZCARD',V)
end
if Az(Bi,Av)then
local O,Am=Cb(Bi,Av,Cf.Al,Bs)
if Fe then
Cq(Av)
end
return Ek(Bi,O,Am)
end
if El(Bi,Av)then
return Em({'refused'},Cf,Bi,true)
end
local Ee,Ff,Fg,Fh=Ce(Cf,Bi)
if Ee=='deadlock'or Ee=='mismatch'then
Er(Cf,Bi)
return{Ee,Ff,Fg,Fh}
end
if Ee=='passes'or Ee=='fits'and(Ez==0 or not Bi.Bd)then
local O=Ck(Bi)
if not O then
return Cl()
end
if Ez>0 then
Cq(Av)
end
return Fb(Cf,Bi,O)
end
if Cf.Da then
return Ey(Cf,Bi,Ez)
end
local Fi=Em({'refused'},Cf,Bi)
Er(Cf,Bi)
return Fi
end
local function Fj(Bi,Av,Ag)
if Bi.Bc then
call('DEL',R)
return{}
end
call('ZREM',S,Av,'~'..Av)
Bj(Ag)
Bk(Av,Ag)
if call('ZCARD',S)==0 then
Bl()
return{}
end
Bp()
return Bi
end
local function Fk(Bi,Av,Am,Fl)
Cq(Av)
if not Az(Bi,Av)then
return{'not_held',Bh(Bi,Am)},Bi
end
local Ag=Bi.Bc and Bi.Bc.Ag or call('HGET',T,Av)
local _,_,_,_,Fm=Af(Ag)
Bi=Fl(Bi,Av,Ag)
local Ax=Bh(Bi,Fm)
return Ax>0 and{'still_held',Ax}or 1,Bi
end
on(KEYS[1])
local function Fn(Cf)
local O=Ck({})
if not O then
return Cl()
end
Cq(Cf.Av)
if call('EXISTS',V)==1 then
Cf.Aw='+'
end
return Fb(Cf,{},O)
end
local function Fo(Fp,Bi)
local Cf=Eg(2)
if ARGV[8]=='1'and Fp==1 and not Bi.Bd then
return Fn(Cf)
end
return Fd(Cf)
end
local Bi=Bx(Bs,B)
if not Bi then
return{ARGV[1],Ad()}
end
Cs(Bs)
local Fp
Fp,Bi=Fk(Bi,B,ARGV[7],Fj)
local Fq,Fr=pcall(Fo,Fp,Bi)
if not Fq then
Fr={'error',type(Fr)=='table'and Fr.err or Fr}
end
local Fs=call('ZCARD',V)-(call('ZSCORE',V,string.sub(ARGV[2],1,32))and 1 or 0)
return{ARGV[1],Fp,Fr,Fs>0 and 1 or 0}
