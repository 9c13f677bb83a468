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
local Q,Ai,Aj,Ak,Al,Am=string.match(Ah,'^(%d+) (%a) (%d+) (!?)(%d+) (%S*) ')
return Q,Ai,Aj,Ak==''and Al or'0',Am
end
local An=12000
local function Ao()
local Ap=A('GETRANGE',S,0,An+99)
if type(Ap)~='string'then
return call('GET',S)
end
return(Ap~=''or call('EXISTS',S)==1)and Ap
end
local function Aq(Ah)
if not Ah or#Ah<=An then
return Ah
end
local Ar=string.match(string.sub(Ah,1,An),'^%d* %a %d+ !?%d+ %S* ')
return(Ar or'')..'{"cut":"longer than '..An..' bytes"}'
end
local function As(Ah)
return(string.gsub(Ah,'^(%d+ %a %d+ )!','%1'))
end
local function At(Ap)
if#Ap<=32 then
return string.match(Ap,'^%*([spx])(%d*)$')
end
end
local function Au(Ap)
local Av,Aw,Ax,Ay=string.match(Ap,'^(~?)(%x+)([-+])()')
if not Aw or#Aw~=32 then
return nil
end
local Ah=Aq(string.sub(Ap,Ay))
local Q,Ai,_,Al,Am=Ag(Ah)
if Ai~='x'then
return nil
end
local Az=call('PTTL',S)
Al=tonumber(Al)
local Ba=Av==''and Az>Al
return{
Aw=Aw,Av=Av~='',Ax=Ax,Ah=Ah,Q=Q,Al=Al,Am=Am,
Ba=Ba,Bb=Az,Az=Ba and Az-Al or Az,
}
end
local function Bc(Ap)
if not Ap then
return{}
end
if string.sub(Ap,1,1)~='*'then
local Bd=Au(Ap)
return Bd and{Be='x',Bf='',Bd=Bd,Q=Bd.Q}
end
local Be,Bf=At(Ap)
return Be and{Be=Be,Bf=Bf,Q=Be=='x'and Bf or nil}
end
local function Bg(Bh,by)
local Bf=call('HINCRBY',V,Bh,by)
if Bf<=0 then
call('HDEL',V,Bh)
end
end
local function Bi(Bj,Am)
if Am==''then
return 0
end
if Bj.Bd then
return Bj.Bd.Ba and Bj.Bd.Am==Am and 1 or 0
end
return tonumber(call('HGET',V,'o'..Am)or 0)
end
local function Bk(Ah)
local _,Ai,Aj,_,Am=Ag(Ah)
if Am~=''then
Bg('o'..Am,-1)
if Ai=='p'then
Bg('p'..Am,-Aj)
end
end
end
local function Bl(Aw,Ah)
local _,Ai,Aj=Ag(Ah)
if Ai=='p'then
Bg('used',-Aj)
end
call('HDEL',U,Aw)
end
local function Bm()
call('UNLINK',S,T,U,V)
end
local function Bn(Bo)
local Aw=string.sub(Bo,-32)
local Ah=call('HGET',U,Aw)
local Bp=Bo==Aw
if Ah then
local _,_,_,Al=Ag(Ah)
if Bp then
Bk(Ah)
end
if not Bp or Al=='0'then
Bl(Aw,Ah)
end
end
end
local function Bq(Br)
local Bs=call('ZREVRANGE',T,0,0,'WITHSCORES')[2]
if not Bs or tonumber(Bs)<=Br then
Bm()
return false
end
local Bt=math.max(1,math.ceil(Z/3))
local Bu=call('ZRANGEBYSCORE',T,'-inf',Br,'LIMIT',0,Bt)
if Bu[1]then
call('ZREM',T,unpack(Bu))
Aa=#Bu==Bt
Z=Z-3*#Bu
end
for _,Bo in ipairs(Bu)do
Bn(Bo)
end
return true
end
local function Bv(Br,Aw)
local Bj=Bc(Ao())
if Bj and Bj.Be and not Bj.Bd then
if not Bq(Br)then
return{}
end
if Aa and Aw then
for _,Bo in ipairs({Aw,'~'..Aw})do
local Bw=call('ZSCORE',T,Bo)
if Bw and tonumber(Bw)<=Br then
call('ZREM',T,Bo)
Bn(Bo)
end
end
end
end
return Bj
end
local function Ba(Bj,Aw)
if Bj.Bd then
return Bj.Bd.Ba and Bj.Bd.Aw==Aw
end
return Bj.Be and call('ZSCORE',T,Aw)
end
local function Bx(Aw,By,Al)
call('ZADD',T,By,Aw)
if Al>0 then
call('ZADD',T,By+Al,'~'..Aw)
end
end
local function Bz()
local Bs=call('ZREVRANGE',T,0,0,'WITHSCORES')[2]
for _,Ad in ipairs({S,T,U,V})do
call('PEXPIREAT',Ad,Bs)
end
end
local function Ca(Bj,Aw,Cb,Br)
local O=Bj.Bd and Bj.Bd.Ah or call('HGET',U,Aw)
local Ah=As(O)
local Q,_,_,Al,Am=Ag(Ah)
Al=tonumber(Al)
call('PEXPIRE',S,Cb+Al)
if Bj.Bd then
if Ah~=O then
call('SET',S,Aw..'+'..Ah,'PX',Cb+Al)
end
return Q,Am
end
if Ah~=O then
call('HSET',U,Aw,Ah)
end
Bx(Aw,Br+Cb,Al)
Bz()
return Q,Am
end
local function Cc(Br)
return call('ZRANGEBYSCORE',T,'('..string.format('%.0f',Br),'+inf','LIMIT',0,1)[1]
end
local function Cd(Bo,Br)
local Aw=string.sub(Bo,-32)
local Bp=call('ZSCORE',T,Aw)
local Bb=call('ZSCORE',T,'~'..Aw)or Bp
local Bj=Bp and'holding'or'closed'
return string.sub(Aw,1,8),Bj,(Bp or Bb)-Br,Bb-Br,Aq(call('HGET',U,Aw))
end
local function Ce(Cf,Bj)
local Ai,Be,Bf=Cf.Ai,Bj.Be,Bj.Bf
if not Be then
return'fits'
end
if not Aa and Bi(Bj,Cf.Am)>0 then
if Be=='x'and Ai=='x'and Cf.Cg or Be=='s'and Ai=='s'then
return'passes'
elseif Be=='x'then
return'deadlock','x',1,''
elseif Ai=='x'then
return'deadlock',Be,call('HGET',V,'p'..Cf.Am)or 1,Bf
end
end
if Ai=='x'or Be=='x'then
return'in_the_way'
end
if Ai~=Be or Cf.Ch~=Bf then
local Ci=Cc(H(F()))
local _,_,Cj=Ag(call('HGET',U,string.sub(Ci,-32)))
return'mismatch',Be,string.sub(Cj,1,20),Bf
end
local Cj=Be=='p'and call('HGET',V,'used')or 0
return(Be=='s'or Cj+Cf.Aj<=tonumber(Bf))and'fits'or'in_the_way'
end
local function Ck(Bj)
local Q=Bj.Q or N()
return Q and(Bj.Q or string.format('%.0f',Q))
end
local function Cl()
return Ae('the fence counter is not a number that can grow')
end
local function Cm()
if call('ZCARD',T)+call('HLEN',U)+call('HLEN',V)>0 then
call('UNLINK',T,U,V)
end
end
local function Cn(Bd,Br)
Cm()
call('SET',S,'*x'..Bd.Q,'PX',Bd.Bb)
call('HSET',U,Bd.Aw,Bd.Ah)
Bx(Bd.Aw,Br+Bd.Az,Bd.Al)
Bg('o'..Bd.Am,1)
end
local function Co(Cf,Q)
local Cb,Al,Ah=Cf.Cb,Cf.Al,Q..' '..Cf.Ah
call('SET',S,Cf.Aw..Cf.Ax..Ah,'PX',Cb+Al)
local Bd={
Aw=Cf.Aw,Av=false,Ax=Cf.Ax,Ah=Ah,Q=Q,Al=Al,
Am=Cf.Am,Ba=true,Bb=Cb+Al,Az=Cb,
}
return{Be='x',Bf='',Bd=Bd,Q=Q}
end
local function Cp(Cf,Bj,Q,Br)
local Aw,Am=Cf.Aw,Cf.Am
if Q~=Bj.Q then
P(tonumber(Q))
end
if not Bj.Be and Cf.Ai=='x'then
return Co(Cf,Q)
end
if Bj.Bd then
Cn(Bj.Bd,Br)
elseif not Bj.Be then
Cm()
call('SET',S,'*'..Cf.Ai..Cf.Ch,'PX',Cf.Cb+Cf.Al)
end
Bx(Aw,Br+Cf.Cb,Cf.Al)
call('HSET',U,Aw,Q..' '..Cf.Ah)
if Cf.Ai=='p'then
Bg('used',Cf.Aj)
end
if Am~=''then
Bg('o'..Am,1)
if Cf.Ai=='p'then
Bg('p'..Am,Cf.Aj)
end
end
if Cf.Ai=='x'then
return{Be='x',Bf=Q,Q=Q}
end
return{Be=Cf.Ai,Bf=Cf.Ch}
end
local function Cq(Aw)
if call('ZREM',Y,Aw,'!'..Aw)==0 then
return false
end
call('HDEL',X,Aw)
return call('ZREM',W,Aw)==1
end
local function Cr()
return string.match(call('HGET',X,'?')or'0 0 0 0','(%d+) (%d+) (%d+) (%d+)')
end
local function Cs(Br)
if call('EXISTS',Y)==0 then
return false
end
local Bt=math.max(1,Z)
local Bu=call('ZRANGEBYSCORE',Y,'-inf',Br,'LIMIT',0,Bt)
Ab=#Bu==Bt
Z=Z-#Bu
for _,Bo in ipairs(Bu)do
local Aw=string.match(Bo,'^!(.*)')
if not Aw then
Cq(Bo)
else
local Ct=call('ZSCORE',Y,Aw)
if Ct and tonumber(Ct)>Br then
local Cu=string.match(call('HGET',X,Aw)or'','^%d+ %d %S+ (%d+)')
local Cv=Cu and call('ZSCORE',Y,Bo)-Cu
Ac=Ac or Cv and Cv>=tonumber((Cr()))
end
call('ZREM',Y,Bo)
end
end
return true
end
local function Cw(Aw,Cx)
local Cy,Cz,Da,Cu,Db,Ch,Cg,Ah=string.match(
Cx or'','^(%d+) ([01]) (%S+) (%d+) (%d+) (%d*) ([01]) (.*)$'
)
if not Da then
return nil
end
local Ai,Aj,Al,Am,Dc=string.match(Ah,'^(%a) (%d+) (%d+) (%S*) (.*)$')
local Dd=Al~='0'
return{
Aw=Aw,Ai=Ai,Cg=Cg=='1',Aj=Aj,Ch=Ch,Am=Am,
Ah=string.format('%s %s %s%s %s ',Ai,Aj,Dd and'!'or'',Al,Am)..Dc,
Cb=tonumber(Cu),Al=0,Ax=Dd and'+'or'-',Da=Da,Cy=tonumber(Cy),
Db=tonumber(Db),Cz=Cz=='1',
}
end
local function De(Da,Af)
local Df=A('PUBLISH',Da,Af)
return type(Df)~='number'or Df>0
end
local function Dg(Aw)
return string.match(call('HGET',X,Aw)or'','^%d+ %d (%S+)')
end
local function Dh(Di,Af)
local Dj,Dk=8,nil
for _,Aw in ipairs(call('ZRANGE',W,0,Dj))do
if Aw~=Di and Dj>0 then
Dj=Dj-1
local Da=Dg(Aw)
if Da and De(Da,Af..Aw)then
Dk=Da
break
end
end
end
local J=call('ZREVRANGE',W,0,0)[1]
local Da=J and J~=Di and Dg(J)
if Da and Da~=Dk then
De(Da,Af..J)
end
end
local function Dl(Di,Br,O)
local Dm=call('ZREVRANGE',Y,0,0,'WITHSCORES')[2]
if not Dm then
return
end
local Dn=0
for _,Aw in ipairs(call('ZRANGE',W,0,319))do
local Cy,Da=string.match(call('HGET',X,Aw)or'','^(%d+) %d (%S+)')
if Da then
Dn=Cy
if Aw~=Di then
De(Da,'!'..Aw)
end
end
end
call('HSET',X,'?',string.format('%.0f %s %s',Br,Dn,O))
call('PEXPIREAT',X,Dm)
end
local function Do(Bj,Br,Di)
local Dp,Dq,Dr,Ds=Ac,false,false,false
local Dt,Du,Dv,Dw=Cr()
if Dp then
Z=math.max(5,Z-260)
Ac,Dv,Dw=false,Dt,Du
end
Z=math.max(5,Z)
local O=Dv..' '..Dw
Dv,Dw=tonumber(Dv),tonumber(Dw)
local Dx,at,B,Dy,Dz={},0,0,0,{}
while true do
if Bj.Bd and Bj.Bd.Am==''then
break
end
at=at+1
if at>B then
if Dz[1]then
call('ZREM',W,unpack(Dz))
Dz={}
end
local Bt=math.min(math.max(Dy,1),64)
Dx=call('ZRANGE',W,0,Bt)
if not Dx[1]then
break
end
B,at=math.min(#Dx,Bt),1
end
local Ea,Eb=Dx[at],Dx[at+1]
local Cx=call('HGET',X,Ea)
local Cf=Cw(Ea,Cx)
local Ec=math.floor(#(Cx or'')/256)
local Ct=Cf and(Ab or Cf.Cy<=Dw)and call('ZSCORE',Y,Ea)
if not Cf or Ab and Ct and tonumber(Ct)<=Br then
if Z<=0 then
Ds=true
break
end
Z=Z-1-Ec
Dz[#Dz+1]=Ea
Cq(Ea)
else
local Ed=Ce(Cf,Bj)
M=true
local Q=(Ed=='fits'or Ed=='passes')and Ck(Bj)
if not Q then
break
end
if Z<=0 then
Ds=true
break
end
if Dy==0 then
call('ZREM',W,Ea)
else
Dz[#Dz+1]=Ea
end
local Df=Ea==Di
local Ee=Cf.Cy<=Dw and Ct
if not Df and not(Ee and Ct-Cf.Db<Dv)then
Df=De(Cf.Da,Ea)or Cf.Cz
end
if not Df then
Z,Dy=Z-1-Ec,Dy+1
else
Z,Dy=Z-5-Ec,0
if Dz[1]then
call('ZREM',W,unpack(Dz))
Dz={}
end
if Ea==Di then
Cq(Ea)
else
call('ZADD',Y,Br+Cf.Cb,'!'..Ea)
Dr=true
end
if Eb or Dr then
Cf.Ax='+'
end
Bj=Cp(Cf,Bj,Q,Br)
Dq=true
end
end
end
if Dz[1]then
call('ZREM',W,unpack(Dz))
end
if Dp then
Dl(Di,Br,O)
elseif Ds then
Dh(Di,'!')
elseif Dr then
Dh(Di,'?')
end
if Dq and not Bj.Bd then
Bz()
end
return Bj
end
local Br=H(F())
local function Ef(Ci)
local Ar,Eg=ARGV[Ci],Ci
while ARGV[Eg+1]==''do
Eg=Eg-4
end
local Bb,Ah,Eh=unpack(ARGV,Eg+1,Eg+3)
local Ai,Aj,Al,Am=string.match(Ah,'^(%a) (%d+) (%d+) (%S*) ')
local Cg,Ch,Da,Cu,Db,Bt,Ei=
string.match(Eh,'^([01]) (%d*) ?(%S*) ?(%d*) ?(%d*) ?(%d*) ?(%d*)$')
return{
Aw=string.sub(Ar,1,32),Ai=Ai,Cg=Cg=='1',Aj=Aj,Ch=Ch,
Cb=Bb-Al,Al=tonumber(Al),Am=Am,Ah=Ah,Ax=string.sub(Ar,33),
Da=Da~=''and Da,Cu=Cu,Db=tonumber(Db),Bt=tonumber(Bt),
Ei=tonumber(Ei),
}
end
local function Ej(Bj,Q,Am)
return{'granted',Q,math.max(1,Bi(Bj,Am))}
end
local function Ek(Bj,Aw)
if Bj.Bd then
return Bj.Bd.Aw==Aw
end
return Bj.Be and call('HGET',U,Aw)
end
local function El(Em,Cf,Bj,En)
local Bd,Dk=Bj.Bd,nil
if Bd then
local Eo=Bd.Ba and'holding'or'closed'
Dk={string.sub(Bd.Aw,1,8),Eo,Bd.Az,Bd.Bb,'',Bd.Ah}
else
local Aj=Cf.Ai=='p'and Bj.Be=='p'
local Bo=En and'~'..Cf.Aw
or Aj and Cc(Br)
or call('ZREVRANGE',T,0,0)[1]
local Ep,Eo,Az,Bb,Ah=Cd(Bo,Br)
if Aj and Aa then
Bb=0
end
Dk={Ep,Eo,Az,Bb,Bj.Bf,Ah}
end
for _,Bh in ipairs(Dk)do
Em[#Em+1]=Bh
end
return Em
end
local function Eq(Cf,Bj)
if Cq(Cf.Aw)then
Do(Bj,Br)
end
end
local function Er(Bj)
if Bj.Bd and Bj.Bd.Ax=='-'and not Bj.Bd.Av then
call('SETRANGE',S,32,'+')
end
end
local Es=0
local function Et(Cf,Bj)
local J=call('ZREVRANGE',W,0,0,'WITHSCORES')[2]or 0
local Bf=Cf.Ei
if not Bf then
Es=math.max(J+1,Es+1,F())
Bf=Es
end
local Cy=string.format('%.0f',Bf)
call('ZADD',W,Cy,Cf.Aw)
local Cg=Cf.Cg and'1'or'0'
local Eu={
Cy,'0',Cf.Da,Cf.Cu,Cf.Db,Cf.Ch,Cg,Cf.Ah,
}
call('HSET',X,Cf.Aw,table.concat(Eu,' '))
Er(Bj)
end
local function Ev(Aw,Bj)
if call('ZSCORE',W,Aw)or not call('ZSCORE',Y,Aw)or Ba(Bj,Aw)then
return
end
local Cx=call('HGET',X,Aw)
if not Cx then
Cq(Aw)
return
end
call('ZREM',Y,'!'..Aw)
local Cy,Dc=string.match(Cx,'^(%d+) %d (.*)$')
call('HSET',X,Aw,Cy..' 1 '..Dc)
call('ZADD',W,Cy,Aw)
call('PEXPIREAT',W,call('ZREVRANGE',Y,0,0,'WITHSCORES')[2])
Er(Bj)
end
local function Ew(Cf)
call('ZADD',Y,Br+Cf.Db,Cf.Aw)
local Bs=call('ZREVRANGE',Y,0,0,'WITHSCORES')[2]
for _,Ad in ipairs({W,X,Y})do
call('PEXPIREAT',Ad,Bs)
end
end
local function Ex(Cf,Bj,Ey)
local Ez=call('ZRANK',W,Cf.Aw)
if Ez then
call('PEXPIRE',W,Cf.Db)
elseif Ey>=Cf.Bt and not Ab then
return{'full',Ey}
else
Et(Cf,Bj)
Ez=call('ZRANK',W,Cf.Aw)
end
Ew(Cf)
return El({'queued',Ez},Cf,Bj)
end
local function Fa(Cf,Bj,Q)
local Fb=Cp(Cf,Bj,Q,Br)
if not Fb.Bd then
Bz()
end
return Ej(Fb,Q,Cf.Am)
end
local function Fc(Cf)
local Aw=Cf.Aw
local Bj=Bv(Br,Aw)
if not Bj then
return Ae()
end
if Bj.Bd and Bj.Bd.Bb<0 then
return Ae('a lock without an end')
end
local Ey=0
local Fd=Cs(Br)
if Fd then
Ev(Aw,Bj)
Bj=Do(Bj,Br,Aw)
Ey=call('ZCARD',W)
end
if Ba(Bj,Aw)then
local Q,Am=Ca(Bj,Aw,Cf.Cb,Br)
if Fd then
Cq(Aw)
end
return Ej(Bj,Q,Am)
end
if Ek(Bj,Aw)then
return El({'refused'},Cf,Bj,true)
end
local Ed,Fe,Ff,Fg=Ce(Cf,Bj)
if Ed=='deadlock'or Ed=='mismatch'then
Eq(Cf,Bj)
return{Ed,Fe,Ff,Fg}
end
if Ed=='passes'or Ed=='fits'and(Ey==0 or not Bj.Be)then
local Q=Ck(Bj)
if not Q then
return Cl()
end
if Ey>0 then
Cq(Aw)
end
return Fa(Cf,Bj,Q)
end
if Cf.Da then
return Ex(Cf,Bj,Ey)
end
local Fh=El({'refused'},Cf,Bj)
Eq(Cf,Bj)
return Fh
end
local function Fi(Bj,Aw,Ah)
if Bj.Bd then
call('DEL',S)
return{}
end
call('ZREM',T,Aw,'~'..Aw)
Bk(Ah)
Bl(Aw,Ah)
if call('ZCARD',T)==0 then
Bm()
return{}
end
Bz()
return Bj
end
local function Fj(Bj,Aw,Am,Fk)
Cq(Aw)
if not Ba(Bj,Aw)then
return{'not_held',Bi(Bj,Am)},Bj
end
local Ah=Bj.Bd and Bj.Bd.Ah or call('HGET',U,Aw)
local _,_,_,_,Fl=Ag(Ah)
Bj=Fk(Bj,Aw,Ah)
local Az=Bi(Bj,Fl)
return Az>0 and{'still_held',Az}or 1,Bj
end
local function Fm(i)
on(KEYS[i])
local Cf=Ef(2+B*(i-1))
Cf.Da=nil
return Cf
end
local function Fn(i)
local Cf=Fm(i)
local Bj=Bv(Br,Cf.Aw)
D[i]=Bj and Ba(Bj,Cf.Aw)
return Fc(Cf)
end
local function Fo(i)
local Cf=Fm(i)
local Bj=Bv(Br,Cf.Aw)
local Ey=Cs(Br)
local _,Fb=Fj(Bj,Cf.Aw,Cf.Am,Fi)
if Ey then
Do(Fb,Br)
end
end
for i=1,#KEYS-1 do
local Dq,Em=pcall(Fn,i)
if not Dq then
Em={'error',type(Em)=='table'and Em.err or Em}
end
if Em[1]~='granted'then
for O=i-1,1,-1 do
if not D[O]and not pcall(Fo,O)then
Em={'error','what was granted could not be taken back'}
end
end
return{ARGV[1],i,Em}
end
C[i+2]=Em
end
return C
