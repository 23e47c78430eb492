-- The schedule goes; its audit trail, its run history and its holds stay. Occurrences that have not begun are
-- cancelled, here for the first hundred and at their next delivery for the rest.
-- include: changes
-- include: outcome
-- include: audit
-- include: schedule
-- ARGV: schedule_id revision next_run_ms carry dropped_count dropped_first dropped_last
-- Replies: deleted | missing | changed | again

local wrong = mismatch(schedule_id, revision, next_run_ms, carry)
if wrong then
  return wrong
end
audit_backlog(schedule_id, redis.call('HGET', SCHEDULE .. schedule_id, 'backlog'))
audit_dropped(schedule_id, dropped_count, dropped_first, dropped_last)
changed(schedule_id, 'deleted')
redis.call('DEL', SCHEDULE .. schedule_id)
redis.call('ZREM', SCHEDULES, schedule_id)
redis.call('ZREM', DUE, schedule_id)
redis.call('ZREM', FAILING, schedule_id)
for _, tick in ipairs(redis.call('ZRANGE', PENDING .. schedule_id, 0, 99)) do
  local o = load(schedule_id, tick)
  if o then
    cancel(o, 'schedule_deleted')
  end
end
for _, tick in ipairs(redis.call('ZRANGE', ACTIVE .. schedule_id, 0, 99)) do
  local o = load(schedule_id, tick)
  if o and o.state == 'RETRY_WAIT' then
    cancel(o, 'schedule_deleted')
  end
end
rouse(schedule_id, 100)
return { 'deleted' }
