-- The holder of a resource in the plain layout: the textbook lock, which other libraries read and write too. Every script
-- of the layout has this text where it says `include plain/holder.lua`.
--
-- main     exists exactly while the resource is not free:
--            <token>     it is held until the end of the key
--            <token>~    nobody holds it, but it is kept closed
--            all else    it is held by somebody who uses another library
--
-- ARGV[1]  echo: every answer is a list that starts with it; each script describes the rest
-- All requests of a call are served: each is a command or two.
local main, answers, put_off, budget = nil, { ARGV[1] }, {}, 1000000
for i = 1, #KEYS do
  put_off[i] = i
end

local function on(key)
  main = key
end

-- Returns the value of main: false if there is none, nil if it is of another type.
local function stored()
  local value = redis.pcall('GET', main)
  if type(value) == 'table' and value.err then
    return not string.find(value.err, 'WRONGTYPE', 1, true) and redis.call('GET', main) or nil
  end
  return value
end

local function corrupt()
  return { 'corrupt', 'a value that is no lock' }
end

-- Returns token-prefix state ms-left record of the holder with this value. The value of another library need not be hex.
local function describe(value)
  local prefix = string.match(value, '^%x%x%x%x%x%x%x%x')
  if not prefix then
    prefix = string.gsub(string.sub(value .. '\0\0\0\0', 1, 4), '.', function(char)
      return string.format('%02x', string.byte(char))
    end)
  end
  local closed = #value == 33 and string.sub(value, 33) == '~'
  local left = redis.call('PTTL', main)
  if left < 0 then
    -- The key was written without an end: 30 years, to which the longest ends are cut.
    left = 1000000000000
  end
  return string.lower(prefix), closed and 'closed' or 'holding', left, ' x 1 0  {}'
end
