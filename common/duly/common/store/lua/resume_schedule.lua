-- A pause ends: paused -> active, at the next tick or at the latest missed one. The ticks passed over are one audit record.
-- include: changes
-- include: audit
-- include: schedule
-- ARGV: schedule_id revision next_run_ms carry new_next_ms new_due_ms may_be_due dropped_count dropped_first dropped_last
-- Replies: resumed | not_paused | missing | changed | again

local wrong = mismatch(schedule_id, revision, next_run_ms, carry)
if wrong then
  return wrong
end
if redis.call('HGET', SCHEDULE .. schedule_id, 'state') ~= 'paused' then
  return { 'not_paused' }
end
if may_be_due == '0' and new_next_ms ~= '' and tonumber(new_next_ms) <= NOW then
  return { 'again' }
end
audit_dropped(schedule_id, dropped_count, dropped_first, dropped_last)
redis.call('HSET', SCHEDULE .. schedule_id, 'state', 'active', 'note', '', 'paused_until_ms', '', 'next_run_ms',
  new_next_ms)
set_due(schedule_id, new_due_ms)
local now_at = touch(schedule_id)
changed(schedule_id, 'resumed', cjson.encode({ passed_over = dropped_count, next_run_ms = new_next_ms }))
return { 'resumed', now_at }
