-- is_held, plain layout: tells if a token holds at this moment. Writes nothing.
--
-- KEYS     [1] main key
-- ARGV     [2] token
-- answers  yes · no
return { ARGV[1], { redis.call('GET', KEYS[1]) == ARGV[2] and 'yes' or 'no' } }
