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
local J,K=nil,false
local function L(i)
if not G then
local M=tonumber(A('GET',F)or 0)
if not M or not(M<9000000000000000)then
return nil
end
G=math.max(M,C()-1)
end
return I and math.max(G+1,I+(i or at))or G+1
end
local function N(O)
if O>H then
local P=O+#KEYS-2
if ARGV[#ARGV]=='0'or K and call('PTTL',F)==-1 then
call('SET',F,P)
else
call('SET',F,P,'PX',ARGV[#ARGV])
end
H=P
end
G=O
end
local Q,R,S,T,U,V,W
local X,Y,Z,Aa=320,false,false,false
local function on(Ab)
X,Y,Z,Aa=math.max(X,5),false,false,false
Q,R,S,T=Ab,Ab..':h',Ab..':d',Ab..':o'
U,V,W=Ab..':q',Ab..':w',Ab..':p'
end
local function Ac(Ad)
return{'corrupt',Ad or'a value that is no lock'}
end
local function Ae(Af)
local O,Ag,Ah,Ai,Aj,Ak=string.match(Af,'^(%d+) (%a) (%d+) (!?)(%d+) (%S*) ')
return O,Ag,Ah,Ai==''and Aj or'0',Ak
end
local function Al(Af)
return(string.gsub(Af,'^(%d+ %a %d+ )!','%1'))
end
local function Am(An)
return string.match(An,'^%*([spx])(%d*)$')
end
local function Ao(An)
local Ap,Aq,Ar,Af=string.match(An,'^(~?)(%x+)([-+])(.*)$')
if not Aq or#Aq~=32 then
return nil
end
local O,Ag,_,Aj,Ak=Ae(Af)
if Ag~='x'then
return nil
end
local As=call('PTTL',Q)
Aj=tonumber(Aj)
local At=Ap==''and As>Aj
return{
Aq=Aq,Ap=Ap~='',Ar=Ar,Af=Af,O=O,Aj=Aj,Ak=Ak,
At=At,Au=As,As=At and As-Aj or As,
}
end
local function Av(An)
if not An then
return{}
end
if string.sub(An,1,1)~='*'then
local Aw=Ao(An)
return Aw and{Ax='x',Ay='',Aw=Aw,O=Aw.O}
end
local Ax,Ay=Am(An)
return Ax and{Ax=Ax,Ay=Ay,O=Ax=='x'and Ay or nil}
end
local function Az(Ba,by)
local Ay=call('HINCRBY',T,Ba,by)
if Ay<=0 then
call('HDEL',T,Ba)
end
end
local function Bb(Bc,Ak)
if Ak==''then
return 0
end
if Bc.Aw then
return Bc.Aw.At and Bc.Aw.Ak==Ak and 1 or 0
end
return tonumber(call('HGET',T,'o'..Ak)or 0)
end
local function Bd(Af)
local _,Ag,Ah,_,Ak=Ae(Af)
if Ak~=''then
Az('o'..Ak,-1)
if Ag=='p'then
Az('p'..Ak,-Ah)
end
end
end
local function Be(Aq,Af)
local _,Ag,Ah=Ae(Af)
if Ag=='p'then
Az('used',-Ah)
end
call('HDEL',S,Aq)
end
local function Bf()
call('UNLINK',Q,R,S,T)
end
local function Bg(Bh)
local Aq=string.sub(Bh,-32)
local Af=call('HGET',S,Aq)
local Bi=Bh==Aq
if Af then
local _,_,_,Aj=Ae(Af)
if Bi then
Bd(Af)
end
if not Bi or Aj=='0'then
Be(Aq,Af)
end
end
end
local function Bj(Bk)
local Bl=call('ZREVRANGE',R,0,0,'WITHSCORES')[2]
if not Bl or tonumber(Bl)<=Bk then
Bf()
return false
end
local Bm=math.max(1,math.ceil(X/3))
local Bn=call('ZRANGEBYSCORE',R,'-inf',Bk,'LIMIT',0,Bm)
if Bn[1]then
call('ZREM',R,unpack(Bn))
Y=#Bn==Bm
X=X-3*#Bn
end
for _,Bh in ipairs(Bn)do
Bg(Bh)
end
return true
end
local function Bo(An,Bk,Aq)
local Bc=Av(An)
if Bc and Bc.Ax and not Bc.Aw then
if not Bj(Bk)then
return{}
end
if Y and Aq then
for _,Bh in ipairs({Aq,'~'..Aq})do
local Bp=call('ZSCORE',R,Bh)
if Bp and tonumber(Bp)<=Bk then
call('ZREM',R,Bh)
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
return Bc.Ax and call('ZSCORE',R,Aq)
end
local function Bq(Aq,Br,Aj)
call('ZADD',R,Br,Aq)
if Aj>0 then
call('ZADD',R,Br+Aj,'~'..Aq)
end
end
local function Bs()
local Bl=call('ZREVRANGE',R,0,0,'WITHSCORES')[2]
for _,Ab in ipairs({Q,R,S,T})do
call('PEXPIREAT',Ab,Bl)
end
end
local function Bt(Bc,Aq,Bu,Bk)
local M=Bc.Aw and Bc.Aw.Af or call('HGET',S,Aq)
local Af=Al(M)
local O,_,_,Aj,Ak=Ae(Af)
Aj=tonumber(Aj)
call('PEXPIRE',Q,Bu+Aj)
if Bc.Aw then
if Af~=M then
call('SET',Q,Aq..'+'..Af,'PX',Bu+Aj)
end
return O,Ak
end
if Af~=M then
call('HSET',S,Aq,Af)
end
Bq(Aq,Bk+Bu,Aj)
Bs()
return O,Ak
end
local function Bv(Bk)
return call('ZRANGEBYSCORE',R,'('..string.format('%.0f',Bk),'+inf','LIMIT',0,1)[1]
end
local function Bw(Bh,Bk)
local Aq=string.sub(Bh,-32)
local Bi=call('ZSCORE',R,Aq)
local Au=call('ZSCORE',R,'~'..Aq)or Bi
local Bc=Bi and'holding'or'closed'
return string.sub(Aq,1,8),Bc,(Bi or Au)-Bk,Au-Bk,call('HGET',S,Aq)
end
local function Bx(By,Bc)
local Ag,Ax,Ay=By.Ag,Bc.Ax,Bc.Ay
if not Ax then
return'fits'
end
if not Y and Bb(Bc,By.Ak)>0 then
if Ax=='x'and Ag=='x'and By.Bz or Ax=='s'and Ag=='s'then
return'passes'
elseif Ax=='x'then
return'deadlock','x',1,''
elseif Ag=='x'then
return'deadlock',Ax,call('HGET',T,'p'..By.Ak)or 1,Ay
end
end
if Ag=='x'or Ax=='x'then
return'in_the_way'
end
if Ag~=Ax or By.Ca~=Ay then
local Cb=Bv(E(C()))
local _,_,Cc=Ae(call('HGET',S,string.sub(Cb,-32)))
return'mismatch',Ax,Cc,Ay
end
local Cc=Ax=='p'and call('HGET',T,'used')or 0
return(Ax=='s'or Cc+By.Ah<=tonumber(Ay))and'fits'or'in_the_way'
end
local function Cd(Bc)
local O=Bc.O or L()
return O and(Bc.O or string.format('%.0f',O))
end
local function Ce()
return Ac('the fence counter is not a number that can grow')
end
local function Cf()
if call('ZCARD',R)+call('HLEN',S)+call('HLEN',T)>0 then
call('UNLINK',R,S,T)
end
end
local function Cg(Aw,Bk)
Cf()
call('SET',Q,'*x'..Aw.O,'PX',Aw.Au)
call('HSET',S,Aw.Aq,Aw.Af)
Bq(Aw.Aq,Bk+Aw.As,Aw.Aj)
Az('o'..Aw.Ak,1)
end
local function Ch(By,O)
local Bu,Aj,Af=By.Bu,By.Aj,O..' '..By.Af
call('SET',Q,By.Aq..By.Ar..Af,'PX',Bu+Aj)
local Aw={
Aq=By.Aq,Ap=false,Ar=By.Ar,Af=Af,O=O,Aj=Aj,
Ak=By.Ak,At=true,Au=Bu+Aj,As=Bu,
}
return{Ax='x',Ay='',Aw=Aw,O=O}
end
local function Ci(By,Bc,O,Bk)
local Aq,Ak=By.Aq,By.Ak
if O~=Bc.O then
N(tonumber(O))
end
if not Bc.Ax and By.Ag=='x'then
return Ch(By,O)
end
if Bc.Aw then
Cg(Bc.Aw,Bk)
elseif not Bc.Ax then
Cf()
call('SET',Q,'*'..By.Ag..By.Ca,'PX',By.Bu+By.Aj)
end
Bq(Aq,Bk+By.Bu,By.Aj)
call('HSET',S,Aq,O..' '..By.Af)
if By.Ag=='p'then
Az('used',By.Ah)
end
if Ak~=''then
Az('o'..Ak,1)
if By.Ag=='p'then
Az('p'..Ak,By.Ah)
end
end
if By.Ag=='x'then
return{Ax='x',Ay=O,O=O}
end
return{Ax=By.Ag,Ay=By.Ca}
end
local function Cj(Aq)
if call('ZREM',W,Aq,'!'..Aq)==0 then
return false
end
call('HDEL',V,Aq)
return call('ZREM',U,Aq)==1
end
local function Ck()
return string.match(call('HGET',V,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function Cl(Bk)
if call('EXISTS',W)==0 then
return false
end
local Bm=math.max(1,X)
local Bn=call('ZRANGEBYSCORE',W,'-inf',Bk,'LIMIT',0,Bm)
Z=#Bn==Bm
X=X-#Bn
for _,Bh in ipairs(Bn)do
local Aq=string.match(Bh,'^!(.*)')
if not Aq then
Cj(Bh)
else
local Cm=call('ZSCORE',W,Aq)
if Cm and tonumber(Cm)>Bk then
local Cn=string.match(call('HGET',V,Aq)or'','^%d+ %d %S+ (%d+)')
local Co=Cn and call('ZSCORE',W,Bh)-Cn
Aa=Aa or Co and Co>=tonumber((Ck()))
end
call('ZREM',W,Bh)
end
end
return true
end
local function Cp(Aq,Cq)
local Cr,Cs,Ct,Cn,Cu,Ca,Bz,Af=string.match(
Cq or'','^(%d+) ([01]) (%S+) (%d+) (%d+) (%d*) ([01]) (.*)$'
)
if not Ct then
return nil
end
local Ag,Ah,Aj,Ak,Cv=string.match(Af,'^(%a) (%d+) (%d+) (%S*) (.*)$')
local Cw=Aj~='0'
return{
Aq=Aq,Ag=Ag,Bz=Bz=='1',Ah=Ah,Ca=Ca,Ak=Ak,
Af=string.format('%s %s %s%s %s ',Ag,Ah,Cw and'!'or'',Aj,Ak)..Cv,
Bu=tonumber(Cn),Aj=0,Ar=Cw and'+'or'-',Ct=Ct,Cr=tonumber(Cr),
Cu=tonumber(Cu),Cs=Cs=='1',
}
end
local function Cx(Ct,Ad)
local Cy=A('PUBLISH',Ct,Ad)
return type(Cy)~='number'or Cy>0
end
local function Cz(Aq)
return string.match(call('HGET',V,Aq)or'','^%d+ %d (%S+)')
end
local function Da(Db,Ad)
local Dc,Dd=8,nil
for _,Aq in ipairs(call('ZRANGE',U,0,Dc))do
if Aq~=Db and Dc>0 then
Dc=Dc-1
local Ct=Cz(Aq)
if Ct and Cx(Ct,Ad..Aq)then
Dd=Ct
break
end
end
end
local G=call('ZREVRANGE',U,0,0)[1]
local Ct=G and G~=Db and Cz(G)
if Ct and Ct~=Dd then
Cx(Ct,Ad..G)
end
end
local function De(Db,Bk,M)
local Df=call('ZREVRANGE',W,0,0,'WITHSCORES')[2]
if not Df then
return
end
local Dg=0
for _,Aq in ipairs(call('ZRANGE',U,0,319))do
local Cr,Ct=string.match(call('HGET',V,Aq)or'','^(%d+) %d (%S+)')
if Ct then
Dg=Cr
if Aq~=Db then
Cx(Ct,'!'..Aq)
end
end
end
call('HSET',V,'?',string.format('%.0f %s %s',Bk,Dg,M))
call('PEXPIREAT',V,Df)
end
local function Dh(Bc,Bk,Db)
local Di,Dj,Dk,Dl=Aa,false,false,false
local Dm,Dn,Do,Dp=Ck()
if Di then
X=math.max(5,X-260)
Aa,Do,Dp=false,Dm,Dn
end
X=math.max(5,X)
local M=Do..' '..Dp
Do,Dp=tonumber(Do),tonumber(Dp)
local Dq,at,Dr,Ds,Dt={},0,0,0,{}
while true do
if Bc.Aw and Bc.Aw.Ak==''then
break
end
at=at+1
if at>Dr then
if Dt[1]then
call('ZREM',U,unpack(Dt))
Dt={}
end
local Bm=math.min(math.max(Ds,1),64)
Dq=call('ZRANGE',U,0,Bm)
if not Dq[1]then
break
end
Dr,at=math.min(#Dq,Bm),1
end
local Du,Dv=Dq[at],Dq[at+1]
local Cq=call('HGET',V,Du)
local By=Cp(Du,Cq)
local Dw=math.floor(#(Cq or'')/256)
local Cm=By and(Z or By.Cr<=Dp)and call('ZSCORE',W,Du)
if not By or Z and Cm and tonumber(Cm)<=Bk then
if X<=0 then
Dl=true
break
end
X=X-1-Dw
Dt[#Dt+1]=Du
Cj(Du)
else
local Dx=Bx(By,Bc)
K=true
local O=(Dx=='fits'or Dx=='passes')and Cd(Bc)
if not O then
break
end
if X<=0 then
Dl=true
break
end
if Ds==0 then
call('ZREM',U,Du)
else
Dt[#Dt+1]=Du
end
local Cy=Du==Db
local Dy=By.Cr<=Dp and Cm
if not Cy and not(Dy and Cm-By.Cu<Do)then
Cy=Cx(By.Ct,Du)or By.Cs
end
if not Cy then
X,Ds=X-1-Dw,Ds+1
else
X,Ds=X-5-Dw,0
if Dt[1]then
call('ZREM',U,unpack(Dt))
Dt={}
end
if Du==Db then
Cj(Du)
else
call('ZADD',W,Bk+By.Bu,'!'..Du)
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
call('ZREM',U,unpack(Dt))
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
on(KEYS[1])
local Bk=E(C())
local Bc=Bo(call('GET',Q),Bk)
if not Bc then
return{ARGV[1],Ac()}
end
local Dz=0
if Bc.Ax then
Dz=Bc.Aw and 1 or call('HLEN',S)
Bf()
end
if Cl(Bk)then
Dh({},Bk)
end
return{ARGV[1],{'opened',Dz}}
