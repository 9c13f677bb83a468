-- acquire, plain layout: gives each resource to a token if nobody has it.
--
-- KEYS     the main key of each request
-- ARGV     [2] on: for each request a token · ttl ms
-- answers  for each request: granted nothing 1 · refused token-prefix state ms-left ms-left record · corrupt reason · error reason
local size = 2

-- include plain/holder.lua

local function serve(first)
  local token, ttl = ARGV[first], ARGV[first + 1]
  if not redis.call('SET', main, token, 'NX', 'PX', ttl) then
    -- More than a token and a mark need not be read: another library may have written any length.
    local value = redis.pcall('GETRANGE', main, 0, 33)
    value = type(value) == 'string' and value or stored()
    if not value then
      return corrupt()
    end
    if value ~= token then
      local prefix, it_is, left, record = describe(value)
      return { 'refused', prefix, it_is, left, left, record }
    end
    redis.call('PEXPIRE', main, ttl)
  end
  return { 'granted', '', 1 }
end

-- include batch.lua
