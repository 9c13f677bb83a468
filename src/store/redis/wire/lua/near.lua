-- The largest fence that is not too far from the time: one that is ahead of the time goes back if the counter is lost, or ends.
-- Every script that is told a smallest fence has this text where it says `include near.lua`.
local function near(fence, time)
  return math.min(fence, time + (ARGV[#ARGV] == '0' and 1000000 or math.min(1000000, 500 * ARGV[#ARGV])))
end
