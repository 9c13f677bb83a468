-- How a batch of requests is answered, at the end of the script that says `include batch.lua`: those that the fast path
-- has put off are served in their order, by `serve`, which is given where the arguments of one begin. `size` is how many
-- there are.
--
-- Each takes about as long as twenty-five steps; to put one off has taken a third of a step. Those for which no step is left,
-- and so all behind them, are not served: later
--
-- What goes wrong with one of them is its own answer, and no harm to the others: error reason
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
    budget = budget - 25
  end
  answers[i + 1] = answer
end
return answers
