-- The holder extends its lease. Whoever cannot prove it holds the lease is told that it is lost; when by the store's own
-- last word to it the lease is not over, the record has forgotten it, and its claim is kept.
-- include: outcome
-- ARGV: schedule_id tick_ms token ttl_ms owner expires_ms
-- Replies: renewed | lost

local o = load(schedule_id, tick_ms)
if not o then
  return { 'lost' }
end
if not owns(o, token) or not (o.state == 'LEASED' or o.state == 'RUNNING') then
  if is_contested(o, token, expires_ms) then
    contest(o, token, owner, expires_ms, {})
  end
  return { 'lost' }
end
local expires = int(NOW + tonumber(ttl_ms))
redis.call('PEXPIRE', LEASE .. o.member, ttl_ms)
redis.call('HSET', OCCURRENCE .. o.member, 'lease_expires_ms', expires)
redis.call('ZADD', WATCH, expires, o.member)
return { 'renewed', expires }
