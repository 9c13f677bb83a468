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
local F,G=A('HGET',KEYS[1],'revision')or'',A('HGET',KEYS[1],'value')or''
if type(F)~='string'then
return{ARGV[1],{'corrupt','a value that is no register'}}
end
local H='read'
if ARGV[3]~=''then
if ARGV[3]==F then
H='written'
elseif ARGV[4]~=F then
H='changed'
elseif C()<1000*ARGV[5]then
H='early'
else
call('HSET',KEYS[1],'revision',ARGV[3],'value',ARGV[6])
call('PEXPIRE',KEYS[1],ARGV[2])
H,F,G='written',ARGV[3],ARGV[6]
end
elseif F~=''and call('PTTL',KEYS[1])<ARGV[2]/2 then
call('PEXPIRE',KEYS[1],ARGV[2])
end
return{ARGV[1],{'register',H,C(),F,G}}
