-- acquire_all: gives each resource to a token, or none of them. No request waits in the queue.
--
-- KEYS     the main key of each request; the last as in fence.lua
-- ARGV     [2] on: for each request as in attempt.lua; the last as in fence.lua
-- answers  0, and for each request as in attempt.lua
--          the number of the one that is not granted, and for it as in attempt.lua, or error reason; an error without a
--          code says that others may still hold
local size, answers, held_before = 4, { ARGV[1], 0 }, {}

-- include time.lua
-- include fence.lua
-- include holders.lua
-- include admission.lua
-- include queue.lua
-- include attempt.lua
-- include releasing.lua

local function request_number(i)
  on(KEYS[i])
  local request = request_at(2 + size * (i - 1))
  request.inbox = nil
  return request
end

local function serve(i)
  local request = request_number(i)
  local state = settled(now, request.token)
  held_before[i] = state and holds(state, request.token)
  return attempt(request)
end

local function undo_grant(i)
  local request = request_number(i)
  local state = settled(now, request.token)
  local waiting = anybody_waits(now)
  local _, after = release(state, request.token, request.owner, open)
  if waiting then
    hand_over(after, now)
  end
end

for i = 1, #KEYS - 1 do
  local served, answer = pcall(serve, i)
  if not served then
    answer = { 'error', type(answer) == 'table' and answer.err or answer }
  end
  if answer[1] ~= 'granted' then
    for before = i - 1, 1, -1 do
      if not held_before[before] and not pcall(undo_grant, before) then
        -- Not in the words of the server: it is no longer certain that nothing was granted.
        answer = { 'error', 'what was granted could not be taken back' }
      end
    end
    return { ARGV[1], i, answer }
  end
  answers[i + 2] = answer
end
return answers
