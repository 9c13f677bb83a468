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
local F=86400000
local G,H=A('HGET',KEYS[1],'revision')or'',A('HGET',KEYS[1],'value')or''
if type(G)~='string'then
if string.find(G.err,'WRONGTYPE',1,true)then
return{ARGV[1],{'corrupt','a value that is no register'}}
end
return G
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
call('HSET',KEYS[1],'revision',ARGV[3],'value',ARGV[6])
I,G,H='written',ARGV[3],ARGV[6]
end
end
if G~=''and(ARGV[3]~=''or call('PTTL',KEYS[1])<ARGV[2]-F)then
call('PEXPIRE',KEYS[1],ARGV[2])
end
return{ARGV[1],{'register',I,C(),G,H}}
