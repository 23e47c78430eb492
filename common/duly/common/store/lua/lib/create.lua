-- A new occurrence in PENDING, on the terms of the definition it is enqueued with (`terms` in the schedule's hash).

local function create(id, tick, kind, terms, revision, incarnation, job_id, manual_key)
  local fields = terms.fields
  redis.call('HSET', OCCURRENCE .. member(id, tick), 'state', 'PENDING', 'kind', kind, 'attempt', '0', 'looks', '0',
    'prior_outcome', 'NONE', 'enqueued_ms', int(NOW), 'revision', revision, 'incarnation', incarnation, 'job_id',
    job_id, 'idempotency_key', member(id, tick) .. ':' .. terms.digest, 'manual_key', manual_key, unpack(fields))
  redis.call('ZADD', PENDING .. id, tick, tick)
  local o = load(id, tick)
  history(o, 'enqueued', kind)
  return o
end
