-- How an acquisition is attempted. Every script that acquires has this text where it says `include attempt.lua`, below
-- queue.lua.
--
-- request  four of ARGV: a token, behind it the mark of its string form if it is exclusive · ms until its place is free:
--          ttl and lock delay · record without its fence · <1 if re-entrant, else 0> <capacity, nothing unless permits>,
--          with a place also <inbox> <grant window ms> <patience ms> <the most waiters>
-- answers  granted fence holds
--          refused <one in the way> · queued ahead <one in the way> · full waiters
--          deadlock mode permits capacity · mismatch mode permits capacity · corrupt reason
--          one in the way: token-prefix state ms-to-its-end ms-until-it-opens capacity record
local now = millis(micros())

-- The request whose arguments begin here.
local function request_at(first)
  local start, opens, record, terms = unpack(ARGV, first, first + 3)
  local mode, permits, delay, owner = string.match(record, '^(%a) (%d+) (%d+) (%S*) ')
  local reentrant, capacity, inbox, window, patience, most =
    string.match(terms, '^([01]) (%d*) ?(%S*) ?(%d*) ?(%d*) ?(%d*)$')
  return {
    token = string.sub(start, 1, 32), mode = mode, reentrant = reentrant == '1', permits = permits, capacity = capacity,
    ttl = opens - delay, delay = tonumber(delay), owner = owner, record = record, mark = string.sub(start, 33),
    inbox = inbox ~= '' and inbox, window = window, patience = tonumber(patience), most = tonumber(most),
  }
end

local function granted(state, fence, owner)
  return { 'granted', fence, math.max(1, holds_of(state, owner)) }
end

-- Whether a hold of this token is over and only keeps its place: a repeat that comes late does not bring it back.
local function came_late(state, token)
  if state.holder then
    return state.holder.token == token
  end
  return state.kind and redis.call('HGET', records, token)
end

-- Who is in the way, put behind what is answered. Permits may come free with the first that ends; all else has to wait
-- for the last that opens.
local function kept_out(answer, request, state, itself)
  local holder, told = state.holder, nil
  if holder then
    local it_is = holder.holds and 'holding' or 'closed'
    told = { string.sub(holder.token, 1, 8), it_is, holder.left, holder.opens, '', holder.record }
  else
    local order = request.mode == 'p' and state.kind == 'p' and 'ZRANGE' or 'ZREVRANGE'
    local member = itself and '~' .. request.token or redis.call(order, ends, 0, 0)[1]
    local prefix, it_is, left, opens, record = describe(member, now)
    told = { prefix, it_is, left, opens, state.number, record }
  end
  for _, field in ipairs(told) do
    answer[#answer + 1] = field
  end
  return answer
end

-- Gives a place in the queue up, to those behind it.
local function give_up(request, state)
  if leave(request.token) then
    hand_over(state, now)
  end
end

-- Puts the token at the end of the queue.
local function stand(request, state)
  local last = redis.call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')[2] or 0
  redis.call('ZADD', queue, math.max(last + 1, micros()), request.token)
  local reentrant = request.reentrant and '1' or '0'
  local waits = { request.inbox, request.window, request.capacity, reentrant, request.record }
  redis.call('HSET', waiters, request.token, table.concat(waits, ' '))
  if state.holder and state.holder.mark == '-' and not state.holder.closed then
    -- From now on its release has to look at the queue.
    redis.call('SETRANGE', main, 32, '+')
  end
end

-- Keeps the place for as long as the waiter's patience from now.
local function refresh(request)
  redis.call('ZADD', places, now + request.patience, request.token)
  local latest = redis.call('ZREVRANGE', places, 0, 0, 'WITHSCORES')[2]
  for _, key in ipairs({ queue, waiters, places }) do
    redis.call('PEXPIREAT', key, latest)
  end
end

local function wait(request, state, waiting)
  local ahead = redis.call('ZRANK', queue, request.token)
  if ahead then
    -- First a write that takes no memory: see extend.
    redis.call('PEXPIRE', queue, request.patience)
  elseif waiting >= request.most then
    return { 'full', waiting }
  else
    ahead = waiting
    stand(request, state)
  end
  refresh(request)
  return kept_out({ 'queued', ahead }, request, state)
end

-- Makes a request that fits a holder, with this fence.
local function take(request, state, fence)
  local after = enter(request, state, fence, now)
  if not after.holder then
    expire_all()
  end
  return granted(after, fence, request.owner)
end

local function attempt(request)
  local token = request.token
  local state = settled(redis.call('GET', main), now)
  if not state then
    return corrupt()
  end
  if state.holder and state.holder.opens < 0 then
    return corrupt('a lock without an end')
  end
  local waiting = 0
  if anybody_waits(now) then
    state = hand_over(state, now, token)
    waiting = redis.call('ZCARD', queue)
  end
  if holds(state, token) then
    return granted(state, extend(state, token, request.ttl, now))
  end
  if came_late(state, token) then
    return kept_out({ 'refused' }, request, state, true)
  end
  local verdict, held_mode, held_permits, held_capacity = judge(request, state)
  if verdict == 'deadlock' or verdict == 'mismatch' then
    give_up(request, state)
    return { verdict, held_mode, held_permits, held_capacity }
  end
  if verdict == 'passes' or verdict == 'fits' and waiting == 0 then
    local fence = fence_for(state)
    if not fence then
      return no_fence()
    end
    if waiting > 0 then
      leave(token)
    end
    return take(request, state, fence)
  end
  if not state.kind then
    -- Only for want of a fence the head was not handed over what is free.
    return no_fence()
  end
  if request.inbox then
    return wait(request, state, waiting)
  end
  local refusal = kept_out({ 'refused' }, request, state)
  give_up(request, state)
  return refusal
end
