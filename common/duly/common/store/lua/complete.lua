-- The holder records success: RUNNING -> SUCCEEDED. Without a proven lease the result is late: kept as evidence, never
-- as success. Two results of two owners, in whichever order they come, are a hold with both of them kept: each
-- believed that it held the lease. Asked again with the same token: the same answer.
-- include: record
-- ARGV: schedule_id tick_ms token fencing_token result_ref
-- Replies: recorded | held | late | missing

local function has_late_result(o)
  for name in pairs(o) do
    if string.sub(name, 1, 12) == 'late_result:' then
      return true
    end
  end
  return false
end

local o = load(schedule_id, tick_ms)
if not o then
  return { 'missing' }
end
if o.lease_id == token and o.state == 'SUCCEEDED' then
  return { 'recorded' }
end
if o.lease_id == token and o.state == 'HELD' and o.hold_reason == 'double_ownership' then
  return { 'held' }
end
if o.state == 'RUNNING' and owns(o, token) then
  redis.call('DEL', LEASE .. o.member)
  if has_late_result(o) then
    hold(o, 'double_ownership', {
      'result_ref', result_ref, 'late_result:' .. fencing_token, result_ref, 'prior_outcome', 'UNKNOWN',
    })
    return { 'held' }
  end
  finish(o, 'SUCCEEDED', '', { 'result_ref', result_ref })
  return { 'recorded' }
end
if redis.call('HSETNX', OCCURRENCE .. o.member, 'late_result:' .. fencing_token, result_ref) == 1 then
  history(o, 'late_result', 'fencing_token ' .. fencing_token)
  if o.state == 'SUCCEEDED' then
    redis.call('PERSIST', OCCURRENCE .. o.member)
    hold(o, 'double_ownership', {
      'late_result:' .. o.fencing_token, o.result_ref or '', 'prior_outcome', 'UNKNOWN',
    })
  end
end
return { 'late' }
