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
local F,G,H=A('GET',KEYS[1]),'',''
if F then
G,H=string.match(type(F)=='string'and F or'','^(%x+) (.*)$')
if not G or#G~=32 then
return{ARGV[1],{'corrupt','a value that is no register'}}
end
end
local I='read'
if ARGV[3]~=''then
if ARGV[3]==G then
I='written'
elseif ARGV[4]~=G then
I='changed'
elseif C()<1000*ARGV[5]then
I='early'
else
call('SET',KEYS[1],ARGV[3]..' '..ARGV[6],'PX',ARGV[2])
I,G,H='written',ARGV[3],ARGV[6]
end
elseif F and call('PTTL',KEYS[1])<ARGV[2]/2 then
call('PEXPIRE',KEYS[1],ARGV[2])
end
return{ARGV[1],{'register',I,C(),G,H}}
