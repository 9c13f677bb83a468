local call,A,match,sub=redis.call,redis.pcall,string.match,string.sub
return{ARGV[1],{'opened',call('GET',KEYS[1])and call('DEL',KEYS[1])or 0}}
