-- force_release, plain layout: takes a resource away from its holder.
--
-- KEYS     [1] main key
-- answers  opened holders-that-there-were
--
-- A value that is no string is no lock: the question fails, and nothing is deleted.
return { ARGV[1], { 'opened', redis.call('GET', KEYS[1]) and redis.call('DEL', KEYS[1]) or 0 } }
