-- Sets KEYS[2] to ARGV[2], after the entry.
redis.call('SET', KEYS[2], ARGV[2])
