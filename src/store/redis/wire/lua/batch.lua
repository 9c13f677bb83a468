-- The answers to a batch of requests, at the end of the script that says `include batch.lua`. The requests that the fast
-- path has put off are served in their order, by `serve`, which is given the index of the first argument of one. `size` is
-- the number of its arguments.
--
-- Each takes about as long as thirty-five steps, and to put one off has taken a third of a step. A request for which no step
-- is left is not served, and neither are all that follow it: later
--
-- A failure of one of them is its own answer, and no harm to the others: error reason
budget = budget - math.floor(#put_off / 3)
for _, i in ipairs(put_off) do
  local answer = 'later'
  if budget > 0 then
    on(KEYS[i])
    local served
    served, answer = pcall(serve, 2 + size * (i - 1))
    if not served then
      answer = { 'error', type(answer) == 'table' and answer.err or answer }
    end
    budget = budget - 35
  end
  answers[i + 1] = answer
end
return answers
