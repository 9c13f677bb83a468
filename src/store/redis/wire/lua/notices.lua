-- Notices to holders. The scripts that send them have this text where it says `include notices.lua`, below holders.lua.
--
-- ARGV[2]  the channel of all inboxes
-- message  <word> <tokens, with a comma between>, and behind it what the word needs

-- Returns the tokens that hold in this state, at most so many (NOTIFIED_AT_MOST in the contract), and 1 if these are all,
-- else 0.
local function holding(state, now)
  local most, tokens = 1000, {}
  if state.holder then
    tokens[1] = state.holder.holds and state.holder.token or nil
    return tokens, 1
  end
  if not state.kind then
    return tokens, 1
  end
  -- A holder with a lock delay is listed there twice.
  local after = '(' .. string.format('%.0f', now)
  local members = redis.call('ZRANGEBYSCORE', ends, after, '+inf', 'LIMIT', 0, 2 * most + 1)
  for _, member in ipairs(members) do
    if #member == 32 and #tokens < most then
      tokens[#tokens + 1] = member
    elseif #member == 32 then
      return tokens, 0
    end
  end
  return tokens, #members > 2 * most and 0 or 1
end

local function message(word, tokens)
  return word .. ' ' .. table.concat(tokens, ',')
end
