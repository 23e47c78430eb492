-- A new occurrence in PENDING, on the terms of the definition it is enqueued with.
-- include: record
-- include: terms

local function create(id, tick, kind, terms, digest, revision, incarnation, job_id, jitter_ms)
  local named = member(id, tick)
  local o = setmetatable({
    id = id, tick = tick, member = named, state = 'PENDING', kind = kind, attempt = '0', prior_outcome = 'NONE',
    revision = revision, incarnation = incarnation, job_id = job_id, idempotency_key = named .. ':' .. digest,
    applied_jitter_ms = jitter_ms,
  }, terms.as_defaults)
  redis.call('HSET', OCCURRENCE .. named, 'state', 'PENDING', 'kind', kind, 'attempt', '0', 'prior_outcome', 'NONE',
    'enqueued_ms', NOW_MS, 'revision', revision, 'incarnation', incarnation, 'job_id', job_id, 'idempotency_key',
    o.idempotency_key, 'applied_jitter_ms', jitter_ms, unpack(terms.fields))
  redis.call('ZADD', PENDING .. id, tick, tick)
  history(o, 'enqueued', kind)
  if kind == 'scheduled' then
    tally_lateness(math.max(NOW - tonumber(tick) - tonumber(jitter_ms), 0))
  end
  if o.approval == 'required' then
    redis.call('ZADD', APPROVALS, NOW_MS, named)
  end
  return o
end
