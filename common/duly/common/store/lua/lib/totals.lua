-- What has happened since the store was new: `totals`, a hash of counts that only grow, by names of a bounded kind.

local together

local function text_of(number)
  return string.format('%.0f', number)
end

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
    redis.call('HINCRBY', TOTALS, name, text_of(by))
  end
end

-- Lateness is counted by the least power of two, in milliseconds, that it does not exceed; what is later than the
-- largest has no bound.
local LATEST_MS = 4194304

local function tally_lateness(late_ms)
  local part, exponent = math.frexp(late_ms) -- part * 2 ^ exponent, with the part at least a half, and less than one
  local bound = math.max(part == 0.5 and exponent - 1 or exponent, 0)
  tally(late_ms > LATEST_MS and 'late:over' or 'late:' .. text_of(2 ^ bound), 1)
  tally('late_ms', together and late_ms or text_of(late_ms))
end
