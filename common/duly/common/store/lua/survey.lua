-- The duty holder renews the duty and sees what is due: a page of schedules, a page of open occurrences, and
-- when it must look again. One round trip whether or not there is work.
-- include: record
-- ARGV: duty_token duty_ttl_ms page
-- Replies: surveyed | lost_duty

if redis.call('GET', DUTY) ~= duty_token then
  return { 'lost_duty' }
end
redis.call('PEXPIRE', DUTY, duty_ttl_ms)
redis.call('PEXPIRE', DUTY_HOLDER, duty_ttl_ms)

local function due_now(key)
  return redis.call('ZRANGE', key, '-inf', int(NOW), 'BYSCORE', 'LIMIT', 0, page)
end

local function next_instant(key)
  return redis.call('ZRANGE', key, '(' .. int(NOW), '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')[2] or ''
end

local schedules = {}
for _, id in ipairs(due_now(DUE)) do
  local seen = redis.call('HMGET', SCHEDULE .. id, 'revision', 'definition_revision', 'incarnation', 'state',
    'next_run_ms', 'paused_until_ms', 'carry')
  if seen[1] then
    schedules[#schedules + 1] = { id, unpack(seen, 1, 7) }
  else
    redis.call('ZREM', DUE, id)
  end
end
local occurrences = due_now(WATCH)
for at, name in ipairs(occurrences) do
  occurrences[at] = { name, unpack(redis.call('HMGET', OCCURRENCE .. name, 'attempt', 'queue'), 1, 2) }
end
local upcoming = { next_instant(DUE), next_instant(WATCH) }
return { 'surveyed', int(NOW), schedules, occurrences, upcoming }
