-- A new occurrence in PENDING, from the flat list of fields that its definition gives it.

local function create(id, tick, kind, fields)
  local key = OCCURRENCE .. member(id, tick)
  redis.call('HSET', key, 'state', 'PENDING', 'kind', kind, 'attempt', '0', 'looks', '0', 'prior_outcome', 'NONE',
    'enqueued_ms', int(NOW), unpack(fields))
  redis.call('ZADD', PENDING .. id, tick, tick)
  local o = load(id, tick)
  history(o, 'enqueued', kind)
  return o
end
