-- register: reads the register of a name. Before that it writes it, if nobody else has since it was read.
--
-- KEYS     [1] <main key>:r
-- ARGV     [2] the ms for which it is kept after its last use, [3] its new revision, '' only to read,
--          [4] the revision that it must have, '' if it must not exist, [5] the time in ms before which it is not written,
--          [6] the new value
-- answers  register read|written|changed|early micros revision value · corrupt reason
--
-- <main key>:r   <revision, 32 digits> <value>

-- include time.lua
local stored, revision, value = redis.pcall('GET', KEYS[1]), '', ''
if stored then
  revision, value = string.match(type(stored) == 'string' and stored or '', '^(%x+) (.*)$')
  if not revision or #revision ~= 32 then
    return { ARGV[1], { 'corrupt', 'a value that is no register' } }
  end
end

local verdict = 'read'
if ARGV[3] ~= '' then
  if ARGV[3] == revision then
    verdict = 'written'
  elseif ARGV[4] ~= revision then
    verdict = 'changed'
  elseif micros() < 1000 * ARGV[5] then
    verdict = 'early'
  else
    redis.call('SET', KEYS[1], ARGV[3] .. ' ' .. ARGV[6], 'PX', ARGV[2])
    verdict, revision, value = 'written', ARGV[3], ARGV[6]
  end
elseif stored and redis.call('PTTL', KEYS[1]) < ARGV[2] / 2 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return { ARGV[1], { 'register', verdict, micros(), revision, value } }
