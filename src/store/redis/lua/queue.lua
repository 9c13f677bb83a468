-- How those who wait for a resource are kept and served. Every script that looks at the queue has this text where it
-- says `include queue.lua`, below admission.lua.
--
-- main:q  queue    sorted set: a token, by the number of its arrival. No resource is waited for without it
-- main:w  waiters  hash: token -> <inbox> <grant window ms> <capacity or nothing> <1 if re-entrant, else 0> <record
--                  without its fence>
-- main:p  places   sorted set: a token, by the ms at which its place is gone
-- All three end with the last place.

-- Takes a token out of the queue. Answers whether it waited.
local function leave(token)
  local waited = redis.call('ZREM', queue, token) == 1
  if waited then
    redis.call('ZREM', places, token)
    redis.call('HDEL', waiters, token)
  end
  return waited
end

-- Whether anybody may wait, after those are gone who have no place any more.
local function anybody_waits(now)
  if redis.call('EXISTS', queue) == 0 then
    return false
  end
  for _, token in ipairs(redis.call('ZRANGEBYSCORE', places, '-inf', now)) do
    leave(token)
  end
  return true
end

-- What a waiter asked for, to be held for its grant window and without its lock delay; nil if it is not known.
local function request_of(token)
  local inbox, window, capacity, reentrant, record =
    string.match(redis.call('HGET', waiters, token) or '', '^(%S+) (%d+) (%d*) ([01]) (.*)$')
  if not inbox then
    return nil
  end
  local mode, permits, delay, owner, rest = string.match(record, '^(%a) (%d+) (%d+) (%S*) (.*)$')
  local delayed = delay ~= '0'
  return {
    token = token, mode = mode, reentrant = reentrant == '1', permits = permits, capacity = capacity, owner = owner,
    record = string.format('%s %s %s%s %s ', mode, permits, delayed and '!' or '', delay, owner) .. rest,
    ttl = tonumber(window), delay = 0, mark = delayed and '+' or '-', inbox = inbox,
  }
end

-- Tells the first of those that wait, and of whose inbox somebody hears, that it is next: what was handed over may have
-- gone to the dead. At most as many as NEXT_AT_MOST says in the contract; the one who asks is not one of them.
local function tell_who_is_next(asking)
  local tries = 8
  for _, token in ipairs(redis.call('ZRANGE', queue, 0, tries)) do
    if token ~= asking and tries > 0 then
      tries = tries - 1
      local request = request_of(token)
      local heard = request and redis.pcall('PUBLISH', request.inbox, '?' .. token)
      if type(heard) == 'number' and heard > 0 then
        return
      end
    end
  end
end

-- Gives the heads of the queue what they wait for, as long as it fits, and announces it; not to the one who asks, which
-- gets its answer. Answers the state after it.
local function hand_over(state, now, asking)
  local served, to_others = false, false
  while true do
    -- Beside a holder without an owner nobody fits.
    if state.holder and state.holder.owner == '' then
      break
    end
    local head, next_one = unpack(redis.call('ZRANGE', queue, 0, 1))
    if not head then
      break
    end
    local request = request_of(head)
    if not request then
      leave(head)
    else
      local verdict = judge(request, state)
      local fence = (verdict == 'fits' or verdict == 'passes') and fence_for(state)
      if not fence then
        break
      end
      if next_one then
        request.mark = '+'
      end
      -- First a write that takes no memory: see extend.
      leave(head)
      state = enter(request, state, fence, now)
      served = true
      if head ~= asking then
        -- Who may not publish hands over all the same: the waiter finds it at its next attempt.
        redis.pcall('PUBLISH', request.inbox, head)
        to_others = true
      end
    end
  end
  if to_others then
    tell_who_is_next(asking)
  end
  if served and not state.holder then
    expire_all()
  end
  return state
end
