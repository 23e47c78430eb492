-- RQ's side of an occurrence: the job that says "look here". Written as RQ's own enqueue does: queue name, job
-- hash, then the entry.
-- include: record

local known_queues = {}

-- `duly.common.identity.job_id`.
local function job_id_of(id, tick, attempt)
  return 'duly-' .. id .. '-' .. tick .. '-' .. attempt
end

-- `shared_fields`: names and values that all jobs of the queue have (`duly.common.store.jobs`). A schedule's id needs no
-- escaping in JSON. RQ compresses `data`, and takes it as well as it is.
local function push_job(id, tick, attempt, queue, shared_fields)
  local job_id = job_id_of(id, tick, attempt)
  if not known_queues[queue] then
    redis.call('SADD', RQ_QUEUES, RQ_QUEUE .. queue)
    known_queues[queue] = true
  end
  redis.call('HSET', RQ_JOB .. job_id,
    'data', '["duly.worker.entry.attempt_occurrence",null,["' .. id .. '",' .. tick .. ',' .. attempt .. '],{}]',
    'meta', '{"periodic_schedule_id": "' .. id .. '", "periodic_tick_ms": ' .. tick .. '}',
    'description', member(id, tick) .. ' attempt ' .. attempt, unpack(shared_fields))
  redis.call('RPUSH', RQ_QUEUE .. queue, job_id)
end

-- How many jobs wait in a queue; one whose key holds something else takes no more of them.
local function length_of(queue)
  local length = redis.pcall('LLEN', RQ_QUEUE .. queue)
  return type(length) == 'number' and length or math.huge
end

-- Whether the job still waits in its queue. A queue longer than this is not searched: its backlog shrinks first.
local SEARCHED = 2000

local function in_queue(job_id, queue)
  if redis.call('EXISTS', RQ_JOB .. job_id) == 0 then
    return false
  end
  if length_of(queue) > SEARCHED then
    return true
  end
  return redis.call('LPOS', RQ_QUEUE .. queue, job_id) ~= false
end

-- Each look that finds an occurrence undelivered doubles the wait until the next, to 64 times the first.
local function next_look_ms(looks)
  return NOW + tonumber(redelivery_ms) * 2 ^ math.min(looks, 6)
end

-- From when on it is too late for a first attempt; nil when it never is: a run that somebody asked for, or that began.
local function too_late_ms(o)
  local patience = tonumber(o.max_lateness_ms or '')
  return o.attempt == '0' and o.kind == 'scheduled' and patience and tonumber(o.tick) + patience + 1 or nil
end

-- When an occurrence that waits for its approval must be looked at: when it becomes too late, or once in a while.
local function approval_look_ms(o)
  return math.min(too_late_ms(o) or math.huge, next_look_ms(6))
end

local function is_too_late(o)
  local since = too_late_ms(o)
  return since ~= nil and NOW >= since
end
