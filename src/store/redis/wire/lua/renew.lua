-- renew: counts the end of each live hold anew.
--
-- KEYS     the main key of each request
-- ARGV     [2] on: for each request a token and '-' · ttl ms · the fence that its holder was told, or nothing · new metadata or nothing;
--          behind them 1 if the keys of single holders are to be read at the end, by a client that the server tells of later changes
-- answers  for each request 1: extended · 0: not held · corrupt reason
local size, answers, put_off, extended = 4, { ARGV[1] }, {}, {}
local watched = ARGV[2 + size * #KEYS]

-- A value in another form than a string is nil.
local values, written = redis.pcall('MGET', unpack(KEYS)), {}
for i = 1, #KEYS do
  local main, first, answer = KEYS[i], 2 + size * (i - 1), nil
  if not put_off[main] then
    local value = written[main] or values[i]
    if not value then
      answer = redis.pcall('EXISTS', main) == 0 and 0
    elseif string.sub(value, 1, 33) == ARGV[first] then
      local start, before, owner, rest = string.match(value, '^(%d+ x 1 0)/?(%d*)( %S* )()', 34)
      local ttl, told, metadata = ARGV[first + 1], ARGV[first + 2], ARGV[first + 3]
      answer = start and redis.pcall('PEXPIRE', main, ttl) == 1 and 1
      local untold = answer and told ~= '' and string.find(start, '^0') and string.find(start, ' ', 1, true) == 18
      if answer and (before ~= ttl or untold or metadata ~= '') then
        -- Another ttl has to be written down: see stepped.lua. So has a fence that the store does not know.
        start = untold and string.sub(start, 1, 17) .. told .. string.sub(start, 18) or start
        metadata = metadata ~= '' and metadata or string.sub(value, rest)
        value = ARGV[first] .. start .. '/' .. ttl .. owner .. metadata
        answer = redis.pcall('SET', main, value, 'PX', ttl).ok and 1
        -- For a later request for the same hold.
        written[main] = answer and value
      end
    end
  end
  if answer then
    answers[i + 1] = answer
    if watched then
      extended[#extended + 1] = main
    end
  else
    -- Later requests for the same resource have to wait for this one.
    put_off[#put_off + 1], put_off[main] = i, true
  end
end
if extended[1] then
  redis.call('EXISTS', unpack(extended))
end
if not put_off[1] then
  return answers
end

-- include time.lua
-- include holders.lua

local function serve(first)
  local token = string.sub(ARGV[first], 1, 32)
  local state = read(stored())
  if not state then
    return corrupt()
  end
  local now = millis(micros())
  local held = holds(state, token)
  -- A slot of a cluster moves to another node key by key. A marker alone does not name the holders.
  if not held and state.kind and not state.holder and redis.call('EXISTS', ends) == 0 then
    error({ err = 'TRYAGAIN part of it is on another node' })
  end
  -- One of several may be over and not cleared away yet.
  if not held or not state.holder and tonumber(held) <= now then
    return 0
  end
  local told = ARGV[first + 2]
  extend(state, token, tonumber(ARGV[first + 1]), now, told ~= '' and is_untold(state) and state.fence .. told)
  if ARGV[first + 3] ~= '' then
    local record = state.holder and stored() or redis.call('HGET', records, token)
    local start = string.match(record, '^%S+ %a [%d/]+ %d+/%d+ %S* ')
    if start and state.holder then
      redis.call('SET', main, start .. ARGV[first + 3], 'KEEPTTL')
    elseif start then
      redis.call('HSET', records, token, start .. ARGV[first + 3])
    end
  end
  if watched and state.holder then
    redis.call('EXISTS', main)
  end
  return 1
end

-- include batch.lua
