-- The reviewer approves one run of a schedule that asks for it: the occurrence stays PENDING and may be delivered. The
-- same approval twice is one.
-- include: changes
-- ARGV: schedule_id tick_ms by
-- Replies: approved | same | not_waiting | not_reviewer | missing

local o = load(schedule_id, tick_ms)
if not o then
  return { 'missing' }
end
if o.approved_by == by then
  return { 'same', o.state }
end
if o.state ~= 'PENDING' or not awaits_approval(o) then
  return { 'not_waiting', o.state }
end
if o.review_owner ~= by then
  return { 'not_reviewer', o.review_owner or '' }
end
o.acting = by
redis.call('ZREM', APPROVALS, o.member)
redis.call('HSET', OCCURRENCE .. o.member, 'approved_by', by, 'approved_ms', NOW_MS)
redis.call('HINCRBY', OCCURRENCE .. o.member, 'version', 1)
history(o, 'approved', by)
changed(schedule_id, 'approved', cjson.encode({ tick_ms = tick_ms, by = by }))
watch(o, NOW)
wake()
return { 'approved', o.state }
