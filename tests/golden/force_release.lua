local call,Bn,match,sub=redis.call,redis.pcall,string.match,string.sub
local Bp
local function Bx()
if not Bp then
local Da=call('TIME')
Bp=Da[1]*1000000+Da[2]
end
return Bp
end
local function Cv(us)
return math.floor(us/1000)
end
local Bf,Af,Cs,at,Cn=KEYS[#KEYS]..'fence',nil,0,nil,nil
local Cp=false
local function Dz(i)
if not Af then
local Ac=tonumber(Bn('GET',Bf)or 0)
if not Ac or not(Ac<9000000000000000)then
return nil
end
Af=math.max(Ac,Bx()-1)
end
return Cn and math.max(Af+1,Cn+(i or at))or Af+1
end
local function Du(E)
if E>Cs then
local Bs=E+#KEYS-2
if ARGV[#ARGV]=='0'or Cp and call('PTTL',Bf)==-1 then
call('SET',Bf,Bs)
else
call('SET',Bf,Bs,'PX',ARGV[#ARGV])
end
Cs=Bs
end
Af=E
end
local W,O,V,Z,Ah,An,Ai
local M,Bk,Bj,Az=320,false,false,false
local function on(Al)
M,Bk,Bj,Az=math.max(M,5),false,false,false
W,O,V,Z=Al,Al..':h',Al..':d',Al..':o'
Ah,An,Ai=Al..':q',Al..':w',Al..':p'
end
local function Ci(Ax)
return{'corrupt',Ax or'a value that is no lock'}
end
local function At(F)
local E,K,U,P,Ec,H,L,I=
match(F,'^(%d+) (%a) (%d+)/?(%d*) (!?)(%d+)/?(%d*) (%S*) ')
return E,K,U,Ec==''and H or'0',I,tonumber(L),P
end
local Bg=12000
local function Em()
local R=Bn('GETRANGE',W,0,Bg+99)
if type(R)~='string'then
return call('GET',W)
end
return(R~=''or call('EXISTS',W)==1)and R
end
local function Ce(F)
if not F or#F<=Bg then
return F
end
local El=match(sub(F,1,Bg),'^%d* %a [%d/]+ !?%d+/?%d* %S* ')
return(El or'')..'{"cut":"longer than '..Bg..' bytes"}'
end
local function Eo(F,L)
return(string.gsub(F,'^(%d+ %a [%d/]+ )!?(%d+)/?%d* ','%1%2/'..L..' '))
end
local function Dx(R)
if#R<=32 then
if R=='*s'or match(R,'^%*[xp]%d+$')or match(R,'^%*p%d+/%d+$')then
return sub(R,2,2),sub(R,3)
end
end
end
local function Ek(R)
local Be,B,Ap,Dp=match(R,'^(~?)(%x+)([-+])()')
if not B or#B~=32 then
return nil
end
local F=Ce(sub(R,Dp))
local E,K,_,H,I,L=At(F)
if K~='x'then
return nil
end
local Ag=call('PTTL',W)
H=tonumber(H)
local Bl=L and Ag>L+H
Ag=Bl and L+H or Ag
local Ao=Be==''and Ag>H
return{
B=B,Be=Be~='',Ap=Ap,F=F,E=E,H=H,I=I,
Ao=Ao,Av=Ag,Ag=Ao and Ag-H or Ag,Bl=Bl,
}
end
local function Ee(R)
if not R then
return{}
end
if sub(R,1,1)~='*'then
local D=Ek(R)
return D and{J='x',Q='',D=D,E=D.E}
end
local J,Q=Dx(R)
return J and{J=J,Q=Q,E=J=='x'and Q or nil}
end
local function Ak(Co,by)
local Q=call('HINCRBY',Z,Co,by)
if Q<=0 then
call('HDEL',Z,Co)
end
end
local function Br(A)
local Y,X=match(A.Q,'^(%d*)/?(%d*)$')
local Bh=tonumber(X~=''and call('HGET',Z,'c'..X)or 0)
if Bh>0 and Bh==call('HLEN',V)then
Y,Bh=X,0
end
X=Bh>0 and X
return math.min(Y,X or Y),Y,X
end
local function Ds(A,I)
if I==''then
return 0
end
if A.D then
return A.D.Ao and A.D.I==I and 1 or 0
end
return tonumber(call('HGET',Z,'o'..I)or 0)
end
local function Dk(F)
local _,K,U,_,I=At(F)
if I~=''then
Ak('o'..I,-1)
if K=='p'then
Ak('p'..I,-U)
end
end
end
local function Ef(B,F)
local _,K,U,_,_,_,P=At(F)
if K=='p'then
Ak('used',-U)
if call('HGET',Z,'c'..P)then
Ak('c'..P,-1)
end
end
call('HDEL',V,B)
end
local function Cg()
call('UNLINK',W,O,V,Z)
end
local function Cl(N)
local B=sub(N,-32)
local F=call('HGET',V,B)
local Au=N==B
if F then
local _,_,_,H=At(F)
if Au then
Dk(F)
end
if not Au or H=='0'then
Ef(B,F)
end
end
end
local function Bt()
local Ad=call('ZREVRANGE',O,0,0,'WITHSCORES')[2]
for _,Al in ipairs({W,O,V,Z})do
call('PEXPIREAT',Al,Ad)
end
end
local function Dv(G)
local Cj,Ad=false,call('ZREVRANGE',O,0,0,'WITHSCORES')
while Ad[1]and M>0 do
local N=Ad[1]
local _,_,_,H,_,L=At(call('HGET',V,sub(N,-32))or'')
local T=L and G+L+(#N>32 and H or 0)
if not T or tonumber(Ad[2])<=T then
break
end
call('PEXPIREAT',W,Ad[2])
call('ZADD',O,T,N)
Cj,M,Ad=true,M-3,call('ZREVRANGE',O,0,0,'WITHSCORES')
end
if Cj then
Bt()
end
return Ad[2]
end
local function Ed(G)
local Ad=Dv(G)
if not Ad or tonumber(Ad)<=G then
Cg()
return false
end
local T=math.max(1,math.ceil(M/3))
local Am=call('ZRANGEBYSCORE',O,'-inf',G,'LIMIT',0,T)
if Am[1]then
call('ZREM',O,unpack(Am))
Bk=#Am==T
M=M-3*#Am
end
for _,N in ipairs(Am)do
Cl(N)
end
return true
end
local function Ej(G,B)
local A=Ee(Em())
if A and A.D and A.D.Bl then
call('PEXPIRE',W,A.D.Av)
end
if A and A.J and not A.D then
if not Ed(G)then
return{}
end
if Bk and B then
for _,N in ipairs({B,'~'..B})do
local Cm=call('ZSCORE',O,N)
if Cm and tonumber(Cm)<=G then
call('ZREM',O,N)
Cl(N)
end
end
end
end
return A
end
local function Ao(A,B)
if A.D then
return A.D.Ao and A.D.B==B
end
return A.J and call('ZSCORE',O,B)
end
local function Bu(B,Db,H)
call('ZADD',O,Db,B)
if H>0 then
call('ZADD',O,Db+H,'~'..B)
end
end
local function Er(A,B,L,G)
local Ac=A.D and A.D.F or call('HGET',V,B)
local F=Eo(Ac,L)
local E,_,_,H,I=At(F)
H=tonumber(H)
call('PEXPIRE',W,L+H)
if A.D then
if F~=Ac then
call('SET',W,B..A.D.Ap..F,'PX',L+H)
end
return E,I
end
if F~=Ac then
call('HSET',V,B,F)
end
Bu(B,G+L,H)
Bt()
return E,I
end
local function Do(G)
return call('ZRANGEBYSCORE',O,'('..string.format('%.0f',G),'+inf','LIMIT',0,1)[1]
end
local function Eq(N,G)
local B=sub(N,-32)
local Au=call('ZSCORE',O,B)
local Av=call('ZSCORE',O,'~'..B)or Au
local A=Au and'holding'or'closed'
return sub(B,1,8),A,(Au or Av)-G,Av-G,Ce(call('HGET',V,B))
end
local function Di(C,A)
local K,J=C.K,A.J
if not J then
return'fits'
end
if not Bk and Ds(A,C.I)>0 then
if J=='x'and K=='x'and C.By or J=='s'and K=='s'then
return'passes'
elseif J=='x'then
return'deadlock','x',1
elseif K=='x'then
local U=call('HGET',Z,'p'..C.I)
return'deadlock',J,U and U..'/'..Br(A)or 1
end
end
if K=='x'or J=='x'then
return'in_the_way'
end
if K~=J then
local Y=Do(Cv(Bx()))
local Cc=match(call('HGET',V,sub(Y,-32)),'^%d+ %a (%S+)')
return'mismatch',J,sub(Cc,1,21)
end
if J=='s'then
return'fits'
end
local P,Dw,Y,X=C.P,Br(A)
if X and P~=Y and P~=X then
return'in_the_way'
end
local Cc=call('HGET',Z,'used')or 0
return Cc+C.U<=math.min(P,Dw)and'fits'or'in_the_way'
end
local function Dn(A)
local E=A.E or Dz()
return E and(A.E or string.format('%.0f',E))
end
local function Es()
return Ci('the fence counter is not a number that can grow')
end
local function Ch()
if call('ZCARD',O)+call('HLEN',V)+call('HLEN',Z)>0 then
call('UNLINK',O,V,Z)
end
end
local function Dj(D,G)
Ch()
call('SET',W,'*x'..D.E,'PX',D.Av)
call('HSET',V,D.B,D.F)
Bu(D.B,G+D.Ag,D.H)
Ak('o'..D.I,1)
end
local function Dm(C,E)
local L,H,F=C.L,C.H,E..' '..C.F
call('SET',W,C.B..C.Ap..F,'PX',L+H)
local D={
B=C.B,Be=false,Ap=C.Ap,F=F,E=E,H=H,
I=C.I,Ao=true,Av=L+H,Ag=L,
}
return{J='x',Q='',D=D,E=E}
end
local function Eb(P,A)
local _,Y,X=Br(A)
if P~=Y then
X=P
end
local Q=X and Y..'/'..X or Y
if Q~=A.Q then
call('SET',W,'*p'..Q,'KEEPTTL')
end
if P~=Y then
Ak('c'..P,1)
end
return Q
end
local function Dl(C,A,E,G)
local B,I=C.B,C.I
if E~=A.E then
Du(tonumber(E))
end
if not A.J and C.K=='x'then
return Dm(C,E)
end
if A.D then
Dj(A.D,G)
elseif not A.J then
Ch()
call('SET',W,'*'..C.K..C.P,'PX',C.L+C.H)
end
local Q=C.P
if A.J=='p'then
Q=Eb(Q,A)
end
Bu(B,G+C.L,C.H)
call('HSET',V,B,E..' '..C.F)
if C.K=='p'then
Ak('used',C.U)
end
if I~=''then
Ak('o'..I,1)
if C.K=='p'then
Ak('p'..I,C.U)
end
end
if C.K=='x'then
return{J='x',Q=E,E=E}
end
return{J=C.K,Q=Q}
end
local function Bz(B)
if call('ZREM',Ai,B,'!'..B)==0 then
return false
end
call('HDEL',An,B)
return call('ZREM',Ah,B)==1
end
local function Cz()
return match(call('HGET',An,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function Df(G)
if call('EXISTS',Ai)==0 then
return false
end
local T=math.max(1,M)
local Am=call('ZRANGEBYSCORE',Ai,'-inf',G,'LIMIT',0,T)
Bj=#Am==T
M=M-#Am
for _,N in ipairs(Am)do
local B=match(N,'^!(.*)')
if not B then
Bz(N)
else
local Aq=call('ZSCORE',Ai,B)
if Aq and tonumber(Aq)>G then
local Bd=match(call('HGET',An,B)or'','^%d+ %d %S+ (%d+)')
local Cd=Bd and call('ZSCORE',Ai,N)-Bd
Az=Az or Cd and Cd>=tonumber((Cz()))
end
call('ZREM',Ai,N)
end
end
return true
end
local function Eg(B,Bo)
local Ar,Bq,S,Bd,Ca,By,F=match(
Bo or'','^(%d+) ([01]) (%S+) (%d+) (%d+) ([01]) (.*)$'
)
if not S then
return nil
end
local K,U,H,I,Eh=match(F,'^(%a) ([%d/]+) (%d+)/?%d* (%S*) (.*)$')
if not U then
return nil
end
local En,P=match(U,'^(%d+)/?(%d*)$')
local Ck=H~='0'
return{
B=B,K=K,By=By=='1',U=En,P=P,I=I,
F=string.format('%s %s %s%s/%s %s ',K,U,Ck and'!'or'',H,Bd,I)..Eh,
L=tonumber(Bd),H=0,Ap=Ck and'+'or'-',S=S,Ar=tonumber(Ar),
Ca=tonumber(Ca),Bq=Bq=='1',
}
end
local function Bi(S,Ax)
local Aw=Bn('PUBLISH',S,Ax)
return type(Aw)~='number'or Aw>0
end
local function Cr(B)
return match(call('HGET',An,B)or'','^%d+ %d (%S+)')
end
local function Cy(Ae,Ax)
local Bm,Bc=8,nil
for _,B in ipairs(call('ZRANGE',Ah,0,Bm))do
if B~=Ae and Bm>0 then
Bm=Bm-1
local S=Cr(B)
if S and Bi(S,Ax..B)then
Bc=S
break
end
end
end
local Af=call('ZREVRANGE',Ah,0,0)[1]
local S=Af and Af~=Ae and Cr(Af)
if S and S~=Bc then
Bi(S,Ax..Af)
end
end
local function Dg(Ae,G,Ac)
local Ct=call('ZREVRANGE',Ai,0,0,'WITHSCORES')[2]
if not Ct then
return
end
local Dc=0
for _,B in ipairs(call('ZRANGE',Ah,0,319))do
local Ar,S=match(call('HGET',An,B)or'','^(%d+) %d (%S+)')
if S then
Dc=Ar
if B~=Ae then
Bi(S,'!'..B)
end
end
end
call('HSET',An,'?',string.format('%.0f %s %s',G,Dc,Ac))
call('PEXPIREAT',An,Ct)
end
local function Dq(A,G,Ae)
local Cf,Cw,Cb,Bv=Az,false,false,false
local Ei,Dh,Ay,As=Cz()
if Cf then
M=math.max(5,M-260)
Az,Ay,As=false,Ei,Dh
end
M=math.max(5,M)
local Ac=Ay..' '..As
Ay,As=tonumber(Ay),tonumber(As)
local Ba,at,Cx,Bb,Ab={},0,0,0,{}
while true do
if A.D and A.D.I==''then
break
end
at=at+1
if at>Cx then
if Ab[1]then
call('ZREM',Ah,unpack(Ab))
Ab={}
end
local T=math.min(math.max(Bb,1),64)
Ba=call('ZRANGE',Ah,0,T)
if not Ba[1]then
break
end
Cx,at=math.min(#Ba,T),1
end
local Aa,Ea=Ba[at],Ba[at+1]
local Bo=call('HGET',An,Aa)
local C=Eg(Aa,Bo)
local Bw=math.floor(#(Bo or'')/256)
local Aq=C and(Bj or C.Ar<=As)and call('ZSCORE',Ai,Aa)
if not C or Bj and Aq and tonumber(Aq)<=G then
if M<=0 then
Bv=true
break
end
M=M-1-Bw
Ab[#Ab+1]=Aa
Bz(Aa)
else
local Dd=Di(C,A)
Cp=true
local E=(Dd=='fits'or Dd=='passes')and Dn(A)
if not E then
break
end
if M<=0 then
Bv=true
break
end
if Bb==0 then
call('ZREM',Ah,Aa)
else
Ab[#Ab+1]=Aa
end
local Aw=Aa==Ae
local Dt=C.Ar<=As and Aq
if not Aw and not(Dt and Aq-C.Ca<Ay)then
Aw=Bi(C.S,Aa)or C.Bq
end
if not Aw then
M,Bb=M-1-Bw,Bb+1
else
M,Bb=M-5-Bw,0
if Ab[1]then
call('ZREM',Ah,unpack(Ab))
Ab={}
end
if Aa==Ae then
Bz(Aa)
else
call('ZADD',Ai,G+C.L,'!'..Aa)
Cb=true
end
if Ea or Cb then
C.Ap='+'
end
A=Dl(C,A,E,G)
Cw=true
end
end
end
if Ab[1]then
call('ZREM',Ah,unpack(Ab))
end
if Cf then
Dg(Ae,G,Ac)
elseif Bv then
Cy(Ae,'!')
elseif Cb then
Cy(Ae,'?')
end
if Cw and not A.D then
Bt()
end
return A
end
local function Dr(A,G)
local T,Aj=1000,{}
if A.D then
Aj[1]=A.D.Ao and A.D.B or nil
return Aj,1
end
if not A.J then
return Aj,1
end
local De='('..string.format('%.0f',G)
local Cu=call('ZRANGEBYSCORE',O,De,'+inf','LIMIT',0,2*T+1)
for _,N in ipairs(Cu)do
if#N==32 and#Aj<T then
Aj[#Aj+1]=N
elseif#N==32 then
return Aj,0
end
end
return Aj,#Cu>2*T and 0 or 1
end
local function Dy(Ep,Aj)
return Ep..' '..table.concat(Aj,',')
end
on(KEYS[1])
local G=Cv(Bx())
local A=Ej(G)
if not A then
return{ARGV[1],Ci()}
end
local Cq=0
if A.J then
Cq=A.D and 1 or call('HLEN',V)
local Bc=Dr(A,G)
if Bc[1]then
Bn('PUBLISH',ARGV[2],Dy('taken',Bc))
end
Cg()
end
if Df(G)then
Dq({},G)
end
return{ARGV[1],{'opened',Cq}}
