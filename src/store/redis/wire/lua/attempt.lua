-- An attempt of an acquisition. Every script that acquires has this text where it says `include attempt.lua`, below
-- queue.lua.
--
-- request  four of ARGV: a token, behind it the mark of its string form if it is exclusive · ms until it opens: ttl
--          and lock delay · record without its fence · <1 if re-entrant, else 0>,
--          with a queue ticket also <inbox> <grant window ms> <ticket ttl ms> <the most waiters>,
--          and if a quorum proposes one <the number of its arrival>.
--          All but the token are empty if they are those of the request before it: every byte that Lua is given costs time
-- answers  granted fence holds, of permits also their number unless an older version has granted them
--          refused <one in the way> · queued ahead <one in the way> · full waiters
--          deadlock mode permits · mismatch mode permits · corrupt reason; permits as in a record
--          one in the way: token-prefix state ms-to-its-end ms-until-it-opens record
local now = millis(micros())

-- Returns the request whose arguments begin here.
local function request_at(first)
  local start, same = ARGV[first], first
  while ARGV[same + 1] == '' do
    same = same - 4
  end
  local opens, record, terms = unpack(ARGV, same + 1, same + 3)
  local mode, permits, capacity, delay, owner = string.match(record, '^(%a) (%d+)/?(%d*) (%d+)/?%d* (%S*) ')
  local reentrant, inbox, window, ticket_ttl, most, place =
    string.match(terms, '^([01]) ?(%S*) ?(%d*) ?(%d*) ?(%d*) ?(%d*)$')
  return {
    token = string.sub(start, 1, 32), mode = mode, reentrant = reentrant == '1', permits = permits, capacity = capacity,
    ttl = opens - delay, delay = tonumber(delay), owner = owner, record = record, mark = string.sub(start, 33),
    inbox = inbox ~= '' and inbox, window = window, ticket_ttl = tonumber(ticket_ttl), most = tonumber(most),
    place = tonumber(place),
  }
end

local function granted(state, fence, owner, token)
  local number = state.kind == 'p' and redis.call('ZSCORE', numbers, token) or nil
  return { 'granted', fence, math.max(1, holds_of(state, owner)), number }
end

-- Returns true if a hold of this token is over and only keeps the resource closed: a late repeat does not bring it back.
local function came_late(state, token)
  if state.holder then
    return state.holder.token == token
  end
  return state.kind and redis.call('HGET', records, token)
end

-- Appends the holder that is in the way to an answer. Permits may come free with the first that ends; all else has to
-- wait for the last that opens.
local function kept_out(answer, request, state, itself)
  local holder, told = state.holder, nil
  if holder then
    local it_is = holder.holds and 'holding' or 'closed'
    told = { string.sub(holder.token, 1, 8), it_is, holder.left, holder.opens, holder.record }
  else
    local permits = request.mode == 'p' and state.kind == 'p'
    local member = itself and '~' .. request.token
      or permits and first_of_all(now)
      or redis.call('ZREVRANGE', ends, 0, 0)[1]
    local prefix, it_is, left, opens, record = describe(member, now)
    if permits and some_are_over then
      -- Some permits are free already.
      opens = 0
    end
    told = { prefix, it_is, left, opens, record }
  end
  for _, field in ipairs(told) do
    answer[#answer + 1] = field
  end
  return answer
end

-- Gives up a queue ticket, in favour of the waiters behind it.
local function give_up(request, state)
  if remove_waiter(request.token) then
    hand_over(state, now)
  end
end

-- Marks in the holder that somebody waits from now on.
local function mark_waiting(state)
  if state.holder and state.holder.mark == '-' and not state.holder.closed then
    -- Its release has to check the queue from now on.
    redis.call('SETRANGE', main, 32, '+')
  end
end

-- The last arrival that this call has given. Whoever was given it may have been set aside since, and comes back to it.
local last_arrival = 0

-- Puts the token at its place in the queue, or at the end. A quorum proposes the place, so that its nodes have one order.
local function enqueue(request, state)
  local last = redis.call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')[2] or 0
  local number = request.place
  if not number then
    last_arrival = math.max(last + 1, last_arrival + 1, micros())
    number = last_arrival
  end
  local arrival = string.format('%.0f', number)
  redis.call('ZADD', queue, arrival, request.token)
  local reentrant = request.reentrant and '1' or '0'
  local waits = { arrival, '0', request.inbox, request.window, request.ticket_ttl, reentrant, request.record }
  redis.call('HSET', waiters, request.token, table.concat(waits, ' '))
  mark_waiting(state)
end

-- Puts a token that was set aside back to where it was, because it asks.
local function come_back(token, state)
  if redis.call('ZSCORE', queue, token) or not redis.call('ZSCORE', tickets, token) or holds(state, token)
    or came_late(state, token) then
    return
  end
  local waiter = redis.call('HGET', waiters, token)
  if not waiter then
    -- Something else than a lock took it away: it queues anew.
    remove_waiter(token)
    return
  end
  -- First a write that takes no memory: see extend.
  redis.call('ZREM', tickets, '!' .. token)
  local arrival, rest = string.match(waiter, '^(%d+) %d (.*)$')
  redis.call('HSET', waiters, token, arrival .. ' 1 ' .. rest)
  redis.call('ZADD', queue, arrival, token)
  redis.call('PEXPIREAT', queue, redis.call('ZREVRANGE', tickets, 0, 0, 'WITHSCORES')[2])
  mark_waiting(state)
end

-- Counts the lifetime of a ticket anew.
local function refresh(request)
  redis.call('ZADD', tickets, now + request.ticket_ttl, request.token)
  local latest = redis.call('ZREVRANGE', tickets, 0, 0, 'WITHSCORES')[2]
  for _, key in ipairs({ queue, waiters, tickets }) do
    redis.call('PEXPIREAT', key, latest)
  end
end

local function wait(request, state, waiting)
  local ahead = redis.call('ZRANK', queue, request.token)
  if ahead then
    -- First a write that takes no memory: see extend.
    redis.call('PEXPIRE', queue, request.ticket_ttl)
  elseif waiting >= request.most and not some_are_gone then
    return { 'full', waiting }
  else
    enqueue(request, state)
    ahead = redis.call('ZRANK', queue, request.token)
  end
  refresh(request)
  return kept_out({ 'queued', ahead }, request, state)
end

-- Turns a request that fits into a holder, with this fence.
local function take(request, state, fence)
  local after = enter(request, state, fence, now)
  if not after.holder then
    expire_all()
  end
  return granted(after, fence, request.owner, request.token)
end

local function attempt(request)
  local token = request.token
  local state = settled(now, token)
  if not state then
    return corrupt()
  end
  if state.holder and state.holder.opens < 0 then
    return corrupt('a lock without an end')
  end
  local waiting = 0
  local tickets_are_kept = anybody_waits(now)
  if tickets_are_kept then
    if is_untold(state) and state.holder.mark == '-' and not state.holder.closed then
      -- It was taken by plain commands beside these tickets, and nobody was told.
      if holds(state, token) then
        clear()
        state = {}
      else
        -- Its own script is to find that: see mark_waiting. Its release would not look for those that wait.
        state.holder.mark, state.holder.opens = '', math.min(state.holder.opens, 1000)
      end
    end
    come_back(token, state)
    state = hand_over(state, now, token)
    waiting = redis.call('ZCARD', queue)
  end
  if holds(state, token) then
    -- It was taken by plain commands: nobody need have been told its fence.
    local new = is_untold(state) and fence_for({})
    if new == nil then
      return no_fence()
    end
    if new then
      keep_fence(tonumber(new))
    end
    local fence, owner = extend(state, token, request.ttl, now, new)
    if tickets_are_kept then
      remove_waiter(token)
    end
    return granted(state, fence, owner, token)
  end
  if came_late(state, token) then
    return kept_out({ 'refused' }, request, state, true)
  end
  local verdict, held_mode, held_permits = check(request, state)
  if verdict == 'deadlock' or verdict == 'mismatch' then
    give_up(request, state)
    return { verdict, held_mode, held_permits }
  end
  -- It is free though somebody waits: there are more dead ones ahead than one call looks at.
  if verdict == 'passes' or verdict == 'fits' and (waiting == 0 or not state.kind) then
    local fence = fence_for(state)
    if not fence then
      return no_fence()
    end
    if waiting > 0 then
      remove_waiter(token)
    end
    return take(request, state, fence)
  end
  if request.inbox then
    return wait(request, state, waiting)
  end
  local refusal = kept_out({ 'refused' }, request, state)
  give_up(request, state)
  return refusal
end
