-- A worker that cannot run the task leaves the occurrence where it is and says so; the sweep delivers it again.
-- include: record
-- ARGV: schedule_id tick_ms reason
-- Replies: refused | missing

local o = load(schedule_id, tick_ms)
if not o then
  return { 'missing' }
end
history(o, 'refused', reason)
return { 'refused' }
