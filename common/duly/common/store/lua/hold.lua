-- The holder of the lease found that it must not begin: LEASED -> HELD under a proven lease.
-- include: record
-- ARGV: schedule_id tick_ms token reason
-- Replies: held | lost

local o = load(schedule_id, tick_ms)
if o and o.state == 'HELD' and o.lease_id == token then
  return { 'held' }
end
if not owns(o, token) or o.state ~= 'LEASED' then
  return { 'lost' }
end
redis.call('DEL', LEASE .. o.member)
hold(o, reason, {})
return { 'held' }
