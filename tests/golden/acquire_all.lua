local call,A=redis.call,redis.pcall
local B,C,D=4,{ARGV[1],0},{}
local E
local function F()
if not E then
local G=call('TIME')
E=G[1]*1000000+G[2]
end
return E
end
local function H(us)
return math.floor(us/1000)
end
local I,J,K,at,L=KEYS[#KEYS]..'fence',nil,0,nil,nil
local M=false
local function N(i)
if not J then
local O=tonumber(A('GET',I)or 0)
if not O or not(O<9000000000000000)then
return nil
end
J=math.max(O,F()-1)
end
return L and math.max(J+1,L+(i or at))or J+1
end
local function P(Q)
if Q>K then
local R=Q+#KEYS-2
if ARGV[#ARGV]=='0'or M and call('PTTL',I)==-1 then
call('SET',I,R)
else
call('SET',I,R,'PX',ARGV[#ARGV])
end
K=R
end
J=Q
end
local S,T,U,V,W,X,Y
local Z,Aa,Ab,Ac=320,false,false,false
local function on(Ad)
Z,Aa,Ab,Ac=math.max(Z,5),false,false,false
S,T,U,V=Ad,Ad..':h',Ad..':d',Ad..':o'
W,X,Y=Ad..':q',Ad..':w',Ad..':p'
end
local function Ae(Af)
return{'corrupt',Af or'a value that is no lock'}
end
local function Ag(Ah)
local Q,Ai,Aj,Ak,Al,Am,An=string.match(Ah,'^(%d+) (%a) (%d+) (!?)(%d+)/?(%d*) (%S*) ')
return Q,Ai,Aj,Ak==''and Al or'0',An,tonumber(Am)
end
local Ao=12000
local function Ap()
local Aq=A('GETRANGE',S,0,Ao+99)
if type(Aq)~='string'then
return call('GET',S)
end
return(Aq~=''or call('EXISTS',S)==1)and Aq
end
local function Ar(Ah)
if not Ah or#Ah<=Ao then
return Ah
end
local As=string.match(string.sub(Ah,1,Ao),'^%d* %a %d+ !?%d+/?%d* %S* ')
return(As or'')..'{"cut":"longer than '..Ao..' bytes"}'
end
local function At(Ah,Am)
return(string.gsub(Ah,'^(%d+ %a %d+ )!?(%d+)/?%d* ','%1%2/'..Am..' '))
end
local function Au(Aq)
if#Aq<=32 then
return string.match(Aq,'^%*([spx])(%d*)$')
end
end
local function Av(Aq)
local Aw,Ax,Ay,Az=string.match(Aq,'^(~?)(%x+)([-+])()')
if not Ax or#Ax~=32 then
return nil
end
local Ah=Ar(string.sub(Aq,Az))
local Q,Ai,_,Al,An,Am=Ag(Ah)
if Ai~='x'then
return nil
end
local Ba=call('PTTL',S)
Al=tonumber(Al)
local Bb=Am and Ba>Am+Al
Ba=Bb and Am+Al or Ba
local Bc=Aw==''and Ba>Al
return{
Ax=Ax,Aw=Aw~='',Ay=Ay,Ah=Ah,Q=Q,Al=Al,An=An,
Bc=Bc,Bd=Ba,Ba=Bc and Ba-Al or Ba,Bb=Bb,
}
end
local function Be(Aq)
if not Aq then
return{}
end
if string.sub(Aq,1,1)~='*'then
local Bf=Av(Aq)
return Bf and{Bg='x',Bh='',Bf=Bf,Q=Bf.Q}
end
local Bg,Bh=Au(Aq)
return Bg and{Bg=Bg,Bh=Bh,Q=Bg=='x'and Bh or nil}
end
local function Bi(Bj,by)
local Bh=call('HINCRBY',V,Bj,by)
if Bh<=0 then
call('HDEL',V,Bj)
end
end
local function Bk(Bl,An)
if An==''then
return 0
end
if Bl.Bf then
return Bl.Bf.Bc and Bl.Bf.An==An and 1 or 0
end
return tonumber(call('HGET',V,'o'..An)or 0)
end
local function Bm(Ah)
local _,Ai,Aj,_,An=Ag(Ah)
if An~=''then
Bi('o'..An,-1)
if Ai=='p'then
Bi('p'..An,-Aj)
end
end
end
local function Bn(Ax,Ah)
local _,Ai,Aj=Ag(Ah)
if Ai=='p'then
Bi('used',-Aj)
end
call('HDEL',U,Ax)
end
local function Bo()
call('UNLINK',S,T,U,V)
end
local function Bp(Bq)
local Ax=string.sub(Bq,-32)
local Ah=call('HGET',U,Ax)
local Br=Bq==Ax
if Ah then
local _,_,_,Al=Ag(Ah)
if Br then
Bm(Ah)
end
if not Br or Al=='0'then
Bn(Ax,Ah)
end
end
end
local function Bs()
local Bt=call('ZREVRANGE',T,0,0,'WITHSCORES')[2]
for _,Ad in ipairs({S,T,U,V})do
call('PEXPIREAT',Ad,Bt)
end
end
local function Bu(Bv)
local Bw,Bt=false,call('ZREVRANGE',T,0,0,'WITHSCORES')
while Bt[1]and Z>0 do
local Bq=Bt[1]
local _,_,_,Al,_,Am=Ag(call('HGET',U,string.sub(Bq,-32))or'')
local Bx=Am and Bv+Am+(#Bq>32 and Al or 0)
if not Bx or tonumber(Bt[2])<=Bx then
break
end
call('PEXPIREAT',S,Bt[2])
call('ZADD',T,Bx,Bq)
Bw,Z,Bt=true,Z-3,call('ZREVRANGE',T,0,0,'WITHSCORES')
end
if Bw then
Bs()
end
return Bt[2]
end
local function By(Bv)
local Bt=Bu(Bv)
if not Bt or tonumber(Bt)<=Bv then
Bo()
return false
end
local Bx=math.max(1,math.ceil(Z/3))
local Bz=call('ZRANGEBYSCORE',T,'-inf',Bv,'LIMIT',0,Bx)
if Bz[1]then
call('ZREM',T,unpack(Bz))
Aa=#Bz==Bx
Z=Z-3*#Bz
end
for _,Bq in ipairs(Bz)do
Bp(Bq)
end
return true
end
local function Ca(Bv,Ax)
local Bl=Be(Ap())
if Bl and Bl.Bf and Bl.Bf.Bb then
call('PEXPIRE',S,Bl.Bf.Bd)
end
if Bl and Bl.Bg and not Bl.Bf then
if not By(Bv)then
return{}
end
if Aa and Ax then
for _,Bq in ipairs({Ax,'~'..Ax})do
local Cb=call('ZSCORE',T,Bq)
if Cb and tonumber(Cb)<=Bv then
call('ZREM',T,Bq)
Bp(Bq)
end
end
end
end
return Bl
end
local function Bc(Bl,Ax)
if Bl.Bf then
return Bl.Bf.Bc and Bl.Bf.Ax==Ax
end
return Bl.Bg and call('ZSCORE',T,Ax)
end
local function Cc(Ax,Cd,Al)
call('ZADD',T,Cd,Ax)
if Al>0 then
call('ZADD',T,Cd+Al,'~'..Ax)
end
end
local function Ce(Bl,Ax,Am,Bv)
local O=Bl.Bf and Bl.Bf.Ah or call('HGET',U,Ax)
local Ah=At(O,Am)
local Q,_,_,Al,An=Ag(Ah)
Al=tonumber(Al)
call('PEXPIRE',S,Am+Al)
if Bl.Bf then
if Ah~=O then
call('SET',S,Ax..Bl.Bf.Ay..Ah,'PX',Am+Al)
end
return Q,An
end
if Ah~=O then
call('HSET',U,Ax,Ah)
end
Cc(Ax,Bv+Am,Al)
Bs()
return Q,An
end
local function Cf(Bv)
return call('ZRANGEBYSCORE',T,'('..string.format('%.0f',Bv),'+inf','LIMIT',0,1)[1]
end
local function Cg(Bq,Bv)
local Ax=string.sub(Bq,-32)
local Br=call('ZSCORE',T,Ax)
local Bd=call('ZSCORE',T,'~'..Ax)or Br
local Bl=Br and'holding'or'closed'
return string.sub(Ax,1,8),Bl,(Br or Bd)-Bv,Bd-Bv,Ar(call('HGET',U,Ax))
end
local function Ch(Ci,Bl)
local Ai,Bg,Bh=Ci.Ai,Bl.Bg,Bl.Bh
if not Bg then
return'fits'
end
if not Aa and Bk(Bl,Ci.An)>0 then
if Bg=='x'and Ai=='x'and Ci.Cj or Bg=='s'and Ai=='s'then
return'passes'
elseif Bg=='x'then
return'deadlock','x',1,''
elseif Ai=='x'then
return'deadlock',Bg,call('HGET',V,'p'..Ci.An)or 1,Bh
end
end
if Ai=='x'or Bg=='x'then
return'in_the_way'
end
if Ai~=Bg or Ci.Ck~=Bh then
local Cl=Cf(H(F()))
local _,_,Cm=Ag(call('HGET',U,string.sub(Cl,-32)))
return'mismatch',Bg,string.sub(Cm,1,20),Bh
end
local Cm=Bg=='p'and call('HGET',V,'used')or 0
return(Bg=='s'or Cm+Ci.Aj<=tonumber(Bh))and'fits'or'in_the_way'
end
local function Cn(Bl)
local Q=Bl.Q or N()
return Q and(Bl.Q or string.format('%.0f',Q))
end
local function Co()
return Ae('the fence counter is not a number that can grow')
end
local function Cp()
if call('ZCARD',T)+call('HLEN',U)+call('HLEN',V)>0 then
call('UNLINK',T,U,V)
end
end
local function Cq(Bf,Bv)
Cp()
call('SET',S,'*x'..Bf.Q,'PX',Bf.Bd)
call('HSET',U,Bf.Ax,Bf.Ah)
Cc(Bf.Ax,Bv+Bf.Ba,Bf.Al)
Bi('o'..Bf.An,1)
end
local function Cr(Ci,Q)
local Am,Al,Ah=Ci.Am,Ci.Al,Q..' '..Ci.Ah
call('SET',S,Ci.Ax..Ci.Ay..Ah,'PX',Am+Al)
local Bf={
Ax=Ci.Ax,Aw=false,Ay=Ci.Ay,Ah=Ah,Q=Q,Al=Al,
An=Ci.An,Bc=true,Bd=Am+Al,Ba=Am,
}
return{Bg='x',Bh='',Bf=Bf,Q=Q}
end
local function Cs(Ci,Bl,Q,Bv)
local Ax,An=Ci.Ax,Ci.An
if Q~=Bl.Q then
P(tonumber(Q))
end
if not Bl.Bg and Ci.Ai=='x'then
return Cr(Ci,Q)
end
if Bl.Bf then
Cq(Bl.Bf,Bv)
elseif not Bl.Bg then
Cp()
call('SET',S,'*'..Ci.Ai..Ci.Ck,'PX',Ci.Am+Ci.Al)
end
Cc(Ax,Bv+Ci.Am,Ci.Al)
call('HSET',U,Ax,Q..' '..Ci.Ah)
if Ci.Ai=='p'then
Bi('used',Ci.Aj)
end
if An~=''then
Bi('o'..An,1)
if Ci.Ai=='p'then
Bi('p'..An,Ci.Aj)
end
end
if Ci.Ai=='x'then
return{Bg='x',Bh=Q,Q=Q}
end
return{Bg=Ci.Ai,Bh=Ci.Ck}
end
local function Ct(Ax)
if call('ZREM',Y,Ax,'!'..Ax)==0 then
return false
end
call('HDEL',X,Ax)
return call('ZREM',W,Ax)==1
end
local function Cu()
return string.match(call('HGET',X,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function Cv(Bv)
if call('EXISTS',Y)==0 then
return false
end
local Bx=math.max(1,Z)
local Bz=call('ZRANGEBYSCORE',Y,'-inf',Bv,'LIMIT',0,Bx)
Ab=#Bz==Bx
Z=Z-#Bz
for _,Bq in ipairs(Bz)do
local Ax=string.match(Bq,'^!(.*)')
if not Ax then
Ct(Bq)
else
local Cw=call('ZSCORE',Y,Ax)
if Cw and tonumber(Cw)>Bv then
local Cx=string.match(call('HGET',X,Ax)or'','^%d+ %d %S+ (%d+)')
local Cy=Cx and call('ZSCORE',Y,Bq)-Cx
Ac=Ac or Cy and Cy>=tonumber((Cu()))
end
call('ZREM',Y,Bq)
end
end
return true
end
local function Cz(Ax,Da)
local Db,Dc,Dd,Cx,De,Ck,Cj,Ah=string.match(
Da or'','^(%d+) ([01]) (%S+) (%d+) (%d+) (%d*) ([01]) (.*)$'
)
if not Dd then
return nil
end
local Ai,Aj,Al,An,Df=string.match(Ah,'^(%a) (%d+) (%d+)/?%d* (%S*) (.*)$')
local Dg=Al~='0'
return{
Ax=Ax,Ai=Ai,Cj=Cj=='1',Aj=Aj,Ck=Ck,An=An,
Ah=string.format('%s %s %s%s/%s %s ',Ai,Aj,Dg and'!'or'',Al,Cx,An)..Df,
Am=tonumber(Cx),Al=0,Ay=Dg and'+'or'-',Dd=Dd,Db=tonumber(Db),
De=tonumber(De),Dc=Dc=='1',
}
end
local function Dh(Dd,Af)
local Di=A('PUBLISH',Dd,Af)
return type(Di)~='number'or Di>0
end
local function Dj(Ax)
return string.match(call('HGET',X,Ax)or'','^%d+ %d (%S+)')
end
local function Dk(Dl,Af)
local Dm,Dn=8,nil
for _,Ax in ipairs(call('ZRANGE',W,0,Dm))do
if Ax~=Dl and Dm>0 then
Dm=Dm-1
local Dd=Dj(Ax)
if Dd and Dh(Dd,Af..Ax)then
Dn=Dd
break
end
end
end
local J=call('ZREVRANGE',W,0,0)[1]
local Dd=J and J~=Dl and Dj(J)
if Dd and Dd~=Dn then
Dh(Dd,Af..J)
end
end
local function Do(Dl,Bv,O)
local Dp=call('ZREVRANGE',Y,0,0,'WITHSCORES')[2]
if not Dp then
return
end
local Dq=0
for _,Ax in ipairs(call('ZRANGE',W,0,319))do
local Db,Dd=string.match(call('HGET',X,Ax)or'','^(%d+) %d (%S+)')
if Dd then
Dq=Db
if Ax~=Dl then
Dh(Dd,'!'..Ax)
end
end
end
call('HSET',X,'?',string.format('%.0f %s %s',Bv,Dq,O))
call('PEXPIREAT',X,Dp)
end
local function Dr(Bl,Bv,Dl)
local Ds,Dt,Du,Dv=Ac,false,false,false
local Dw,Dx,Dy,Dz=Cu()
if Ds then
Z=math.max(5,Z-260)
Ac,Dy,Dz=false,Dw,Dx
end
Z=math.max(5,Z)
local O=Dy..' '..Dz
Dy,Dz=tonumber(Dy),tonumber(Dz)
local Ea,at,B,Eb,Ec={},0,0,0,{}
while true do
if Bl.Bf and Bl.Bf.An==''then
break
end
at=at+1
if at>B then
if Ec[1]then
call('ZREM',W,unpack(Ec))
Ec={}
end
local Bx=math.min(math.max(Eb,1),64)
Ea=call('ZRANGE',W,0,Bx)
if not Ea[1]then
break
end
B,at=math.min(#Ea,Bx),1
end
local Ed,Ee=Ea[at],Ea[at+1]
local Da=call('HGET',X,Ed)
local Ci=Cz(Ed,Da)
local Ef=math.floor(#(Da or'')/256)
local Cw=Ci and(Ab or Ci.Db<=Dz)and call('ZSCORE',Y,Ed)
if not Ci or Ab and Cw and tonumber(Cw)<=Bv then
if Z<=0 then
Dv=true
break
end
Z=Z-1-Ef
Ec[#Ec+1]=Ed
Ct(Ed)
else
local Eg=Ch(Ci,Bl)
M=true
local Q=(Eg=='fits'or Eg=='passes')and Cn(Bl)
if not Q then
break
end
if Z<=0 then
Dv=true
break
end
if Eb==0 then
call('ZREM',W,Ed)
else
Ec[#Ec+1]=Ed
end
local Di=Ed==Dl
local Eh=Ci.Db<=Dz and Cw
if not Di and not(Eh and Cw-Ci.De<Dy)then
Di=Dh(Ci.Dd,Ed)or Ci.Dc
end
if not Di then
Z,Eb=Z-1-Ef,Eb+1
else
Z,Eb=Z-5-Ef,0
if Ec[1]then
call('ZREM',W,unpack(Ec))
Ec={}
end
if Ed==Dl then
Ct(Ed)
else
call('ZADD',Y,Bv+Ci.Am,'!'..Ed)
Du=true
end
if Ee or Du then
Ci.Ay='+'
end
Bl=Cs(Ci,Bl,Q,Bv)
Dt=true
end
end
end
if Ec[1]then
call('ZREM',W,unpack(Ec))
end
if Ds then
Do(Dl,Bv,O)
elseif Dv then
Dk(Dl,'!')
elseif Du then
Dk(Dl,'?')
end
if Dt and not Bl.Bf then
Bs()
end
return Bl
end
local Bv=H(F())
local function Ei(Cl)
local As,Ej=ARGV[Cl],Cl
while ARGV[Ej+1]==''do
Ej=Ej-4
end
local Bd,Ah,Ek=unpack(ARGV,Ej+1,Ej+3)
local Ai,Aj,Al,An=string.match(Ah,'^(%a) (%d+) (%d+)/?%d* (%S*) ')
local Cj,Ck,Dd,Cx,De,Bx,El=
string.match(Ek,'^([01]) (%d*) ?(%S*) ?(%d*) ?(%d*) ?(%d*) ?(%d*)$')
return{
Ax=string.sub(As,1,32),Ai=Ai,Cj=Cj=='1',Aj=Aj,Ck=Ck,
Am=Bd-Al,Al=tonumber(Al),An=An,Ah=Ah,Ay=string.sub(As,33),
Dd=Dd~=''and Dd,Cx=Cx,De=tonumber(De),Bx=tonumber(Bx),
El=tonumber(El),
}
end
local function Em(Bl,Q,An)
return{'granted',Q,math.max(1,Bk(Bl,An))}
end
local function En(Bl,Ax)
if Bl.Bf then
return Bl.Bf.Ax==Ax
end
return Bl.Bg and call('HGET',U,Ax)
end
local function Eo(Ep,Ci,Bl,Eq)
local Bf,Dn=Bl.Bf,nil
if Bf then
local Er=Bf.Bc and'holding'or'closed'
Dn={string.sub(Bf.Ax,1,8),Er,Bf.Ba,Bf.Bd,'',Bf.Ah}
else
local Aj=Ci.Ai=='p'and Bl.Bg=='p'
local Bq=Eq and'~'..Ci.Ax
or Aj and Cf(Bv)
or call('ZREVRANGE',T,0,0)[1]
local Es,Er,Ba,Bd,Ah=Cg(Bq,Bv)
if Aj and Aa then
Bd=0
end
Dn={Es,Er,Ba,Bd,Bl.Bh,Ah}
end
for _,Bj in ipairs(Dn)do
Ep[#Ep+1]=Bj
end
return Ep
end
local function Et(Ci,Bl)
if Ct(Ci.Ax)then
Dr(Bl,Bv)
end
end
local function Eu(Bl)
if Bl.Bf and Bl.Bf.Ay=='-'and not Bl.Bf.Aw then
call('SETRANGE',S,32,'+')
end
end
local Ev=0
local function Ew(Ci,Bl)
local J=call('ZREVRANGE',W,0,0,'WITHSCORES')[2]or 0
local Bh=Ci.El
if not Bh then
Ev=math.max(J+1,Ev+1,F())
Bh=Ev
end
local Db=string.format('%.0f',Bh)
call('ZADD',W,Db,Ci.Ax)
local Cj=Ci.Cj and'1'or'0'
local Ex={
Db,'0',Ci.Dd,Ci.Cx,Ci.De,Ci.Ck,Cj,Ci.Ah,
}
call('HSET',X,Ci.Ax,table.concat(Ex,' '))
Eu(Bl)
end
local function Ey(Ax,Bl)
if call('ZSCORE',W,Ax)or not call('ZSCORE',Y,Ax)or Bc(Bl,Ax)then
return
end
local Da=call('HGET',X,Ax)
if not Da then
Ct(Ax)
return
end
call('ZREM',Y,'!'..Ax)
local Db,Df=string.match(Da,'^(%d+) %d (.*)$')
call('HSET',X,Ax,Db..' 1 '..Df)
call('ZADD',W,Db,Ax)
call('PEXPIREAT',W,call('ZREVRANGE',Y,0,0,'WITHSCORES')[2])
Eu(Bl)
end
local function Ez(Ci)
call('ZADD',Y,Bv+Ci.De,Ci.Ax)
local Bt=call('ZREVRANGE',Y,0,0,'WITHSCORES')[2]
for _,Ad in ipairs({W,X,Y})do
call('PEXPIREAT',Ad,Bt)
end
end
local function Fa(Ci,Bl,Fb)
local Fc=call('ZRANK',W,Ci.Ax)
if Fc then
call('PEXPIRE',W,Ci.De)
elseif Fb>=Ci.Bx and not Ab then
return{'full',Fb}
else
Ew(Ci,Bl)
Fc=call('ZRANK',W,Ci.Ax)
end
Ez(Ci)
return Eo({'queued',Fc},Ci,Bl)
end
local function Fd(Ci,Bl,Q)
local Fe=Cs(Ci,Bl,Q,Bv)
if not Fe.Bf then
Bs()
end
return Em(Fe,Q,Ci.An)
end
local function Ff(Ci)
local Ax=Ci.Ax
local Bl=Ca(Bv,Ax)
if not Bl then
return Ae()
end
if Bl.Bf and Bl.Bf.Bd<0 then
return Ae('a lock without an end')
end
local Fb=0
local Fg=Cv(Bv)
if Fg then
Ey(Ax,Bl)
Bl=Dr(Bl,Bv,Ax)
Fb=call('ZCARD',W)
end
if Bc(Bl,Ax)then
local Q,An=Ce(Bl,Ax,Ci.Am,Bv)
if Fg then
Ct(Ax)
end
return Em(Bl,Q,An)
end
if En(Bl,Ax)then
return Eo({'refused'},Ci,Bl,true)
end
local Eg,Fh,Fi,Fj=Ch(Ci,Bl)
if Eg=='deadlock'or Eg=='mismatch'then
Et(Ci,Bl)
return{Eg,Fh,Fi,Fj}
end
if Eg=='passes'or Eg=='fits'and(Fb==0 or not Bl.Bg)then
local Q=Cn(Bl)
if not Q then
return Co()
end
if Fb>0 then
Ct(Ax)
end
return Fd(Ci,Bl,Q)
end
if Ci.Dd then
return Fa(Ci,Bl,Fb)
end
local Fk=Eo({'refused'},Ci,Bl)
Et(Ci,Bl)
return Fk
end
local function Fl(Bl,Ax,Ah)
if Bl.Bf then
call('DEL',S)
return{}
end
call('ZREM',T,Ax,'~'..Ax)
Bm(Ah)
Bn(Ax,Ah)
if call('ZCARD',T)==0 then
Bo()
return{}
end
Bs()
return Bl
end
local function Fm(Bl,Ax,An,Fn)
Ct(Ax)
if not Bc(Bl,Ax)then
return{'not_held',Bk(Bl,An)},Bl
end
local Ah=Bl.Bf and Bl.Bf.Ah or call('HGET',U,Ax)
local _,_,_,_,Fo=Ag(Ah)
Bl=Fn(Bl,Ax,Ah)
local Ba=Bk(Bl,Fo)
return Ba>0 and{'still_held',Ba}or 1,Bl
end
local function Fp(i)
on(KEYS[i])
local Ci=Ei(2+B*(i-1))
Ci.Dd=nil
return Ci
end
local function Fq(i)
local Ci=Fp(i)
local Bl=Ca(Bv,Ci.Ax)
D[i]=Bl and Bc(Bl,Ci.Ax)
return Ff(Ci)
end
local function Fr(i)
local Ci=Fp(i)
local Bl=Ca(Bv,Ci.Ax)
local Fb=Cv(Bv)
local _,Fe=Fm(Bl,Ci.Ax,Ci.An,Fl)
if Fb then
Dr(Fe,Bv)
end
end
for i=1,#KEYS-1 do
local Dt,Ep=pcall(Fq,i)
if not Dt then
Ep={'error',type(Ep)=='table'and Ep.err or Ep}
end
if Ep[1]~='granted'then
for O=i-1,1,-1 do
if not D[O]and not pcall(Fr,O)then
Ep={'error','what was granted could not be taken back'}
end
end
return{ARGV[1],i,Ep}
end
C[i+2]=Ep
end
return C
