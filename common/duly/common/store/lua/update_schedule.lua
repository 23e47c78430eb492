-- An edit. Open occurrences keep the definition they were enqueued with. Ticks of the old definition that are
-- due and not yet swept are carried over with it, so that none is lost; ticks passed over by a pause are recorded.
-- include: record
-- include: changes
-- include: audit
-- include: schedule
-- ARGV: schedule_id revision next_run_ms carry definition terms timing_changed new_next_ms new_due_ms new_carry dropped_count dropped_first dropped_last detail
-- Replies: updated | missing | changed | again

local wrong = mismatch(schedule_id, revision, next_run_ms, carry)
if wrong then
  return wrong
end
if new_next_ms ~= next_run_ms and new_next_ms ~= '' and tonumber(new_next_ms) <= NOW then
  return { 'again' }
end
local key = SCHEDULE .. schedule_id
if redis.call('EXISTS', PENDING .. schedule_id, ACTIVE .. schedule_id, HELD .. schedule_id) > 0 then
  local old = redis.call('HMGET', key, 'incarnation', 'definition_revision', 'definition', 'used_revision')
  if old[2] == old[4] then
    redis.call('HSET', SUPERSEDED .. schedule_id, old[1] .. '.' .. old[2], old[3])
  end
end
audit_dropped(schedule_id, dropped_count, dropped_first, dropped_last)
local now_at = touch(schedule_id)
redis.call('HSET', key, 'definition', definition, 'terms', terms, 'definition_revision', now_at, 'next_run_ms',
  new_next_ms, 'carry', new_carry)
redis.call('HDEL', key, 'failures')
redis.call('ZREM', FAILING, schedule_id)
if timing_changed == '1' then
  redis.call('HSET', key, 'timing_revision', now_at, 'timing_ms', NOW_MS, 'finished', '')
end
set_due(schedule_id, new_due_ms)
changed(schedule_id, 'updated', detail)
return { 'updated', now_at }
