-- The holder records success: RUNNING -> SUCCEEDED. Without a proven lease the result is late: kept as
-- evidence, never as success. Asked again with the same token: the same answer.
-- include: record
-- ARGV: schedule_id tick_ms token fencing_token result_ref
-- Replies: recorded | late | missing

local o = load(schedule_id, tick_ms)
if not o then
  return { 'missing' }
end
if o.state == 'SUCCEEDED' and o.lease_id == token then
  return { 'recorded' }
end
if o.state == 'RUNNING' and owns(o, token) then
  redis.call('DEL', LEASE .. o.member)
  finish(o, 'SUCCEEDED', '', { 'result_ref', result_ref })
  return { 'recorded' }
end
if redis.call('HSETNX', OCCURRENCE .. o.member, 'late_result:' .. fencing_token, result_ref) == 1 then
  history(o, 'late_result', 'fencing_token ' .. fencing_token)
end
return { 'late' }
