local call,A=redis.call,redis.pcall
local B
local function C()
if not B then
local D=call('TIME')
B=D[1]*1000000+D[2]
end
return B
end
local function E(us)
return math.floor(us/1000)
end
local F,G,H,at,I=KEYS[#KEYS]..'fence',nil,0,nil,nil
local J=false
local function K(i)
if not G then
local L=tonumber(A('GET',F)or 0)
if not L or not(L<9000000000000000)then
return nil
end
G=math.max(L,C()-1)
end
return I and math.max(G+1,I+(i or at))or G+1
end
local function M(N)
if N>H then
local O=N+#KEYS-2
if ARGV[#ARGV]=='0'or J and call('PTTL',F)==-1 then
call('SET',F,O)
else
call('SET',F,O,'PX',ARGV[#ARGV])
end
H=O
end
G=N
end
local P,Q,R,S,T,U,V
local W,X,Y,Z=320,false,false,false
local function on(Aa)
W,X,Y,Z=math.max(W,5),false,false,false
P,Q,R,S=Aa,Aa..':h',Aa..':d',Aa..':o'
T,U,V=Aa..':q',Aa..':w',Aa..':p'
end
local function Ab(Ac)
return{'corrupt',Ac or'a value that is no lock'}
end
local function Ad(Ae)
local N,Af,Ag,Ah,Ai,Aj,Ak=string.match(Ae,'^(%d+) (%a) (%d+) (!?)(%d+)/?(%d*) (%S*) ')
return N,Af,Ag,Ah==''and Ai or'0',Ak,tonumber(Aj)
end
local Al=12000
local function Am()
local An=A('GETRANGE',P,0,Al+99)
if type(An)~='string'then
return call('GET',P)
end
return(An~=''or call('EXISTS',P)==1)and An
end
local function Ao(Ae)
if not Ae or#Ae<=Al then
return Ae
end
local Ap=string.match(string.sub(Ae,1,Al),'^%d* %a %d+ !?%d+/?%d* %S* ')
return(Ap or'')..'{"cut":"longer than '..Al..' bytes"}'
end
local function Aq(Ae,Aj)
return(string.gsub(Ae,'^(%d+ %a %d+ )!?(%d+)/?%d* ','%1%2/'..Aj..' '))
end
local function Ar(An)
if#An<=32 then
return string.match(An,'^%*([spx])(%d*)$')
end
end
local function As(An)
local At,Au,Av,Aw=string.match(An,'^(~?)(%x+)([-+])()')
if not Au or#Au~=32 then
return nil
end
local Ae=Ao(string.sub(An,Aw))
local N,Af,_,Ai,Ak,Aj=Ad(Ae)
if Af~='x'then
return nil
end
local Ax=call('PTTL',P)
Ai=tonumber(Ai)
local Ay=Aj and Ax>Aj+Ai
Ax=Ay and Aj+Ai or Ax
local Az=At==''and Ax>Ai
return{
Au=Au,At=At~='',Av=Av,Ae=Ae,N=N,Ai=Ai,Ak=Ak,
Az=Az,Ba=Ax,Ax=Az and Ax-Ai or Ax,Ay=Ay,
}
end
local function Bb(An)
if not An then
return{}
end
if string.sub(An,1,1)~='*'then
local Bc=As(An)
return Bc and{Bd='x',Be='',Bc=Bc,N=Bc.N}
end
local Bd,Be=Ar(An)
return Bd and{Bd=Bd,Be=Be,N=Bd=='x'and Be or nil}
end
local function Bf(Bg,by)
local Be=call('HINCRBY',S,Bg,by)
if Be<=0 then
call('HDEL',S,Bg)
end
end
local function Bh(Bi,Ak)
if Ak==''then
return 0
end
if Bi.Bc then
return Bi.Bc.Az and Bi.Bc.Ak==Ak and 1 or 0
end
return tonumber(call('HGET',S,'o'..Ak)or 0)
end
local function Bj(Ae)
local _,Af,Ag,_,Ak=Ad(Ae)
if Ak~=''then
Bf('o'..Ak,-1)
if Af=='p'then
Bf('p'..Ak,-Ag)
end
end
end
local function Bk(Au,Ae)
local _,Af,Ag=Ad(Ae)
if Af=='p'then
Bf('used',-Ag)
end
call('HDEL',R,Au)
end
local function Bl()
call('UNLINK',P,Q,R,S)
end
local function Bm(Bn)
local Au=string.sub(Bn,-32)
local Ae=call('HGET',R,Au)
local Bo=Bn==Au
if Ae then
local _,_,_,Ai=Ad(Ae)
if Bo then
Bj(Ae)
end
if not Bo or Ai=='0'then
Bk(Au,Ae)
end
end
end
local function Bp()
local Bq=call('ZREVRANGE',Q,0,0,'WITHSCORES')[2]
for _,Aa in ipairs({P,Q,R,S})do
call('PEXPIREAT',Aa,Bq)
end
end
local function Br(Bs)
local Bt,Bq=false,call('ZREVRANGE',Q,0,0,'WITHSCORES')
while Bq[1]and W>0 do
local Bn=Bq[1]
local _,_,_,Ai,_,Aj=Ad(call('HGET',R,string.sub(Bn,-32))or'')
local Bu=Aj and Bs+Aj+(#Bn>32 and Ai or 0)
if not Bu or tonumber(Bq[2])<=Bu then
break
end
call('PEXPIREAT',P,Bq[2])
call('ZADD',Q,Bu,Bn)
Bt,W,Bq=true,W-3,call('ZREVRANGE',Q,0,0,'WITHSCORES')
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
local Bu=math.max(1,math.ceil(W/3))
local Bw=call('ZRANGEBYSCORE',Q,'-inf',Bs,'LIMIT',0,Bu)
if Bw[1]then
call('ZREM',Q,unpack(Bw))
X=#Bw==Bu
W=W-3*#Bw
end
for _,Bn in ipairs(Bw)do
Bm(Bn)
end
return true
end
local function Bx(Bs,Au)
local Bi=Bb(Am())
if Bi and Bi.Bc and Bi.Bc.Ay then
call('PEXPIRE',P,Bi.Bc.Ba)
end
if Bi and Bi.Bd and not Bi.Bc then
if not Bv(Bs)then
return{}
end
if X and Au then
for _,Bn in ipairs({Au,'~'..Au})do
local By=call('ZSCORE',Q,Bn)
if By and tonumber(By)<=Bs then
call('ZREM',Q,Bn)
Bm(Bn)
end
end
end
end
return Bi
end
local function Az(Bi,Au)
if Bi.Bc then
return Bi.Bc.Az and Bi.Bc.Au==Au
end
return Bi.Bd and call('ZSCORE',Q,Au)
end
local function Bz(Au,Ca,Ai)
call('ZADD',Q,Ca,Au)
if Ai>0 then
call('ZADD',Q,Ca+Ai,'~'..Au)
end
end
local function Cb(Bi,Au,Aj,Bs)
local L=Bi.Bc and Bi.Bc.Ae or call('HGET',R,Au)
local Ae=Aq(L,Aj)
local N,_,_,Ai,Ak=Ad(Ae)
Ai=tonumber(Ai)
call('PEXPIRE',P,Aj+Ai)
if Bi.Bc then
if Ae~=L then
call('SET',P,Au..Bi.Bc.Av..Ae,'PX',Aj+Ai)
end
return N,Ak
end
if Ae~=L then
call('HSET',R,Au,Ae)
end
Bz(Au,Bs+Aj,Ai)
Bp()
return N,Ak
end
local function Cc(Bs)
return call('ZRANGEBYSCORE',Q,'('..string.format('%.0f',Bs),'+inf','LIMIT',0,1)[1]
end
local function Cd(Bn,Bs)
local Au=string.sub(Bn,-32)
local Bo=call('ZSCORE',Q,Au)
local Ba=call('ZSCORE',Q,'~'..Au)or Bo
local Bi=Bo and'holding'or'closed'
return string.sub(Au,1,8),Bi,(Bo or Ba)-Bs,Ba-Bs,Ao(call('HGET',R,Au))
end
local function Ce(Cf,Bi)
local Af,Bd,Be=Cf.Af,Bi.Bd,Bi.Be
if not Bd then
return'fits'
end
if not X and Bh(Bi,Cf.Ak)>0 then
if Bd=='x'and Af=='x'and Cf.Cg or Bd=='s'and Af=='s'then
return'passes'
elseif Bd=='x'then
return'deadlock','x',1,''
elseif Af=='x'then
return'deadlock',Bd,call('HGET',S,'p'..Cf.Ak)or 1,Be
end
end
if Af=='x'or Bd=='x'then
return'in_the_way'
end
if Af~=Bd or Cf.Ch~=Be then
local Ci=Cc(E(C()))
local _,_,Cj=Ad(call('HGET',R,string.sub(Ci,-32)))
return'mismatch',Bd,string.sub(Cj,1,20),Be
end
local Cj=Bd=='p'and call('HGET',S,'used')or 0
return(Bd=='s'or Cj+Cf.Ag<=tonumber(Be))and'fits'or'in_the_way'
end
local function Ck(Bi)
local N=Bi.N or K()
return N and(Bi.N or string.format('%.0f',N))
end
local function Cl()
return Ab('the fence counter is not a number that can grow')
end
local function Cm()
if call('ZCARD',Q)+call('HLEN',R)+call('HLEN',S)>0 then
call('UNLINK',Q,R,S)
end
end
local function Cn(Bc,Bs)
Cm()
call('SET',P,'*x'..Bc.N,'PX',Bc.Ba)
call('HSET',R,Bc.Au,Bc.Ae)
Bz(Bc.Au,Bs+Bc.Ax,Bc.Ai)
Bf('o'..Bc.Ak,1)
end
local function Co(Cf,N)
local Aj,Ai,Ae=Cf.Aj,Cf.Ai,N..' '..Cf.Ae
call('SET',P,Cf.Au..Cf.Av..Ae,'PX',Aj+Ai)
local Bc={
Au=Cf.Au,At=false,Av=Cf.Av,Ae=Ae,N=N,Ai=Ai,
Ak=Cf.Ak,Az=true,Ba=Aj+Ai,Ax=Aj,
}
return{Bd='x',Be='',Bc=Bc,N=N}
end
local function Cp(Cf,Bi,N,Bs)
local Au,Ak=Cf.Au,Cf.Ak
if N~=Bi.N then
M(tonumber(N))
end
if not Bi.Bd and Cf.Af=='x'then
return Co(Cf,N)
end
if Bi.Bc then
Cn(Bi.Bc,Bs)
elseif not Bi.Bd then
Cm()
call('SET',P,'*'..Cf.Af..Cf.Ch,'PX',Cf.Aj+Cf.Ai)
end
Bz(Au,Bs+Cf.Aj,Cf.Ai)
call('HSET',R,Au,N..' '..Cf.Ae)
if Cf.Af=='p'then
Bf('used',Cf.Ag)
end
if Ak~=''then
Bf('o'..Ak,1)
if Cf.Af=='p'then
Bf('p'..Ak,Cf.Ag)
end
end
if Cf.Af=='x'then
return{Bd='x',Be=N,N=N}
end
return{Bd=Cf.Af,Be=Cf.Ch}
end
local function Cq(Au)
if call('ZREM',V,Au,'!'..Au)==0 then
return false
end
call('HDEL',U,Au)
return call('ZREM',T,Au)==1
end
local function Cr()
return string.match(call('HGET',U,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function Cs(Bs)
if call('EXISTS',V)==0 then
return false
end
local Bu=math.max(1,W)
local Bw=call('ZRANGEBYSCORE',V,'-inf',Bs,'LIMIT',0,Bu)
Y=#Bw==Bu
W=W-#Bw
for _,Bn in ipairs(Bw)do
local Au=string.match(Bn,'^!(.*)')
if not Au then
Cq(Bn)
else
local Ct=call('ZSCORE',V,Au)
if Ct and tonumber(Ct)>Bs then
local Cu=string.match(call('HGET',U,Au)or'','^%d+ %d %S+ (%d+)')
local Cv=Cu and call('ZSCORE',V,Bn)-Cu
Z=Z or Cv and Cv>=tonumber((Cr()))
end
call('ZREM',V,Bn)
end
end
return true
end
local function Cw(Au,Cx)
local Cy,Cz,Da,Cu,Db,Ch,Cg,Ae=string.match(
Cx or'','^(%d+) ([01]) (%S+) (%d+) (%d+) (%d*) ([01]) (.*)$'
)
if not Da then
return nil
end
local Af,Ag,Ai,Ak,Dc=string.match(Ae,'^(%a) (%d+) (%d+)/?%d* (%S*) (.*)$')
local Dd=Ai~='0'
return{
Au=Au,Af=Af,Cg=Cg=='1',Ag=Ag,Ch=Ch,Ak=Ak,
Ae=string.format('%s %s %s%s/%s %s ',Af,Ag,Dd and'!'or'',Ai,Cu,Ak)..Dc,
Aj=tonumber(Cu),Ai=0,Av=Dd and'+'or'-',Da=Da,Cy=tonumber(Cy),
Db=tonumber(Db),Cz=Cz=='1',
}
end
local function De(Da,Ac)
local Df=A('PUBLISH',Da,Ac)
return type(Df)~='number'or Df>0
end
local function Dg(Au)
return string.match(call('HGET',U,Au)or'','^%d+ %d (%S+)')
end
local function Dh(Di,Ac)
local Dj,Dk=8,nil
for _,Au in ipairs(call('ZRANGE',T,0,Dj))do
if Au~=Di and Dj>0 then
Dj=Dj-1
local Da=Dg(Au)
if Da and De(Da,Ac..Au)then
Dk=Da
break
end
end
end
local G=call('ZREVRANGE',T,0,0)[1]
local Da=G and G~=Di and Dg(G)
if Da and Da~=Dk then
De(Da,Ac..G)
end
end
local function Dl(Di,Bs,L)
local Dm=call('ZREVRANGE',V,0,0,'WITHSCORES')[2]
if not Dm then
return
end
local Dn=0
for _,Au in ipairs(call('ZRANGE',T,0,319))do
local Cy,Da=string.match(call('HGET',U,Au)or'','^(%d+) %d (%S+)')
if Da then
Dn=Cy
if Au~=Di then
De(Da,'!'..Au)
end
end
end
call('HSET',U,'?',string.format('%.0f %s %s',Bs,Dn,L))
call('PEXPIREAT',U,Dm)
end
local function Do(Bi,Bs,Di)
local Dp,Dq,Dr,Ds=Z,false,false,false
local Dt,Du,Dv,Dw=Cr()
if Dp then
W=math.max(5,W-260)
Z,Dv,Dw=false,Dt,Du
end
W=math.max(5,W)
local L=Dv..' '..Dw
Dv,Dw=tonumber(Dv),tonumber(Dw)
local Dx,at,Dy,Dz,Ea={},0,0,0,{}
while true do
if Bi.Bc and Bi.Bc.Ak==''then
break
end
at=at+1
if at>Dy then
if Ea[1]then
call('ZREM',T,unpack(Ea))
Ea={}
end
local Bu=math.min(math.max(Dz,1),64)
Dx=call('ZRANGE',T,0,Bu)
if not Dx[1]then
break
end
Dy,at=math.min(#Dx,Bu),1
end
local Eb,Ec=Dx[at],Dx[at+1]
local Cx=call('HGET',U,Eb)
local Cf=Cw(Eb,Cx)
local Ed=math.floor(#(Cx or'')/256)
local Ct=Cf and(Y or Cf.Cy<=Dw)and call('ZSCORE',V,Eb)
if not Cf or Y and Ct and tonumber(Ct)<=Bs then
if W<=0 then
Ds=true
break
end
W=W-1-Ed
Ea[#Ea+1]=Eb
Cq(Eb)
else
local Ee=Ce(Cf,Bi)
J=true
local N=(Ee=='fits'or Ee=='passes')and Ck(Bi)
if not N then
break
end
if W<=0 then
Ds=true
break
end
if Dz==0 then
call('ZREM',T,Eb)
else
Ea[#Ea+1]=Eb
end
local Df=Eb==Di
local Ef=Cf.Cy<=Dw and Ct
if not Df and not(Ef and Ct-Cf.Db<Dv)then
Df=De(Cf.Da,Eb)or Cf.Cz
end
if not Df then
W,Dz=W-1-Ed,Dz+1
else
W,Dz=W-5-Ed,0
if Ea[1]then
call('ZREM',T,unpack(Ea))
Ea={}
end
if Eb==Di then
Cq(Eb)
else
call('ZADD',V,Bs+Cf.Aj,'!'..Eb)
Dr=true
end
if Ec or Dr then
Cf.Av='+'
end
Bi=Cp(Cf,Bi,N,Bs)
Dq=true
end
end
end
if Ea[1]then
call('ZREM',T,unpack(Ea))
end
if Dp then
Dl(Di,Bs,L)
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
local Bs=E(C())
local function Eg(Ci)
local Ap,Eh=ARGV[Ci],Ci
while ARGV[Eh+1]==''do
Eh=Eh-4
end
local Ba,Ae,Ei=unpack(ARGV,Eh+1,Eh+3)
local Af,Ag,Ai,Ak=string.match(Ae,'^(%a) (%d+) (%d+)/?%d* (%S*) ')
local Cg,Ch,Da,Cu,Db,Bu,Ej=
string.match(Ei,'^([01]) (%d*) ?(%S*) ?(%d*) ?(%d*) ?(%d*) ?(%d*)$')
return{
Au=string.sub(Ap,1,32),Af=Af,Cg=Cg=='1',Ag=Ag,Ch=Ch,
Aj=Ba-Ai,Ai=tonumber(Ai),Ak=Ak,Ae=Ae,Av=string.sub(Ap,33),
Da=Da~=''and Da,Cu=Cu,Db=tonumber(Db),Bu=tonumber(Bu),
Ej=tonumber(Ej),
}
end
local function Ek(Bi,N,Ak)
return{'granted',N,math.max(1,Bh(Bi,Ak))}
end
local function El(Bi,Au)
if Bi.Bc then
return Bi.Bc.Au==Au
end
return Bi.Bd and call('HGET',R,Au)
end
local function Em(En,Cf,Bi,Eo)
local Bc,Dk=Bi.Bc,nil
if Bc then
local Ep=Bc.Az and'holding'or'closed'
Dk={string.sub(Bc.Au,1,8),Ep,Bc.Ax,Bc.Ba,'',Bc.Ae}
else
local Ag=Cf.Af=='p'and Bi.Bd=='p'
local Bn=Eo and'~'..Cf.Au
or Ag and Cc(Bs)
or call('ZREVRANGE',Q,0,0)[1]
local Eq,Ep,Ax,Ba,Ae=Cd(Bn,Bs)
if Ag and X then
Ba=0
end
Dk={Eq,Ep,Ax,Ba,Bi.Be,Ae}
end
for _,Bg in ipairs(Dk)do
En[#En+1]=Bg
end
return En
end
local function Er(Cf,Bi)
if Cq(Cf.Au)then
Do(Bi,Bs)
end
end
local function Es(Bi)
if Bi.Bc and Bi.Bc.Av=='-'and not Bi.Bc.At then
call('SETRANGE',P,32,'+')
end
end
local Et=0
local function Eu(Cf,Bi)
local G=call('ZREVRANGE',T,0,0,'WITHSCORES')[2]or 0
local Be=Cf.Ej
if not Be then
Et=math.max(G+1,Et+1,C())
Be=Et
end
local Cy=string.format('%.0f',Be)
call('ZADD',T,Cy,Cf.Au)
local Cg=Cf.Cg and'1'or'0'
local Ev={
Cy,'0',Cf.Da,Cf.Cu,Cf.Db,Cf.Ch,Cg,Cf.Ae,
}
call('HSET',U,Cf.Au,table.concat(Ev,' '))
Es(Bi)
end
local function Ew(Au,Bi)
if call('ZSCORE',T,Au)or not call('ZSCORE',V,Au)or Az(Bi,Au)then
return
end
local Cx=call('HGET',U,Au)
if not Cx then
Cq(Au)
return
end
call('ZREM',V,'!'..Au)
local Cy,Dc=string.match(Cx,'^(%d+) %d (.*)$')
call('HSET',U,Au,Cy..' 1 '..Dc)
call('ZADD',T,Cy,Au)
call('PEXPIREAT',T,call('ZREVRANGE',V,0,0,'WITHSCORES')[2])
Es(Bi)
end
local function Ex(Cf)
call('ZADD',V,Bs+Cf.Db,Cf.Au)
local Bq=call('ZREVRANGE',V,0,0,'WITHSCORES')[2]
for _,Aa in ipairs({T,U,V})do
call('PEXPIREAT',Aa,Bq)
end
end
local function Ey(Cf,Bi,Ez)
local Fa=call('ZRANK',T,Cf.Au)
if Fa then
call('PEXPIRE',T,Cf.Db)
elseif Ez>=Cf.Bu and not Y then
return{'full',Ez}
else
Eu(Cf,Bi)
Fa=call('ZRANK',T,Cf.Au)
end
Ex(Cf)
return Em({'queued',Fa},Cf,Bi)
end
local function Fb(Cf,Bi,N)
local Fc=Cp(Cf,Bi,N,Bs)
if not Fc.Bc then
Bp()
end
return Ek(Fc,N,Cf.Ak)
end
local function Fd(Cf)
local Au=Cf.Au
local Bi=Bx(Bs,Au)
if not Bi then
return Ab()
end
if Bi.Bc and Bi.Bc.Ba<0 then
return Ab('a lock without an end')
end
local Ez=0
local Fe=Cs(Bs)
if Fe then
Ew(Au,Bi)
Bi=Do(Bi,Bs,Au)
Ez=call('ZCARD',T)
end
if Az(Bi,Au)then
local N,Ak=Cb(Bi,Au,Cf.Aj,Bs)
if Fe then
Cq(Au)
end
return Ek(Bi,N,Ak)
end
if El(Bi,Au)then
return Em({'refused'},Cf,Bi,true)
end
local Ee,Ff,Fg,Fh=Ce(Cf,Bi)
if Ee=='deadlock'or Ee=='mismatch'then
Er(Cf,Bi)
return{Ee,Ff,Fg,Fh}
end
if Ee=='passes'or Ee=='fits'and(Ez==0 or not Bi.Bd)then
local N=Ck(Bi)
if not N then
return Cl()
end
if Ez>0 then
Cq(Au)
end
return Fb(Cf,Bi,N)
end
if Cf.Da then
return Ey(Cf,Bi,Ez)
end
local Fi=Em({'refused'},Cf,Bi)
Er(Cf,Bi)
return Fi
end
local function Fj(Bi,Au,Ae)
if Bi.Bc then
call('DEL',P)
return{}
end
call('ZREM',Q,Au,'~'..Au)
Bj(Ae)
Bk(Au,Ae)
if call('ZCARD',Q)==0 then
Bl()
return{}
end
Bp()
return Bi
end
local function Fk(Bi,Au,Ak,Fl)
Cq(Au)
if not Az(Bi,Au)then
return{'not_held',Bh(Bi,Ak)},Bi
end
local Ae=Bi.Bc and Bi.Bc.Ae or call('HGET',R,Au)
local _,_,_,_,Fm=Ad(Ae)
Bi=Fl(Bi,Au,Ae)
local Ax=Bh(Bi,Fm)
return Ax>0 and{'still_held',Ax}or 1,Bi
end
on(KEYS[1])
local Cf=Eg(2)
local Bi=Bx(Bs,Cf.Au)
if not Bi then
return{ARGV[1],Ab()}
end
Cs(Bs)
local _
_,Bi=Fk(Bi,Cf.Au,Cf.Ak,Fj)
Eu(Cf,Bi)
Ex(Cf)
Do(Bi,Bs)
return{ARGV[1],1}
