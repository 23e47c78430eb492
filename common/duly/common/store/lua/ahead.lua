-- What will be due by an instant that has not come yet, for the duty holder to prepare for; at most so many schedules, each
-- with when it will be due.
-- include: due
-- ARGV: by_ms most
-- Replies: ahead
-- Writes: nothing

local schedules = {}
local found = redis.call('ZRANGE', DUE, '-inf', by_ms, 'BYSCORE', 'LIMIT', 0, most, 'WITHSCORES')
for at = 1, #found, 2 do
  schedules[#schedules + 1] = { found[at + 1], seen_of(found[at]) }
end
return { 'ahead', cjson.encode(schedules) }
