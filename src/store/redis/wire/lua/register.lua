-- register: reads the register of a name. Before that it writes it, if nobody else has since it was read.
--
-- KEYS     [1] <main key>:r
-- ARGV     [2] the ms for which it is kept after its last use, [3] its new revision, '' only to read,
--          [4] the revision that it must have, '' if it must not exist, [5] the time in ms before which it is not written,
--          [6] the new value
-- answers  register read|written|changed|early micros revision value · corrupt reason
--
-- <main key>:r   a hash: the revision, and the value. No string, which in the plain layout would be listed as a lock
--
-- A call with a new revision writes always, if only the end of the key: WAIT asks about the writes of its own connection,
-- and the call may be a repeat on another one than that of the first try. What came before it is then confirmed too.

-- include time.lua
local day = 86400000
local revision, value = redis.pcall('HGET', KEYS[1], 'revision') or '', redis.pcall('HGET', KEYS[1], 'value') or ''
if type(revision) ~= 'string' then
  -- A missing right, for instance, says nothing of the value.
  if string.find(revision.err, 'WRONGTYPE', 1, true) then
    return { ARGV[1], { 'corrupt', 'a value that is no register' } }
  end
  return revision
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
    redis.call('HSET', KEYS[1], 'revision', ARGV[3], 'value', ARGV[6])
    verdict, revision, value = 'written', ARGV[3], ARGV[6]
  end
end
-- A read renews it once a day, so that most reads write nothing.
if revision ~= '' and (ARGV[3] ~= '' or redis.call('PTTL', KEYS[1]) < ARGV[2] - day) then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return { ARGV[1], { 'register', verdict, micros(), revision, value } }
