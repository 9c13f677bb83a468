-- force_release, plain layout: takes a resource away from its holder.
--
-- KEYS     [1] main key
-- answers  opened holders-that-there-were · corrupt reason: what is no string is no lock, and nothing is deleted

-- include plain/holder.lua

on(KEYS[1])
local value = stored()
return { ARGV[1], value == nil and corrupt() or { 'opened', value and redis.call('DEL', main) or 0 } }
