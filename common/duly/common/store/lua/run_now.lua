-- One extra run, outside the timetable: the next run is unchanged. The same idempotency key is the same run.
-- include: record
-- include: create
-- include: delivery
-- ARGV: schedule_id revision manual_key tick_ms job_id queue queue_limit n_fields fields...
-- Replies: accepted | replayed | missing | changed | paused | quarantined | backpressure | again

local known = redis.call('GET', manual_key)
if known then
  return { 'replayed', known }
end
local s = redis.call('HMGET', SCHEDULE .. schedule_id, 'revision', 'state')
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
if redis.call('LLEN', RQ_QUEUE .. queue) >= tonumber(queue_limit) then
  return { 'backpressure' }
end
if redis.call('EXISTS', OCCURRENCE .. member(schedule_id, tick_ms)) == 1 then
  return { 'again' }
end
local own, job_fields = {}, {}
for at = 1, #fields do
  local list = at <= tonumber(n_fields) and own or job_fields
  list[#list + 1] = fields[at]
end
local o = create(schedule_id, tick_ms, 'manual', own)
watch(o, next_look_ms(0))
redis.call('SET', manual_key, tick_ms)
if not blocked(o) then
  push_job(job_id, queue, job_fields)
end
return { 'accepted', tick_ms }
