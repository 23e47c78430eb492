-- A worker claims one occurrence: PENDING -> LEASED, with a fresh lease and fencing token, the attempt counted, and the
-- evidence on which it decides whether to begin. A claim that finds a newer tick due, a tick too late or a deleted
-- schedule ends the occurrence instead. Beyond the budget the lease is granted and no attempt counted: what follows
-- from that is decided from the evidence. Asked again with the same token, it gives the same answer.
-- include: outcome
-- include: delivery

local function newest_pending(id)
  return redis.call('ZREVRANGE', PENDING .. id, 0, 0)[1] or ''
end

-- The definition it was enqueued with. One that was forgotten when the occurrence seemed to be over is as good as the
-- schedule's present one, if that calls the same work.
local function definition_of(o)
  local s = redis.call('HMGET', SCHEDULE .. o.id, 'definition_revision', 'definition', 'terms', 'incarnation')
  if s[1] == o.revision and s[4] == o.incarnation then
    return s[2]
  end
  local kept = redis.call('HGET', SUPERSEDED .. o.id, o.incarnation .. '.' .. o.revision)
  if kept then
    return kept
  end
  local same_work = s[3] and o.idempotency_key == o.member .. ':' .. cjson.decode(s[3]).digest
  return same_work and s[2] or nil
end

-- The record is told as it stands in `o`, which every change keeps up with the hash.
local function grant(o)
  return { 'acquired', int(NOW), definition_of(o) or '', cjson.encode(snapshot(o)), cjson.encode(o) }
end

-- `tasks`: names between spaces, of the tasks that the worker can run; nil when it has looked itself.
local function claim(schedule_id, tick_ms, token, owner, attempt, tasks)
  local o = load(schedule_id, tick_ms)
  if not o then
    return { 'missing' }
  end
  if tasks and not string.find(tasks, ' ' .. (o.task or '') .. ' ', 1, true) then
    history(o, 'refused', 'task_not_registered')
    return { 'task_not_registered' }
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
    cancel(o, 'too_late')
    return { o.state == 'HELD' and 'held' or 'cancelled', 'too_late' }
  end
  if may_give_way(o) then
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
  if not definition_of(o) then
    hold(o, 'HOLD_SCHEDULE_IDENTITY_INCOMPLETE', { 'model', '', 'cause', 'definition_forgotten' })
    return { 'held' }
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
end
