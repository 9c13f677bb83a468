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
local function J(i)
if not G then
local K=tonumber(A('GET',F)or 0)
if not K or not(K<9000000000000000)then
return nil
end
G=math.max(K,C()-1)
end
return I and math.max(G+1,I+(i or at))or G+1
end
local function L(M)
if M>H then
local N=M+#KEYS-2
if ARGV[#ARGV]=='0'then
call('SET',F,N)
else
call('SET',F,N,'PX',ARGV[#ARGV])
end
H=N
end
G=M
end
local O,P,Q,R,S,T,U
local V,W,X,Y=320,false,false,false
local function on(Z)
V,W,X,Y=math.max(V,5),false,false,false
O,P,Q,R=Z,Z..':h',Z..':d',Z..':o'
S,T,U=Z..':q',Z..':w',Z..':p'
end
local function Aa(Ab)
return{'corrupt',Ab or'a value that is no lock'}
end
local function Ac(Ad)
local M,Ae,Af,Ag,Ah,Ai=string.match(Ad,'^(%d+) (%a) (%d+) (!?)(%d+) (%S*) ')
return M,Ae,Af,Ag==''and Ah or'0',Ai
end
local function Aj(Ad)
return(string.gsub(Ad,'^(%d+ %a %d+ )!','%1'))
end
local function Ak(Al)
return string.match(Al,'^%*([spx])(%d*)$')
end
local function Am(Al)
local An,Ao,Ap,Ad=string.match(Al,'^(~?)(%x+)([-+])(.*)$')
if not Ao or#Ao~=32 then
return nil
end
local M,Ae,_,Ah,Ai=Ac(Ad)
if Ae~='x'then
return nil
end
local Aq=call('PTTL',O)
Ah=tonumber(Ah)
local Ar=An==''and Aq>Ah
return{
Ao=Ao,An=An~='',Ap=Ap,Ad=Ad,M=M,Ah=Ah,Ai=Ai,
Ar=Ar,As=Aq,Aq=Ar and Aq-Ah or Aq,
}
end
local function At(Al)
if not Al then
return{}
end
if string.sub(Al,1,1)~='*'then
local Au=Am(Al)
return Au and{Av='x',Aw='',Au=Au,M=Au.M}
end
local Av,Aw=Ak(Al)
return Av and{Av=Av,Aw=Aw,M=Av=='x'and Aw or nil}
end
local function Ax(Ay,by)
local Aw=call('HINCRBY',R,Ay,by)
if Aw<=0 then
call('HDEL',R,Ay)
end
end
local function Az(Ba,Ai)
if Ai==''then
return 0
end
if Ba.Au then
return Ba.Au.Ar and Ba.Au.Ai==Ai and 1 or 0
end
return tonumber(call('HGET',R,'o'..Ai)or 0)
end
local function Bb(Ad)
local _,Ae,Af,_,Ai=Ac(Ad)
if Ai~=''then
Ax('o'..Ai,-1)
if Ae=='p'then
Ax('p'..Ai,-Af)
end
end
end
local function Bc(Ao,Ad)
local _,Ae,Af=Ac(Ad)
if Ae=='p'then
Ax('used',-Af)
end
call('HDEL',Q,Ao)
end
local function Bd()
call('UNLINK',O,P,Q,R)
end
local function Be(Bf)
local Ao=string.sub(Bf,-32)
local Ad=call('HGET',Q,Ao)
local Bg=Bf==Ao
if Ad then
local _,_,_,Ah=Ac(Ad)
if Bg then
Bb(Ad)
end
if not Bg or Ah=='0'then
Bc(Ao,Ad)
end
end
end
local function Bh(Bi)
local Bj=call('ZREVRANGE',P,0,0,'WITHSCORES')[2]
if not Bj or tonumber(Bj)<=Bi then
Bd()
return false
end
local Bk=math.max(1,math.ceil(V/3))
local Bl=call('ZRANGEBYSCORE',P,'-inf',Bi,'LIMIT',0,Bk)
if Bl[1]then
call('ZREM',P,unpack(Bl))
W=#Bl==Bk
V=V-3*#Bl
end
for _,Bf in ipairs(Bl)do
Be(Bf)
end
return true
end
local function Bm(Al,Bi,Ao)
local Ba=At(Al)
if Ba and Ba.Av and not Ba.Au then
if not Bh(Bi)then
return{}
end
if W and Ao then
for _,Bf in ipairs({Ao,'~'..Ao})do
local Bn=call('ZSCORE',P,Bf)
if Bn and tonumber(Bn)<=Bi then
call('ZREM',P,Bf)
Be(Bf)
end
end
end
end
return Ba
end
local function Ar(Ba,Ao)
if Ba.Au then
return Ba.Au.Ar and Ba.Au.Ao==Ao
end
return Ba.Av and call('ZSCORE',P,Ao)
end
local function Bo(Ao,Bp,Ah)
call('ZADD',P,Bp,Ao)
if Ah>0 then
call('ZADD',P,Bp+Ah,'~'..Ao)
end
end
local function Bq()
local Bj=call('ZREVRANGE',P,0,0,'WITHSCORES')[2]
for _,Z in ipairs({O,P,Q,R})do
call('PEXPIREAT',Z,Bj)
end
end
local function Br(Ba,Ao,Bs,Bi)
local K=Ba.Au and Ba.Au.Ad or call('HGET',Q,Ao)
local Ad=Aj(K)
local M,_,_,Ah,Ai=Ac(Ad)
Ah=tonumber(Ah)
call('PEXPIRE',O,Bs+Ah)
if Ba.Au then
if Ad~=K then
call('SET',O,Ao..'+'..Ad,'PX',Bs+Ah)
end
return M,Ai
end
if Ad~=K then
call('HSET',Q,Ao,Ad)
end
Bo(Ao,Bi+Bs,Ah)
Bq()
return M,Ai
end
local function Bt(Bi)
return call('ZRANGEBYSCORE',P,'('..string.format('%.0f',Bi),'+inf','LIMIT',0,1)[1]
end
local function Bu(Bf,Bi)
local Ao=string.sub(Bf,-32)
local Bg=call('ZSCORE',P,Ao)
local As=call('ZSCORE',P,'~'..Ao)or Bg
local Ba=Bg and'holding'or'closed'
return string.sub(Ao,1,8),Ba,(Bg or As)-Bi,As-Bi,call('HGET',Q,Ao)
end
local function Bv(Bw,Ba)
local Ae,Av,Aw=Bw.Ae,Ba.Av,Ba.Aw
if not Av then
return'fits'
end
if not W and Az(Ba,Bw.Ai)>0 then
if Av=='x'and Ae=='x'and Bw.Bx or Av=='s'and Ae=='s'then
return'passes'
elseif Av=='x'then
return'deadlock','x',1,''
elseif Ae=='x'then
return'deadlock',Av,call('HGET',R,'p'..Bw.Ai)or 1,Aw
end
end
if Ae=='x'or Av=='x'then
return'in_the_way'
end
if Ae~=Av or Bw.By~=Aw then
local Bz=Bt(E(C()))
local _,_,Ca=Ac(call('HGET',Q,string.sub(Bz,-32)))
return'mismatch',Av,Ca,Aw
end
local Ca=Av=='p'and call('HGET',R,'used')or 0
return(Av=='s'or Ca+Bw.Af<=tonumber(Aw))and'fits'or'in_the_way'
end
local function Cb(Ba)
local M=Ba.M or J()
return M and(Ba.M or string.format('%.0f',M))
end
local function Cc()
return Aa('the fence counter is not a number that can grow')
end
local function Cd()
if call('ZCARD',P)+call('HLEN',Q)+call('HLEN',R)>0 then
call('UNLINK',P,Q,R)
end
end
local function Ce(Au,Bi)
Cd()
call('SET',O,'*x'..Au.M,'PX',Au.As)
call('HSET',Q,Au.Ao,Au.Ad)
Bo(Au.Ao,Bi+Au.Aq,Au.Ah)
Ax('o'..Au.Ai,1)
end
local function Cf(Bw,M)
local Bs,Ah,Ad=Bw.Bs,Bw.Ah,M..' '..Bw.Ad
call('SET',O,Bw.Ao..Bw.Ap..Ad,'PX',Bs+Ah)
local Au={
Ao=Bw.Ao,An=false,Ap=Bw.Ap,Ad=Ad,M=M,Ah=Ah,
Ai=Bw.Ai,Ar=true,As=Bs+Ah,Aq=Bs,
}
return{Av='x',Aw='',Au=Au,M=M}
end
local function Cg(Bw,Ba,M,Bi)
local Ao,Ai=Bw.Ao,Bw.Ai
if M~=Ba.M then
L(tonumber(M))
end
if not Ba.Av and Bw.Ae=='x'then
return Cf(Bw,M)
end
if Ba.Au then
Ce(Ba.Au,Bi)
elseif not Ba.Av then
Cd()
call('SET',O,'*'..Bw.Ae..Bw.By,'PX',Bw.Bs+Bw.Ah)
end
Bo(Ao,Bi+Bw.Bs,Bw.Ah)
call('HSET',Q,Ao,M..' '..Bw.Ad)
if Bw.Ae=='p'then
Ax('used',Bw.Af)
end
if Ai~=''then
Ax('o'..Ai,1)
if Bw.Ae=='p'then
Ax('p'..Ai,Bw.Af)
end
end
if Bw.Ae=='x'then
return{Av='x',Aw=M,M=M}
end
return{Av=Bw.Ae,Aw=Bw.By}
end
local function Ch(Ao)
if call('ZREM',U,Ao,'!'..Ao)==0 then
return false
end
call('HDEL',T,Ao)
return call('ZREM',S,Ao)==1
end
local function Ci()
return string.match(call('HGET',T,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function Cj(Bi)
if call('EXISTS',U)==0 then
return false
end
local Bk=math.max(1,V)
local Bl=call('ZRANGEBYSCORE',U,'-inf',Bi,'LIMIT',0,Bk)
X=#Bl==Bk
V=V-#Bl
for _,Bf in ipairs(Bl)do
local Ao=string.match(Bf,'^!(.*)')
if not Ao then
Ch(Bf)
else
local Ck=call('ZSCORE',U,Ao)
if Ck and tonumber(Ck)>Bi then
local Cl=string.match(call('HGET',T,Ao)or'','^%d+ %d %S+ (%d+)')
local Cm=Cl and call('ZSCORE',U,Bf)-Cl
Y=Y or Cm and Cm>=tonumber((Ci()))
end
call('ZREM',U,Bf)
end
end
return true
end
local function Cn(Ao,Co)
local Cp,Cq,Cr,Cl,Cs,By,Bx,Ad=string.match(
Co or'','^(%d+) ([01]) (%S+) (%d+) (%d+) (%d*) ([01]) (.*)$'
)
if not Cr then
return nil
end
local Ae,Af,Ah,Ai,Ct=string.match(Ad,'^(%a) (%d+) (%d+) (%S*) (.*)$')
local Cu=Ah~='0'
return{
Ao=Ao,Ae=Ae,Bx=Bx=='1',Af=Af,By=By,Ai=Ai,
Ad=string.format('%s %s %s%s %s ',Ae,Af,Cu and'!'or'',Ah,Ai)..Ct,
Bs=tonumber(Cl),Ah=0,Ap=Cu and'+'or'-',Cr=Cr,Cp=tonumber(Cp),
Cs=tonumber(Cs),Cq=Cq=='1',
}
end
local function Cv(Cr,Ab)
local Cw=A('PUBLISH',Cr,Ab)
return type(Cw)~='number'or Cw>0
end
local function Cx(Ao)
return string.match(call('HGET',T,Ao)or'','^%d+ %d (%S+)')
end
local function Cy(Cz,Ab)
local Da,Db=8,nil
for _,Ao in ipairs(call('ZRANGE',S,0,Da))do
if Ao~=Cz and Da>0 then
Da=Da-1
local Cr=Cx(Ao)
if Cr and Cv(Cr,Ab..Ao)then
Db=Cr
break
end
end
end
local G=call('ZREVRANGE',S,0,0)[1]
local Cr=G and G~=Cz and Cx(G)
if Cr and Cr~=Db then
Cv(Cr,Ab..G)
end
end
local function Dc(Cz,Bi,K)
local Dd=call('ZREVRANGE',U,0,0,'WITHSCORES')[2]
if not Dd then
return
end
local De=0
for _,Ao in ipairs(call('ZRANGE',S,0,319))do
local Cp,Cr=string.match(call('HGET',T,Ao)or'','^(%d+) %d (%S+)')
if Cr then
De=Cp
if Ao~=Cz then
Cv(Cr,'!'..Ao)
end
end
end
call('HSET',T,'?',string.format('%.0f %s %s',Bi,De,K))
call('PEXPIREAT',T,Dd)
end
local function Df(Ba,Bi,Cz)
local Dg,Dh,Di,Dj=Y,false,false,false
local Dk,Dl,Dm,Dn=Ci()
if Dg then
V=math.max(5,V-260)
Y,Dm,Dn=false,Dk,Dl
end
V=math.max(5,V)
local K=Dm..' '..Dn
Dm,Dn=tonumber(Dm),tonumber(Dn)
local Do,at,Dp,Dq,Dr={},0,0,0,{}
while true do
if Ba.Au and Ba.Au.Ai==''then
break
end
at=at+1
if at>Dp then
if Dr[1]then
call('ZREM',S,unpack(Dr))
Dr={}
end
local Bk=math.min(math.max(Dq,1),64)
Do=call('ZRANGE',S,0,Bk)
if not Do[1]then
break
end
Dp,at=math.min(#Do,Bk),1
end
local Ds,Dt=Do[at],Do[at+1]
local Co=call('HGET',T,Ds)
local Bw=Cn(Ds,Co)
local Du=math.floor(#(Co or'')/256)
local Ck=Bw and(X or Bw.Cp<=Dn)and call('ZSCORE',U,Ds)
if not Bw or X and Ck and tonumber(Ck)<=Bi then
if V<=0 then
Dj=true
break
end
V=V-1-Du
Dr[#Dr+1]=Ds
Ch(Ds)
else
local Dv=Bv(Bw,Ba)
local M=(Dv=='fits'or Dv=='passes')and Cb(Ba)
if not M then
break
end
if V<=0 then
Dj=true
break
end
if Dq==0 then
call('ZREM',S,Ds)
else
Dr[#Dr+1]=Ds
end
local Cw=Ds==Cz
local Dw=Bw.Cp<=Dn and Ck
if not Cw and not(Dw and Ck-Bw.Cs<Dm)then
Cw=Cv(Bw.Cr,Ds)or Bw.Cq
end
if not Cw then
V,Dq=V-1-Du,Dq+1
else
V,Dq=V-5-Du,0
if Dr[1]then
call('ZREM',S,unpack(Dr))
Dr={}
end
if Ds==Cz then
Ch(Ds)
else
call('ZADD',U,Bi+Bw.Bs,'!'..Ds)
Di=true
end
if Dt or Di then
Bw.Ap='+'
end
Ba=Cg(Bw,Ba,M,Bi)
Dh=true
end
end
end
if Dr[1]then
call('ZREM',S,unpack(Dr))
end
if Dg then
Dc(Cz,Bi,K)
elseif Dj then
Cy(Cz,'!')
elseif Di then
Cy(Cz,'?')
end
if Dh and not Ba.Au then
Bq()
end
return Ba
end
on(KEYS[1])
local Bi=E(C())
local Ba=Bm(call('GET',O),Bi)
if not Ba then
return{ARGV[1],Aa()}
end
local Dx=0
if Ba.Av then
Dx=Ba.Au and 1 or call('HLEN',Q)
Bd()
end
if Cj(Bi)then
Df({},Bi)
end
return{ARGV[1],{'opened',Dx}}
