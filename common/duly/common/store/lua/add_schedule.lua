-- A new schedule, active or paused: its record, its place in the list and its first tick, which must still lie
-- ahead. Its instant in the due set is the tick's release, or the end of the pause.
-- include: changes
-- include: record
-- ARGV: schedule_id definition terms next_run_ms due_ms state note paused_until_ms
-- Replies: created | exists | again

if redis.call('EXISTS', SCHEDULE .. schedule_id) == 1 then
  return { 'exists' }
end
if next_run_ms ~= '' and tonumber(next_run_ms) <= NOW then
  return { 'again' }
end
redis.call('HSET', SCHEDULE .. schedule_id, 'definition', definition, 'terms', terms, 'revision', '1', 'definition_revision', '1',
  'incarnation', int(redis.call('INCR', FENCE)), 'state', state, 'note', note,
  'paused_until_ms', paused_until_ms, 'next_run_ms', next_run_ms, 'carry',
  '', 'created_ms', NOW_MS, 'updated_ms', NOW_MS,
  'timing_revision', '1', 'timing_ms', NOW_MS)
redis.call('ZADD', SCHEDULES, 0, schedule_id)
if due_ms ~= '' then
  redis.call('ZADD', DUE, due_ms, schedule_id)
  wake()
end
changed(schedule_id, 'created')
return { 'created' }
