local call,A=redis.call,redis.pcall
return{ARGV[1],{'opened',call('GET',KEYS[1])and call('DEL',KEYS[1])or 0}}
