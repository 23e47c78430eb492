-- Changes to a schedule: every one is a compare-and-set on its revision, the run it stands at and what it carries.
-- include: record

-- Nil when the caller's picture of the schedule is still true, else the reply that says what is not.
local function mismatch(id, revision, next_run, carry)
  local r = redis.call('HMGET', SCHEDULE .. id, 'revision', 'next_run_ms', 'carry')
  if not r[1] and redis.call('EXISTS', SCHEDULE .. id) == 0 then
    return { 'missing' }
  end
  if (r[1] or '') ~= revision then
    return { 'changed' }
  end
  if (r[2] or '') ~= next_run or (r[3] or '') ~= carry then
    return { 'again' }
  end
  return nil
end

local function set_due(id, due_ms)
  if due_ms == '' then
    redis.call('ZREM', DUE, id)
  else
    redis.call('ZADD', DUE, due_ms, id)
    wake()
  end
end

local function touch(id)
  redis.call('HSET', SCHEDULE .. id, 'updated_ms', NOW_MS)
  return int(redis.call('HINCRBY', SCHEDULE .. id, 'revision', 1))
end
