-- A person stops a schedule: active or paused -> paused, with a note and perhaps an end. While paused no tick is due.
-- include: changes
-- include: schedule
-- ARGV: schedule_id revision next_run_ms carry note until_ms
-- Replies: paused | missing | changed | again

local wrong = mismatch(schedule_id, revision, next_run_ms, carry)
if wrong then
  return wrong
end
redis.call('HSET', SCHEDULE .. schedule_id, 'state', 'paused', 'note', note, 'paused_until_ms', until_ms)
set_due(schedule_id, until_ms)
redis.call('ZREM', FAILING, schedule_id)
local now_at = touch(schedule_id)
changed(schedule_id, 'paused', cjson.encode({ note = note, until_ms = until_ms }))
return { 'paused', now_at }
