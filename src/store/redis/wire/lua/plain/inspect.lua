-- inspect, plain layout: tells the holder of a resource.
--
-- KEYS     [1] main key
-- ARGV     [2] the most holders to tell of
-- answers  holders total 0 nothing told nothing, then for the holder: token-prefix state ms-left record; or corrupt reason

-- include plain/holder.lua

on(KEYS[1])
local value = stored()
if value == nil then
  return { ARGV[1], corrupt() }
end
local answer = { 'holders', value and 1 or 0, 0, '', 0, '' }
if value and tonumber(ARGV[2]) > 0 then
  answer[5] = 1
  answer[7], answer[8], answer[9], answer[10] = describe(value)
end
answers[2] = answer
return answers
