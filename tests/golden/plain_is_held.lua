local call,A,match,sub=redis.call,redis.pcall,string.match,string.sub
return{ARGV[1],{call('GET',KEYS[1])==ARGV[2]and'yes'or'no'}}
