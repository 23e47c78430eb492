-- A schedule as the duty holder sees it, to plan its ticks from; nil when it is gone.

local function seen_of(id)
  local seen = redis.call('HMGET', SCHEDULE .. id, 'revision', 'definition_revision', 'incarnation', 'state',
    'next_run_ms', 'paused_until_ms', 'carry', 'finished')
  return seen[1] and { id, unpack(seen, 1, 8) } or nil
end
