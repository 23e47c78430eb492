-- The duty holder looks at one open occurrence whose instant has come: an expired lease is lost, a retry whose
-- wait is over becomes PENDING, and a PENDING occurrence whose job is in no queue is delivered again.
-- include: outcome
-- include: delivery
-- ARGV: duty_token schedule_id tick_ms attempt queue shared_fields...
-- Replies: lost_duty | gone | leased | waiting | queued | delivered | held | not_due | changed

if redis.call('GET', DUTY) ~= duty_token then
  return { 'lost_duty' }
end
local o = load(schedule_id, tick_ms)
if not o or TERMINAL[o.state] or o.state == 'HELD' then
  redis.call('ZREM', WATCH, member(schedule_id, tick_ms))
  return { 'gone' }
end
if o.state == 'LEASED' or o.state == 'RUNNING' then
  local left = redis.call('PTTL', LEASE .. o.member)
  if left > 0 then
    watch(o, NOW + left)
    return { 'leased' }
  end
  lose(o, 'lease_expired')
end
if o.state == 'HELD' then
  return { 'held' }
end
if o.state == 'RETRY_WAIT' then
  if tonumber(o.not_before_ms) > NOW then
    watch(o, tonumber(o.not_before_ms))
    return { 'not_due' }
  end
  move(o, 'PENDING', { 'job_id', '' }, 'retry_due')
end
if redis.call('HGET', SCHEDULE .. o.id, 'incarnation') ~= o.incarnation then
  cancel(o, 'schedule_deleted')
  return { 'gone' }
end
if tonumber(attempt) ~= tonumber(o.attempt) + 1 then
  watch(o, NOW)
  return { 'changed' }
end
if is_too_late(o) and awaits_approval(o) then
  cancel(o, 'too_late')
  return { o.state == 'HELD' and 'held' or 'gone' }
end
local looks, job_id = tonumber(o.looks or '') or 0, job_id_of(o.id, o.tick, attempt)
local reason = blocked(o)
if reason then
  watch(o, reason == 'approval' and approval_look_ms(o) or next_look_ms(0))
  return { 'waiting' }
end
redis.call('HSET', OCCURRENCE .. o.member, 'looks', int(looks + 1))
watch(o, next_look_ms(looks))
if in_queue(job_id, queue) then
  return { 'queued' }
end
redis.call('DEL', RQ_JOB .. job_id)
push_job(o.id, o.tick, attempt, queue, shared_fields)
redis.call('HSET', OCCURRENCE .. o.member, 'job_id', job_id)
history(o, 'delivered', looks > 0 and 'again' or 'due')
return { 'delivered' }
