-- Once nothing of a schedule is held, the latest tick that its quarantine skipped runs after all: it is carried to the
-- sweep with the definition it belongs to, and the schedule stays where it stands.
-- include: changes
-- include: schedule
-- ARGV: schedule_id revision next_run_ms carry new_carry tick_ms
-- Replies: released | missing | changed | again | paused | held

local wrong = mismatch(schedule_id, revision, next_run_ms, carry)
if wrong then
  return wrong
end
if redis.call('HGET', SCHEDULE .. schedule_id, 'state') ~= 'active' then
  return { 'paused' }
end
if redis.call('EXISTS', HELD .. schedule_id) == 1 then
  return { 'held' }
end
redis.call('HSET', SCHEDULE .. schedule_id, 'carry', new_carry)
set_due(schedule_id, '0')
changed(schedule_id, 'released', cjson.encode({ tick_ms = tick_ms }))
return { 'released' }
