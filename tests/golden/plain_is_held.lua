local call,A=redis.call,redis.pcall
return{ARGV[1],{call('GET',KEYS[1])==ARGV[2]and'yes'or'no'}}
