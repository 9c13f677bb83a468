-- How a batch of requests is answered, at the end of the script that says `include batch.lua`: those that the fast path
-- has put off are served in their order, by `serve`, which is given where the arguments of one begin. `size` is how many
-- there are.
--
-- What goes wrong with one of them is its own answer, and no harm to the others: error reason
for _, i in ipairs(put_off) do
  on(KEYS[i])
  local served, answer = pcall(serve, 2 + size * (i - 1))
  if not served then
    answer = { 'error', type(answer) == 'table' and answer.err or answer }
  end
  answers[i + 1] = answer
end
return answers
