-- What has happened since the store was new: `totals`, a hash of counts that only grow, by names of a bounded kind.

local together

-- A script that counts for hundreds of ticks writes each count once, at its end: `write_tallies`.
local function tally_together()
  together = {}
end

local function tally(name, by)
  if together then
    together[name] = (together[name] or 0) + by
  else
    redis.call('HINCRBY', TOTALS, name, by)
  end
end

local function write_tallies()
  for name, by in pairs(together) do
    redis.call('HINCRBY', TOTALS, name, by)
  end
end

-- Lateness is counted by the least power of two, in milliseconds, that it does not exceed; what is later than the
-- largest has no bound.
local LATEST_MS = 4194304

local function tally_lateness(late_ms)
  local bound = 1
  while bound < late_ms and bound < LATEST_MS do
    bound = bound * 2
  end
  tally('late:' .. (late_ms > LATEST_MS and 'over' or string.format('%.0f', bound)), 1)
  tally('late_ms', string.format('%.0f', late_ms))
end
