-- A worker claims one occurrence: PENDING -> LEASED, with a fresh lease and fencing token, the attempt counted.
-- A claim that finds a newer tick due, a tick too late, a deleted schedule or a spent budget ends the
-- occurrence instead. Asked again with the same token, it gives the same answer.
-- include: record
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
  return { 'acquired', int(NOW), definition, redis.call('HGETALL', OCCURRENCE .. o.member) }
end

-- A later tick of the schedule is due: enqueued already, or waiting for the sweep. While the sweep cannot enqueue
-- the later one, this one does not give way to it.
local function stale(o)
  local s = redis.call('HMGET', SCHEDULE .. o.id, 'last_tick_ms', 'next_run_ms', 'state', 'failures')
  local last, next_run = tonumber(s[1] or ''), tonumber(s[2] or '')
  local tick = tonumber(o.tick)
  return (last and last > tick) or (s[3] == 'active' and not s[4] and next_run and next_run > tick and next_run <= NOW)
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
if o.attempt == '0' and o.kind == 'scheduled' then
  if o.max_lateness_ms ~= '' and NOW - tonumber(o.tick) > tonumber(o.max_lateness_ms) then
    finish(o, 'CANCELLED', 'too_late', {})
    return { 'cancelled', 'too_late' }
  end
  if o.coalesces == '1' and stale(o) then
    finish(o, 'COALESCED', 'newer_tick_due', {})
    return { 'coalesced', newest_pending(o.id) }
  end
end
if blocked(o) then
  watch(o, next_look_ms(0))
  return { 'waiting', blocked(o) }
end
if not budget_left(o) then
  hold(o, 'retry_budget_exhausted', {})
  return { 'held' }
end
if not redis.call('SET', LEASE .. o.member, token, 'NX', 'PX', o.lease_ttl_ms) then
  history(o, 'refused', 'owned')
  return { 'owned' }
end
local expires = NOW + tonumber(o.lease_ttl_ms)
move(o, 'LEASED', {
  'attempt', int(tonumber(o.attempt) + 1), 'lease_id', token, 'lease_owner', owner,
  'lease_expires_ms', int(expires), 'fencing_token', int(redis.call('INCR', FENCE)), 'looks', '0',
}, 'acquired')
watch(o, expires)
return grant(o)
