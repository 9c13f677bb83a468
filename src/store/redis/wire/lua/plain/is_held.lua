-- is_held, plain layout: tells if a token holds at this moment. Writes nothing.
--
-- KEYS     [1] main key
-- ARGV     [2] token
-- answers  yes · no · corrupt reason

-- include plain/holder.lua

on(KEYS[1])
local value = stored()
return { ARGV[1], value == nil and corrupt() or { value == ARGV[2] and 'yes' or 'no' } }
