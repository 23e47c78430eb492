-- One extra run, outside the timetable: the next run is unchanged. The same idempotency key is the same run, if it
-- comes with the same request.
-- include: changes
-- include: create
-- include: delivery
-- ARGV: schedule_id revision manual_key request tick_ms queue_limit shared_fields...
-- Replies: accepted | replayed | conflict | missing | changed | paused | quarantined | unusable | backpressure | again

local known = redis.call('GET', manual_key)
if known then
  local tick, same = string.match(known, '^(%d+) ?(.*)$')
  return { same == request and 'replayed' or 'conflict', tick }
end
local s = redis.call('HMGET', SCHEDULE .. schedule_id, 'revision', 'state', 'terms', 'definition_revision', 'incarnation')
if not s[1] then
  return { 'missing' }
end
if s[1] ~= revision then
  return { 'changed' }
end
if s[2] == 'paused' then
  return { 'paused' }
end
if redis.call('EXISTS', HELD .. schedule_id) == 1 then
  return { 'quarantined' }
end
local terms, digest = terms_of(s[3])
if not terms.fields then
  return { 'unusable' }
end
if length_of(terms.queue) >= tonumber(queue_limit) then
  return { 'backpressure' }
end
if redis.call('EXISTS', OCCURRENCE .. member(schedule_id, tick_ms)) == 1 then
  return { 'again' }
end
local o = create(schedule_id, tick_ms, 'manual', terms, digest, s[4], s[5], job_id_of(schedule_id, tick_ms, 1), '0')
redis.call('HSET', OCCURRENCE .. o.member, 'manual_key', manual_key)
watch(o, next_look_ms(0))
redis.call('SET', manual_key, tick_ms .. ' ' .. request)
changed(schedule_id, 'run', cjson.encode({ tick_ms = tick_ms }))
redis.call('HSET', SCHEDULE .. schedule_id, 'used_revision', s[4])
if not blocked(o) then
  push_job(schedule_id, tick_ms, 1, terms.queue, shared_fields)
end
return { 'accepted', tick_ms }
