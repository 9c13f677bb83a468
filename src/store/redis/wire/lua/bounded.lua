-- A bound on what is read and told. holders.lua has this text where it says `include bounded.lua`.
--
-- All records that this library writes are shorter than 12,000 bytes. Another program may have written more: to read that
-- holds the server up, and a refusal is sent again at each attempt.
local longest = 12000

-- Returns the value of main, or so much of it that its record is too long; false if there is none, '' if it is of another type.
local function stored()
  local value = redis.pcall('GETRANGE', main, 0, longest + 99)
  if type(value) ~= 'string' then
    -- If it is of no other type, the user has no right to GETRANGE.
    local foreign = type(value) == 'table' and string.find(value.err, 'WRONGTYPE', 1, true)
    return foreign and '' or redis.call('GET', main)
  end
  return (value ~= '' or redis.call('EXISTS', main) == 1) and value
end

-- Returns a record. If it is too long, it is without its metadata, and with a mark that says so.
local function bounded(record)
  if not record or #record <= longest then
    return record
  end
  local start = string.match(string.sub(record, 1, longest), '^%d* %a [%d/]+ !?%d+/?%d* %S* ')
  return (start or '') .. '{"cut":"longer than ' .. longest .. ' bytes"}'
end
