-- A worker claims one occurrence: PENDING -> LEASED, with a fresh lease and fencing token, the attempt counted, and the
-- evidence on which it decides whether to begin. A claim that finds a newer tick due, a tick too late or a deleted
-- schedule ends the occurrence instead. Beyond the budget the lease is granted and no attempt counted: what follows
-- from that is decided from the evidence. Asked again with the same token, it gives the same answer.
-- include: outcome
-- include: delivery
-- ARGV: schedule_id tick_ms token owner attempt
-- Replies: acquired | owned | waiting | not_due | superseded | held | coalesced | cancelled | finished | missing

local function newest_pending(id)
  return redis.call('ZREVRANGE', PENDING .. id, 0, 0)[1] or ''
end

local function grant(o)
  local s = redis.call('HMGET', SCHEDULE .. o.id, 'incarnation', 'definition_revision', 'definition')
  local definition = s[3]
  if s[1] ~= o.incarnation or s[2] ~= o.revision then
    definition = redis.call('HGET', SUPERSEDED .. o.id, o.incarnation .. '.' .. o.revision)
  end
  return {
    'acquired', int(NOW), definition, cjson.encode(snapshot(o)), redis.call('HGETALL', OCCURRENCE .. o.member),
  }
end

local o = load(schedule_id, tick_ms)
if not o then
  return { 'missing' }
end
if o.state == 'COALESCED' then
  return { 'coalesced', newest_pending(o.id) }
end
if TERMINAL[o.state] then
  return { 'finished', o.state }
end
if o.state == 'HELD' then
  return { 'held' }
end
if o.state == 'RETRY_WAIT' then
  return { 'not_due' }
end
if o.state ~= 'PENDING' then
  if o.state == 'LEASED' and owns(o, token) then
    return grant(o)
  end
  history(o, 'refused', 'owned')
  return { 'owned' }
end
if tonumber(attempt) ~= tonumber(o.attempt) + 1 then
  return { 'superseded' }
end
if redis.call('HGET', SCHEDULE .. o.id, 'incarnation') ~= o.incarnation then
  cancel(o, 'schedule_deleted')
  return { o.state == 'HELD' and 'held' or 'cancelled', 'schedule_deleted' }
end
if is_too_late(o) then
  finish(o, 'CANCELLED', 'too_late', {})
  return { 'cancelled', 'too_late' }
end
if o.attempt == '0' and o.kind == 'scheduled' and o.coalesces == '1' then
  local evidence = snapshot(o)
  if evidence.later_tick_ms then
    coalesce(o, evidence)
    return { o.state == 'HELD' and 'held' or 'coalesced', newest_pending(o.id) }
  end
end
local reason = blocked(o)
if reason then
  watch(o, reason == 'approval' and approval_look_ms(o) or next_look_ms(0))
  return { 'waiting', reason }
end
local ttl_ms = tonumber(o.lease_ttl_ms or '')
if not ttl_ms then
  hold(o, 'HOLD_LEASE_MISSING', {})
  return { 'held' }
end
if not redis.call('SET', LEASE .. o.member, token, 'NX', 'PX', ttl_ms) then
  hold(o, 'HOLD_CONCURRENT_LEASE_CLAIM', {}) -- a lease that the record knows nothing of
  return { 'held' }
end
local counted = budget_left(o)
move(o, 'LEASED', {
  'attempt', counted and int(tonumber(o.attempt) + 1) or o.attempt, 'counted', counted and '1' or '0',
  'lease_id', token, 'lease_owner', owner, 'lease_expires_ms', int(NOW + ttl_ms),
  'fencing_token', int(redis.call('INCR', FENCE)), 'looks', '0',
}, 'acquired')
watch(o, NOW + ttl_ms)
return grant(o)
