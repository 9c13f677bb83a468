local call,F,match,sub=redis.call,redis.pcall,string.match,string.sub
local C
local function D()
if not C then
local E=call('TIME')
C=E[1]*1000000+E[2]
end
return C
end
local function I(us)
return math.floor(us/1000)
end
local H=86400000
local A,G=F('HGET',KEYS[1],'revision')or'',F('HGET',KEYS[1],'value')or''
if type(A)~='string'then
if string.find(A.err,'WRONGTYPE',1,true)then
return{ARGV[1],{'corrupt','a value that is no register'}}
end
return A
end
local B='read'
if ARGV[3]~=''then
if ARGV[3]==A then
B='written'
elseif ARGV[4]~=A then
B='changed'
elseif D()<1000*ARGV[5]then
B='early'
else
call('HSET',KEYS[1],'revision',ARGV[3],'value',ARGV[6])
B,A,G='written',ARGV[3],ARGV[6]
end
end
if A~=''and(ARGV[3]~=''or call('PTTL',KEYS[1])<ARGV[2]-H)then
call('PEXPIRE',KEYS[1],ARGV[2])
end
return{ARGV[1],{'register',B,D(),A,G}}
