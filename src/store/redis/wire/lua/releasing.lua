-- The release of a hold or a queue ticket. Every script that releases has this text where it says
-- `include releasing.lua`, below queue.lua.
--
-- answers  1: freed · still_held holds-of-the-owner · not_held holds-of-the-owner

-- Ends a hold that opens at once. Returns the state after it.
local function open(state, token, record)
  if state.holder then
    redis.call('DEL', main)
    return {}
  end
  redis.call('ZREM', ends, token, '~' .. token)
  end_hold(record)
  remove_record(token, record)
  if redis.call('ZCARD', ends) == 0 then
    clear()
    return {}
  end
  expire_all()
  return state
end

-- Ends a hold with `end_it`, or gives up a queue ticket. Returns the result, and the state after it; what has become free is
-- not handed over yet.
local function release(state, token, owner, end_it)
  remove_waiter(token)
  if not holds(state, token) then
    return { 'not_held', holds_of(state, owner) }, state
  end
  local record = state.holder and state.holder.record or redis.call('HGET', records, token)
  -- The caller that has the token may not know its owner.
  local _, _, _, _, its_owner = fields(record)
  state = end_it(state, token, record)
  local left = holds_of(state, its_owner)
  return left > 0 and { 'still_held', left } or 1, state
end
