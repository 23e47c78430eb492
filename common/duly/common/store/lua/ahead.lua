-- What will be due at an instant that has not come yet, for the duty holder to prepare for; at most so many schedules.
-- include: due
-- ARGV: instant_ms most
-- Replies: ahead
-- Writes: nothing

local schedules = {}
for _, id in ipairs(redis.call('ZRANGE', DUE, '-inf', instant_ms, 'BYSCORE', 'LIMIT', 0, most)) do
  schedules[#schedules + 1] = seen_of(id)
end
return { 'ahead', cjson.encode(schedules) }
