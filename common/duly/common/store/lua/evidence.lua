-- The evidence about an occurrence as it stands now, for people to look at. Nothing is written.
-- include: evidence
-- ARGV: schedule_id tick_ms
-- Replies: evidence | missing
-- Writes: nothing

local o = load(schedule_id, tick_ms)
if not o then
  return { 'missing' }
end
return { 'evidence', cjson.encode(snapshot(o)) }
