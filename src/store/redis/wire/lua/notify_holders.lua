-- notify_holders: tells holders of a resource that somebody wants it back, or that it is taken from them.
--
-- KEYS     [1] main key, [2] as in fence.lua
-- ARGV     [2] as in notices.lua · [3] the word of the message, or nothing to tell nobody · [4] what comes behind the tokens, or
--          nothing · [5] on: the tokens to tell if they hold; without any, all that hold
-- answers  notified complete token… · corrupt reason
--
-- complete is 1 if these are all that hold of those that were meant, else 0.

-- include time.lua
-- include holders.lua
-- include notices.lua

on(KEYS[1])
local now = millis(micros())

local state = settled(now)
if not state then
  return { ARGV[1], corrupt() }
end
local tokens, complete
if ARGV[5] then
  tokens, complete = {}, 1
  for i = 5, #ARGV do
    local held = holds(state, ARGV[i])
    -- Of several holders, one may be over and not cleared away yet.
    if held and (state.holder or tonumber(held) > now) then
      tokens[#tokens + 1] = ARGV[i]
    end
  end
else
  tokens, complete = holding(state, now)
end
if tokens[1] and ARGV[3] ~= '' then
  -- Without the right to publish nobody is told, which the caller has to know.
  redis.call('PUBLISH', ARGV[2], message(ARGV[3], tokens) .. ARGV[4])
end
local answer = { 'notified', complete }
for _, token in ipairs(tokens) do
  answer[#answer + 1] = token
end
return { ARGV[1], answer }
