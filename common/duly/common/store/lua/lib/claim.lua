-- A worker claims one occurrence: PENDING -> LEASED, with a fresh lease and fencing token, the attempt counted, and the
-- evidence on which it decides whether to begin. A claim that finds a newer tick due, a tick too late or a deleted
-- schedule ends the occurrence instead. Beyond the budget the lease is granted and no attempt counted: what follows
-- from that is decided from the evidence. Asked again with the same token, it gives the same answer.
-- include: outcome
-- include: delivery

local function newest_pending(id)
  return redis.call('ZREVRANGE', PENDING .. id, 0, 0)[1] or ''
end

-- The definition it was enqueued with; `revision` and `definition` are the schedule's present ones. One that was
-- forgotten when the occurrence seemed to be over is as good as the present one, if that calls the same work.
local function definition_of(o, s, revision, definition)
  if revision == o.revision and s.incarnation == o.incarnation then
    return definition
  end
  local kept = redis.call('HGET', SUPERSEDED .. o.id, o.incarnation .. '.' .. o.revision)
  if kept then
    return kept
  end
  local digest = string.match(redis.call('HGET', SCHEDULE .. o.id, 'terms') or '', '^%x+')
  return digest and o.idempotency_key == o.member .. ':' .. digest and definition or nil
end

local function grant(o, s, definition)
  return {
    'acquired', NOW_MS, definition or '', cjson.encode(snapshot(o, s)), o.fencing_token, o.attempt, o.lease_ttl_ms,
    o.lease_expires_ms,
  }
end

-- `o`: the occurrence, as `load` gives it. `tasks`: names between spaces, of the tasks that the worker can run; nil when
-- it has looked itself.
local function claim(o, token, owner, attempt, tasks)
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
  local s, revision, present = schedule_of(o, 'definition_revision', 'definition')
  local definition = definition_of(o, s, revision, present)
  if o.state ~= 'PENDING' then
    if o.state == 'LEASED' and owns(o, token) then
      return grant(o, s, definition)
    end
    history(o, 'refused', 'owned')
    return { 'owned' }
  end
  if tonumber(attempt) ~= tonumber(o.attempt) + 1 then
    return { 'superseded' }
  end
  if s.incarnation ~= o.incarnation then
    cancel(o, 'schedule_deleted')
    return { o.state == 'HELD' and 'held' or 'cancelled', 'schedule_deleted' }
  end
  if is_too_late(o) then
    cancel(o, 'too_late')
    return { o.state == 'HELD' and 'held' or 'cancelled', 'too_late' }
  end
  if may_give_way(o) then
    if later_tick(o, s) then
      coalesce(o, snapshot(o, s))
      return { o.state == 'HELD' and 'held' or 'coalesced', newest_pending(o.id) }
    end
  end
  local reason = blocked(o)
  if reason then
    watch(o, reason == 'approval' and approval_look_ms(o) or next_look_ms(0))
    return { 'waiting', reason }
  end
  if not definition then
    hold(o, 'HOLD_SCHEDULE_IDENTITY_INCOMPLETE', { 'model', '', 'cause', 'definition_forgotten' })
    return { 'held' }
  end
  local ttl_ms = tonumber(o.lease_ttl_ms or '')
  if not ttl_ms then
    hold(o, 'HOLD_LEASE_MISSING', {})
    return { 'held' }
  end
  if not take_lease(o, token, ttl_ms) then
    hold(o, 'HOLD_CONCURRENT_LEASE_CLAIM', {}) -- a lease that the record knows nothing of
    return { 'held' }
  end
  local counted = budget_left(o)
  move(o, 'LEASED', {
    'attempt', counted and int(tonumber(o.attempt) + 1) or o.attempt, 'counted', counted and '1' or '0',
    'lease_id', token, 'lease_owner', owner, 'lease_expires_ms', int(NOW + ttl_ms),
    'fencing_token', int(redis.call('INCR', FENCE)), 'looks', '0', 'late_results', int(late_results(o)),
  }, 'acquired')
  watch(o, NOW + ttl_ms)
  return grant(o, s, definition)
end
