-- The queue of a resource: how waiters are kept and served. Every script that uses the queue has this text where it
-- says `include queue.lua`, below admission.lua.
--
-- main:q  queue    sorted set: a token, by the number of its arrival. A resource without it has no waiters
-- main:w  waiters  hash: token -> <number of its arrival> <1 if it came back after it was set aside, else 0> <inbox>
--                  <grant window ms> <ticket ttl ms> <1 if re-entrant, else 0> <record without its fence>;
--                  also '?' -> see the_roll
-- main:p  tickets  sorted set of queue tickets: a token, by the ms at which its ticket expires;
--                  '!' and a token, by the ms until which what it was handed over can be taken up
-- All three end with the last ticket. A waiter that was handed over what it waits for, or that is taken for dead, is set
-- aside: it is not in the queue, but its ticket is remembered, and if it asks it returns to where it was.

-- Removes a token for good. Returns true if it was in the queue.
local function remove_waiter(token)
  if redis.call('ZREM', tickets, token, '!' .. token) == 0 then
    return false
  end
  redis.call('HDEL', waiters, token)
  return redis.call('ZREM', queue, token) == 1
end

-- Returns the time (ms) of the latest roll call and the last arrival that it called. Returns the same of the roll call
-- before, if something handed over after it was not taken up either: a waiter that has not answered it is taken for dead.
local function the_roll()
  return string.match(redis.call('HGET', waiters, '?') or '0 0 0 0', '(%d+) (%d+) (%d+) (%d+)')
end

-- Removes the tickets that have expired, and notices what was handed over since the latest roll call and not taken up.
-- Returns true if anybody has a ticket.
local function anybody_waits(now)
  if redis.call('EXISTS', tickets) == 0 then
    return false
  end
  local most = math.max(1, budget)
  local over = redis.call('ZRANGEBYSCORE', tickets, '-inf', now, 'LIMIT', 0, most)
  some_are_gone = #over == most
  budget = budget - #over
  for _, member in ipairs(over) do
    local token = string.match(member, '^!(.*)')
    if not token then
      remove_waiter(member)
    else
      local gone = redis.call('ZSCORE', tickets, token)
      if gone and tonumber(gone) > now then
        local window = string.match(redis.call('HGET', waiters, token) or '', '^%d+ %d %S+ (%d+)')
        local begun = window and redis.call('ZSCORE', tickets, member) - window
        found_unclaimed = found_unclaimed or begun and begun >= tonumber((the_roll()))
      end
      redis.call('ZREM', tickets, member)
    end
  end
  return true
end

-- Returns the request of a waiter, to be held for its grant window and without its lock delay; nil if it is not known.
local function request_of(token, waiter)
  local arrival, came_back, inbox, window, ticket_ttl, reentrant, record = string.match(
    waiter or '', '^(%d+) ([01]) (%S+) (%d+) (%d+) ([01]) (.*)$'
  )
  if not inbox then
    return nil
  end
  local mode, permits, delay, owner, rest = string.match(record, '^(%a) ([%d/]+) (%d+)/?%d* (%S*) (.*)$')
  if not permits then
    return nil
  end
  local taken, capacity = string.match(permits, '^(%d+)/?(%d*)$')
  local delayed = delay ~= '0'
  return {
    token = token, mode = mode, reentrant = reentrant == '1', permits = taken, capacity = capacity, owner = owner,
    record = string.format('%s %s %s%s/%s %s ', mode, permits, delayed and '!' or '', delay, window, owner) .. rest,
    ttl = tonumber(window), delay = 0, mark = delayed and '+' or '-', inbox = inbox, arrival = tonumber(arrival),
    ticket_ttl = tonumber(ticket_ttl), came_back = came_back == '1',
  }
end

-- Returns true if somebody is subscribed, as far as that can be known.
local function publish(inbox, what)
  local reached = redis.pcall('PUBLISH', inbox, what)
  return type(reached) ~= 'number' or reached > 0
end

local function inbox_of(token)
  return string.match(redis.call('HGET', waiters, token) or '', '^%d+ %d (%S+)')
end

-- Notifies the first waiter whose inbox has a subscriber, and the last waiter if its inbox is another one: what was handed
-- over may have gone to the dead. It tries at most NEXT_AT_MOST waiters (see the contract), without the one that asks.
local function tell_who_is_next(asking, what)
  local tries, told = 8, nil
  for _, token in ipairs(redis.call('ZRANGE', queue, 0, tries)) do
    if token ~= asking and tries > 0 then
      tries = tries - 1
      local inbox = inbox_of(token)
      if inbox and publish(inbox, what .. token) then
        told = inbox
        break
      end
    end
  end
  local last = redis.call('ZREVRANGE', queue, 0, 0)[1]
  local inbox = last and last ~= asking and inbox_of(last)
  if inbox and inbox ~= told then
    publish(inbox, what .. last)
  end
end

-- Calls the first CALLED_AT_MOST waiters (see the contract) to show that they are alive, because something that was handed
-- over was not taken up.
local function call_the_roll(asking, now, before)
  local last_ticket = redis.call('ZREVRANGE', tickets, 0, 0, 'WITHSCORES')[2]
  if not last_ticket then
    return
  end
  local up_to = 0
  for _, token in ipairs(redis.call('ZRANGE', queue, 0, 319)) do
    local arrival, inbox = string.match(redis.call('HGET', waiters, token) or '', '^(%d+) %d (%S+)')
    if inbox then
      up_to = arrival
      if token ~= asking then
        publish(inbox, '!' .. token)
      end
    end
  end
  redis.call('HSET', waiters, '?', string.format('%.0f %s %s', now, up_to, before))
  -- The key is new if all waiters have left.
  redis.call('PEXPIREAT', waiters, last_ticket)
end

-- Hands over to the heads of the queue what they wait for, as long as it fits, and notifies them. The one that asks gets its
-- answer instead. Sets aside those that are taken for dead: those whose inbox has no subscriber, unless they have come
-- back, and those that were called and did not answer. Returns the state after it.
local function hand_over(state, now, asking)
  local calls, served, to_others, left_over = found_unclaimed, false, false, false
  local roll, called, dead_since, dead_up_to = the_roll()
  if calls then
    -- The roll call takes time as well.
    budget = math.max(5, budget - 260)
    found_unclaimed, dead_since, dead_up_to = false, roll, called
  end
  -- A living head is served, however much of the call went into clearing away.
  budget = math.max(5, budget)
  local before = dead_since .. ' ' .. dead_up_to
  dead_since, dead_up_to = tonumber(dead_since), tonumber(dead_up_to)
  -- Mostly one head is checked, sometimes hundreds are dead. The more are passed over in a row, the more are read at once;
  -- those in `out` are removed from the queue together.
  local page, at, size, passed_over, out = {}, 0, 0, 0, {}
  while true do
    -- Nobody is compatible with a single holder without an owner.
    if state.holder and state.holder.owner == '' then
      break
    end
    at = at + 1
    if at > size then
      if out[1] then
        redis.call('ZREM', queue, unpack(out))
        out = {}
      end
      local most = math.min(math.max(passed_over, 1), 64)
      page = redis.call('ZRANGE', queue, 0, most)
      if not page[1] then
        break
      end
      size, at = math.min(#page, most), 1
    end
    local head, next_one = page[at], page[at + 1]
    local waiter = redis.call('HGET', waiters, head)
    local request = request_of(head, waiter)
    -- A long record takes longer.
    local length = math.floor(#(waiter or '') / 256)
    local gone = request and (some_are_gone or request.arrival <= dead_up_to) and redis.call('ZSCORE', tickets, head)
    if not request or some_are_gone and gone and tonumber(gone) <= now then
      if budget <= 0 then
        left_over = true
        break
      end
      budget = budget - 1 - length
      out[#out + 1] = head
      remove_waiter(head)
    else
      local verdict = check(request, state)
      hands_over = true
      local fence = (verdict == 'fits' or verdict == 'passes') and fence_for(state)
      if not fence then
        break
      end
      if budget <= 0 then
        left_over = true
        break
      end
      if passed_over == 0 then
        -- First a write that takes no memory (see extend), and before anybody is told of what may be refused.
        redis.call('ZREM', queue, head)
      else
        out[#out + 1] = head
      end
      local reached = head == asking
      local is_called = request.arrival <= dead_up_to and gone
      if not reached and not (is_called and gone - request.ticket_ttl < dead_since) then
        -- A user that may not publish hands over all the same: the waiter finds it at its next attempt.
        reached = publish(request.inbox, head) or request.came_back
      end
      if not reached then
        budget, passed_over = budget - 1 - length, passed_over + 1
      else
        budget, passed_over = budget - 5 - length, 0
        if out[1] then
          redis.call('ZREM', queue, unpack(out))
          out = {}
        end
        if head == asking then
          remove_waiter(head)
        else
          redis.call('ZADD', tickets, now + request.ttl, '!' .. head)
          to_others = true
        end
        if next_one or to_others then
          request.mark = '+'
        end
        state = enter(request, state, fence, now)
        served = true
      end
    end
  end
  if out[1] then
    redis.call('ZREM', queue, unpack(out))
  end
  if calls then
    call_the_roll(asking, now, before)
  elseif left_over then
    tell_who_is_next(asking, '!')
  elseif to_others then
    tell_who_is_next(asking, '?')
  end
  if served and not state.holder then
    expire_all()
  end
  return state
end
