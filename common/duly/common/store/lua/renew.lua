-- The holder extends its lease. Whoever cannot prove it holds the lease is told that it is lost.
-- include: record
-- ARGV: schedule_id tick_ms token ttl_ms
-- Replies: renewed | lost

local o = load(schedule_id, tick_ms)
if not owns(o, token) or not (o.state == 'LEASED' or o.state == 'RUNNING') then
  return { 'lost' }
end
local expires = int(NOW + tonumber(ttl_ms))
redis.call('PEXPIRE', LEASE .. o.member, ttl_ms)
redis.call('HSET', OCCURRENCE .. o.member, 'lease_expires_ms', expires)
redis.call('ZADD', WATCH, expires, o.member)
return { 'renewed' }
