-- The holders of a resource and their keys. Every script has this text where it says `include holders.lua`, below time.lua.
-- The most frequent work stands above that line, so that it does not pay for defining the functions.
--
-- A call names a resource by its main key alone. The other keys are that and a letter, so they share its hash tag, and a
-- batch of many resources stays short.
--
-- main             exists exactly while the resource is not free. One exclusive holder is a string, its token first:
--                    <token>-<record>     nobody waits, and it has no lock delay: its end is the end of the key
--                    <token>+<record>     somebody may wait, or it has a lock delay
--                    ~<token>-<record>    nobody holds it, but it is kept closed
--                  All else is a marker, and the holders are in the other keys:
--                    *s   shared          *p<capacity>   permits          *x<fence>   re-entered by one owner
--                    *p<capacity>/<other capacity>   permits, while two capacities may be in use; see capacities
-- main:h  ends     sorted set: a token, by the ms at which its hold ends;
--                  '~' and a token, by the ms at which what it keeps closed after its hold opens
-- main:d  records  hash: token -> record
-- main:o  counts   hash: 'used' -> permits taken, 'o<owner>' -> its live holds, 'p<owner>' -> the permits of these,
--                  'c<capacity>' -> records of the other capacity
-- main:n  numbers  sorted set: a token that has permits, by its number; see give_number
-- main:c           the number of permits that was set, which counts in place of those of the requests; it has no end
-- main:q, main:w and main:p are described in queue.lua.
--
-- ARGV[1] echo     every answer is a list that starts with it, so that an answer to something else is noticed; each
--                  script describes the rest
--
-- record: <fence, or what plain commands write: a 0, 16 digits of about the time of the grant in µs, from the first renewal on the fence> <mode: x, s or p> <permits, of permits also /capacity> <lock delay ms>/<ttl ms> <owner or nothing> <metadata>
--         A '!' before the lock delay: it was handed over and not yet taken up, and has no lock delay until then.
--         The ttl is what its end was counted with last; see stepped.lua.
local main, ends, records, counts, numbers, queue, waiters, tickets

-- budget           the steps that this call may still take (STEPS_AT_MOST in the contract): the server serves nobody else
--                  meanwhile
-- some_are_over    set while holders that are over are still to be cleared away
-- some_are_gone    set while tickets that have expired are still to be cleared away
-- found_unclaimed  set while something was found that was handed over and not taken up, and was not acted on yet
local budget, some_are_over, some_are_gone, found_unclaimed = 320, false, false, false

-- Makes all functions below work on the resource of this main key from now on.
local function on(key)
  budget, some_are_over, some_are_gone, found_unclaimed = math.max(budget, 5), false, false, false
  main, ends, records, counts, numbers = key, key .. ':h', key .. ':d', key .. ':o', key .. ':n'
  queue, waiters, tickets = key .. ':q', key .. ':w', key .. ':p'
end

local function corrupt(what)
  return { 'corrupt', what or 'a value that is no lock' }
end

-- Returns the fence, mode, permits, the lock delay that counts now, the owner, the ttl if it is told, and the capacity.
local function fields(record)
  local fence, mode, permits, capacity, pending, delay, ttl, owner =
    string.match(record, '^(%d+) (%a) (%d+)/?(%d*) (!?)(%d+)/?(%d*) (%S*) ')
  return fence, mode, permits, pending == '' and delay or '0', owner, tonumber(ttl), capacity
end

-- include bounded.lua

-- Returns the record of a hold that is taken up, with the ttl that its end is counted with from now on.
local function taken_up(record, ttl)
  return (string.gsub(record, '^(%d+ %a [%d/]+ )!?(%d+)/?%d* ', '%1%2/' .. ttl .. ' '))
end

-- Returns the kind (s, p or x) of a marker, and its number; nil if the value is no marker of ours, which are short.
local function marker(value)
  if #value <= 32 then
    if value == '*s' or string.match(value, '^%*[xp]%d+$') or string.match(value, '^%*p%d+/%d+$') then
      return string.sub(value, 2, 2), string.sub(value, 3)
    end
  end
end

-- Reads the string form; nil if the value is none.
local function single(value)
  -- A pattern that goes over the whole value takes long for a long one.
  local closed, token, mark, from = string.match(value, '^(~?)(%x+)([-+])()')
  if not token or #token ~= 32 then
    return nil
  end
  local record = bounded(string.sub(value, from))
  local fence, mode, _, delay, owner, ttl = fields(record)
  if mode ~= 'x' then
    return nil
  end
  local left = redis.call('PTTL', main)
  delay = tonumber(delay)
  local too_far = ttl and left > ttl + delay
  left = too_far and ttl + delay or left
  local holds = closed == '' and left > delay
  return {
    token = token, closed = closed ~= '', mark = mark, record = record, fence = fence, delay = delay, owner = owner,
    holds = holds, opens = left, left = holds and left - delay or left, too_far = too_far,
  }
end

-- Reads a value of main as a state: empty if the resource is free, else
--   kind     x, s or p           number   of the marker: the capacities of permits
--   holder   the one of the string form
--   fence    the one that a re-entry shares
-- nil if the value is not ours.
local function read(value)
  if not value then
    return {}
  end
  if string.sub(value, 1, 1) ~= '*' then
    local holder = single(value)
    return holder and { kind = 'x', number = '', holder = holder, fence = holder.fence }
  end
  local kind, number = marker(value)
  return kind and { kind = kind, number = number, fence = kind == 'x' and number or nil }
end

local function count(field, by)
  local number = redis.call('HINCRBY', counts, field, by)
  if number <= 0 then
    redis.call('HDEL', counts, field)
  end
end

-- Returns the smallest capacity of permits that is in use, then all of them: one or two. The marker names them, and the
-- counts tell whether both still are.
local function capacities(state)
  local first, other = string.match(state.number, '^(%d*)/?(%d*)$')
  local others = tonumber(other ~= '' and redis.call('HGET', counts, 'c' .. other) or 0)
  if others > 0 and others == redis.call('HLEN', records) then
    first, others = other, 0
  end
  other = others > 0 and other
  return math.min(first, other or first), first, other
end

-- Returns the number of holds of an owner.
local function holds_of(state, owner)
  if owner == '' then
    return 0
  end
  if state.holder then
    return state.holder.holds and state.holder.owner == owner and 1 or 0
  end
  return tonumber(redis.call('HGET', counts, 'o' .. owner) or 0)
end

-- Ends a hold in the counts; it may still keep the resource closed.
local function end_hold(record)
  local _, mode, permits, _, owner = fields(record)
  if owner ~= '' then
    count('o' .. owner, -1)
    if mode == 'p' then
      count('p' .. owner, -permits)
    end
  end
end

-- Removes the record of a hold, and frees its permits.
local function remove_record(token, record)
  local _, mode, permits, _, _, _, capacity = fields(record)
  if mode == 'p' then
    count('used', -permits)
    if redis.call('HGET', counts, 'c' .. capacity) then
      count('c' .. capacity, -1)
    end
  end
  redis.call('ZREM', numbers, token)
  redis.call('HDEL', records, token)
end

local function clear()
  -- There may be many holders.
  redis.call('UNLINK', main, ends, records, counts, numbers)
end

-- Clears away a member that is over: a hold, or ('~' and a token) what it kept closed.
local function end_member(member)
  local token = string.sub(member, -32)
  local record = redis.call('HGET', records, token)
  local held = member == token
  if record then
    local _, _, _, delay = fields(record)
    if held then
      end_hold(record)
    end
    if not held or delay == '0' then
      remove_record(token, record)
    end
  end
end

-- Sets the ends of the keys: none outlives the last of several holders.
local function expire_all()
  local latest = redis.call('ZREVRANGE', ends, 0, 0, 'WITHSCORES')[2]
  for _, key in ipairs({ main, ends, records, counts, numbers }) do
    redis.call('PEXPIREAT', key, latest)
  end
end

-- include stepped.lua

-- Clears away those of several holders that are over, as many as this call may. Returns true if anything is left; if not,
-- the keys are gone.
local function purge(now)
  local latest = latest_of_all(now)
  if not latest or tonumber(latest) <= now then
    clear()
    return false
  end
  -- Each takes several commands.
  local most = math.max(1, math.ceil(budget / 3))
  local over = redis.call('ZRANGEBYSCORE', ends, '-inf', now, 'LIMIT', 0, most)
  if over[1] then
    redis.call('ZREM', ends, unpack(over))
    some_are_over = #over == most
    budget = budget - 3 * #over
  end
  for _, member in ipairs(over) do
    end_member(member)
  end
  return true
end

-- Returns the state after clearing away what is over, and in any case what is over of this token; nil if the value is not
-- ours.
local function settled(now, token)
  local state = read(stored())
  if state and state.holder and state.holder.too_far then
    redis.call('PEXPIRE', main, state.holder.opens)
  end
  if state and state.kind and not state.holder then
    if not purge(now) then
      return {}
    end
    if some_are_over and token then
      for _, member in ipairs({ token, '~' .. token }) do
        local ended = redis.call('ZSCORE', ends, member)
        if ended and tonumber(ended) <= now then
          redis.call('ZREM', ends, member)
          end_member(member)
        end
      end
    end
  end
  return state
end

-- Returns true if a token holds, in a state that is settled for it.
local function holds(state, token)
  if state.holder then
    return state.holder.holds and state.holder.token == token
  end
  return state.kind and redis.call('ZSCORE', ends, token)
end

local function keep(token, until_ms, delay)
  redis.call('ZADD', ends, until_ms, token)
  if delay > 0 then
    redis.call('ZADD', ends, until_ms + delay, '~' .. token)
  end
end

-- Counts the end of a live hold anew, and takes it up if it was handed over. Writes this fence down, if there is one. Returns its fence
-- and its owner.
local function extend(state, token, ttl, now, new)
  local before = state.holder and state.holder.record or redis.call('HGET', records, token)
  local record = taken_up(before, ttl)
  if new then
    record = string.gsub(record, '%d+', new, 1)
  end
  local fence, _, _, delay, owner = fields(record)
  delay = tonumber(delay)
  -- A server without memory refuses a script whose first write takes some; this one takes none, and lets the rest pass.
  redis.call('PEXPIRE', main, ttl + delay)
  if state.holder then
    if record ~= before then
      redis.call('SET', main, token .. state.holder.mark .. record, 'PX', ttl + delay)
    end
    return fence, owner
  end
  if record ~= before then
    redis.call('HSET', records, token, record)
  end
  keep(token, now + ttl, delay)
  expire_all()
  return fence, owner
end

-- Returns true if the holder was written by plain commands: the store does not know the fence that it was told, if any.
local function is_untold(state)
  return #(state.fence or '') == 17 and string.sub(state.fence, 1, 1) == '0'
end

-- Returns the first of several members that is not over.
local function first_of_all(now)
  return redis.call('ZRANGEBYSCORE', ends, '(' .. string.format('%.0f', now), '+inf', 'LIMIT', 0, 1)[1]
end

-- Describes one of several holders for others: the first digits of its token, its state, the ms until it ends and until it
-- opens, its record.
local function describe(member, now)
  local token = string.sub(member, -32)
  local held = redis.call('ZSCORE', ends, token)
  local opens = redis.call('ZSCORE', ends, '~' .. token) or held
  local state = held and 'holding' or 'closed'
  return string.sub(token, 1, 8), state, (held or opens) - now, opens - now, bounded(redis.call('HGET', records, token))
end
