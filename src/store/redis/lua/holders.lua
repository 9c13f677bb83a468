-- How the holders of a resource are kept. Every script has this text where it says `include holders.lua`; what is
-- most frequent stands above that line, so that it does not pay for defining the functions.
--
-- KEYS[1] main     exists exactly while the resource is not free. One exclusive holder is a string, its token first:
--                    <token>-<record>     and with a lock delay <token>+<record>
--                    ~<token>-<record>    nobody holds it, but it is kept closed
--                  All else is a marker, and the holders are in the other keys:
--                    *s   shared          *p<capacity>   permits          *x<fence>   re-entered by one owner
-- KEYS[2] ends     sorted set: a token, by the ms at which its hold ends;
--                  '~' and a token, by the ms at which what it keeps closed after its hold opens
-- KEYS[3] records  hash: token -> record
-- KEYS[4] counts   hash: 'used' -> permits taken, 'o<owner>' -> its live holds, 'p<owner>' -> the permits of these
-- ARGV[1] echo     every answer starts with it, so that an answer to something else is noticed
--
-- record: <fence> <mode: x, s or p> <permits> <lock delay ms> <owner or nothing> <metadata>
local main, ends, records, counts = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local echo = ARGV[1]

local function micros()
  local time = redis.call('TIME')
  return time[1] * 1000000 + time[2]
end

local function millis(us)
  return math.floor(us / 1000)
end

local function corrupt(what)
  return { echo, 'corrupt', what or 'a value that is no lock' }
end

-- fence, mode, permits, lock delay, owner, metadata
local function fields(record)
  return string.match(record, '^(%d+) (%a) (%d+) (%d+) (%S*) (.*)$')
end

-- The kind (s, p or x) of a marker, and its number; nil if the value is no marker of ours.
local function marker(value)
  return string.match(value, '^%*([spx])(%d*)$')
end

-- The string form taken apart; nil if the value is none.
local function single(value)
  local closed, token, mark, record = string.match(value, '^(~?)(%x+)([-+])(.*)$')
  if not token or #token ~= 32 then
    return nil
  end
  local fence, mode, _, delay, owner = fields(record)
  if mode ~= 'x' then
    return nil
  end
  local left = redis.call('PTTL', main)
  delay = tonumber(delay)
  local holds = closed == '' and left > delay
  return {
    token = token, mark = mark, record = record, fence = fence, delay = delay, owner = owner,
    holds = holds, opens = left, left = holds and left - delay or left,
  }
end

-- The record of a holder that holds no more, but keeps its place: nobody's.
local function disowned(record)
  return (string.gsub(record, '^(%d+ %a %d+ %d+) %S* ', '%1  '))
end

local function count(field, by)
  local number = redis.call('HINCRBY', counts, field, by)
  if number <= 0 then
    redis.call('HDEL', counts, field)
  end
  return number
end

local function holds_of(owner)
  return owner ~= '' and tonumber(redis.call('HGET', counts, 'o' .. owner) or 0) or 0
end

-- A hold is over; its place may still be kept.
local function end_hold(record)
  local _, mode, permits, _, owner = fields(record)
  if owner ~= '' then
    count('o' .. owner, -1)
    if mode == 'p' then
      count('p' .. owner, -permits)
    end
  end
end

-- The place of a hold is free again.
local function give_back(token, record)
  local _, mode, permits = fields(record)
  if mode == 'p' then
    count('used', -permits)
  end
  redis.call('HDEL', records, token)
end

-- Clears away what is over. Answers whether anything is left; if not, the keys are gone.
local function purge(now)
  local latest = redis.call('ZREVRANGE', ends, 0, 0, 'WITHSCORES')[2]
  if not latest or tonumber(latest) <= now then
    redis.call('DEL', main, ends, records, counts)
    return false
  end
  local over = redis.call('ZRANGEBYSCORE', ends, '-inf', now)
  if #over > 0 then
    redis.call('ZREMRANGEBYSCORE', ends, '-inf', now)
  end
  for _, member in ipairs(over) do
    local token = string.sub(member, -32)
    local record = redis.call('HGET', records, token)
    local held = member == token
    if record then
      local _, _, _, delay = fields(record)
      if held then
        end_hold(record)
      end
      if not held or delay == '0' then
        give_back(token, record)
      end
    end
  end
  return true
end

local function keep(token, until_ms, delay)
  redis.call('ZADD', ends, until_ms, token)
  if delay > 0 then
    redis.call('ZADD', ends, until_ms + delay, '~' .. token)
  end
end

-- No key outlives the last holder.
local function expire_all()
  local latest = redis.call('ZREVRANGE', ends, 0, 0, 'WITHSCORES')[2]
  redis.call('PEXPIREAT', main, latest)
  redis.call('PEXPIREAT', ends, latest)
  redis.call('PEXPIREAT', records, latest)
  redis.call('PEXPIREAT', counts, latest)
end

-- Counts the end of a live hold anew. Answers its fence and its owner.
local function extend(token, ttl, now)
  local fence, _, _, delay, owner = fields(redis.call('HGET', records, token))
  -- A server without memory refuses a script whose first write takes some; this one takes none, and lets the rest pass.
  redis.call('PEXPIREAT', main, now + ttl + delay)
  keep(token, now + ttl, tonumber(delay))
  expire_all()
  return fence, owner
end

-- How a holder is told to others: the first digits of its token, whether it holds, the ms until it ends and until
-- its place is free, its record.
local function describe(member, now)
  local token = string.sub(member, -32)
  local held = redis.call('ZSCORE', ends, token)
  local opens = redis.call('ZSCORE', ends, '~' .. token) or held
  local state = held and 'holding' or 'closed'
  return string.sub(token, 1, 8), state, (held or opens) - now, opens - now, redis.call('HGET', records, token)
end
