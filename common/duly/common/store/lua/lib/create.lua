-- A new occurrence in PENDING, on the terms of the definition it is enqueued with (`terms` in the schedule's hash).
-- include: record

local function create(id, tick, kind, terms, own)
  local fields = terms.fields
  local key = OCCURRENCE .. member(id, tick)
  local idempotency_key = member(id, tick) .. ':' .. terms.digest
  redis.call('HSET', key, 'state', 'PENDING', 'kind', kind, 'attempt', '0', 'looks', '0', 'prior_outcome', 'NONE',
    'enqueued_ms', int(NOW), 'revision', own.revision, 'incarnation', own.incarnation, 'job_id', own.job_id,
    'idempotency_key', idempotency_key, 'manual_key', own.manual_key or '', 'applied_jitter_ms',
    own.jitter_ms or '0', unpack(fields))
  redis.call('ZADD', PENDING .. id, tick, tick)
  local o = {
    id = id, tick = tick, member = member(id, tick), state = 'PENDING', kind = kind, attempt = '0', prior_outcome = 'NONE',
    revision = own.revision, incarnation = own.incarnation, job_id = own.job_id, idempotency_key = idempotency_key,
    applied_jitter_ms = own.jitter_ms or '0',
  }
  for at = 1, #fields, 2 do
    o[fields[at]] = fields[at + 1]
  end
  history(o, 'enqueued', kind)
  if kind == 'scheduled' then
    tally_lateness(math.max(NOW - tonumber(tick) - tonumber(o.applied_jitter_ms), 0))
  end
  if o.approval == 'required' then
    redis.call('ZADD', APPROVALS, int(NOW), o.member)
  end
  return o
end
