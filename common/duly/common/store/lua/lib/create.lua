-- A new occurrence in PENDING, on the terms of the definition it is enqueued with.
-- include: record
-- include: terms

-- `own`: revision and incarnation of its schedule, its job, its jitter, and the key of a manual run.
local function create(id, tick, kind, terms, digest, own)
  local named = member(id, tick)
  local o = setmetatable({
    id = id, tick = tick, member = named, state = 'PENDING', kind = kind, attempt = '0', prior_outcome = 'NONE',
    revision = own.revision, incarnation = own.incarnation, job_id = own.job_id, idempotency_key = named .. ':' .. digest,
    applied_jitter_ms = own.jitter_ms or '0',
  }, terms.as_defaults)
  redis.call('HSET', OCCURRENCE .. named, 'state', 'PENDING', 'kind', kind, 'attempt', '0', 'prior_outcome', 'NONE',
    'enqueued_ms', NOW_MS, 'revision', o.revision, 'incarnation', o.incarnation, 'job_id', o.job_id, 'idempotency_key',
    o.idempotency_key, 'applied_jitter_ms', o.applied_jitter_ms, unpack(terms.fields))
  if own.manual_key then
    redis.call('HSET', OCCURRENCE .. named, 'manual_key', own.manual_key)
  end
  redis.call('ZADD', PENDING .. id, tick, tick)
  history(o, 'enqueued', kind)
  if kind == 'scheduled' then
    tally_lateness(math.max(NOW - tonumber(tick) - tonumber(o.applied_jitter_ms), 0))
  end
  if o.approval == 'required' then
    redis.call('ZADD', APPROVALS, NOW_MS, named)
  end
  return o
end
