-- RQ's account of a job that our worker has in hand: what RQ's tools and its maintenance read, written as RQ's own worker
-- writes it. Not kept: an execution's own hash, before the job has taken a while, and what our function would have
-- returned. `at`: the worker's clock as RQ writes it, in seconds and as text. Asked again, nothing happens twice.

-- A job that nobody has given a sign of life for this long counts as abandoned; the worker gives one each 10 s.
local SIGN_OF_LIFE_S = 70
local RESULT_TTL_S = 500
-- How long a worker's last turn is remembered: longer than it keeps asking, and than a question may be on its way.
local IN_HAND_MS = 600000

-- The worker's last turn: its number, and what it was given, if anything.
local function turned(worker, text)
  redis.call('SET', HAND .. worker, text, 'PX', IN_HAND_MS)
end

local function start_execution(job_id, queue, execution, worker, at, number)
  redis.call('HSET', RQ_JOB .. job_id, 'status', 'started', 'started_at', at.text, 'last_heartbeat', at.text,
    'worker_name', worker)
  redis.call('ZADD', RQ .. 'wip:' .. queue, at.seconds + SIGN_OF_LIFE_S, job_id .. ':' .. execution)
  turned(worker, number .. ' ' .. queue .. ' ' .. job_id .. ':' .. execution)
end

-- The number of the worker's last turn, and the job, its queue and the execution's name where it was given one.
local function last_turn(worker)
  local number, what = string.match(redis.call('GET', HAND .. worker) or '', '^(%d+) ?(.*)$')
  local queue, job_id, execution = string.match(what or '', '^(%S+) (.*):(.-)$')
  return tonumber(number or '0'), job_id, queue, execution
end

local function is_in_hand(job_id, queue, execution)
  return redis.call('ZSCORE', RQ .. 'wip:' .. queue, job_id .. ':' .. execution) ~= false
end

-- `shown`: whether the execution has a hash and is in the worker's own index.
local function finish_execution(job_id, queue, execution, worker, at, shown)
  local named = job_id .. ':' .. execution
  if shown then
    redis.call('DEL', RQ .. 'execution:' .. named)
    redis.call('SREM', RQ .. 'worker:' .. worker .. ':executions', named)
  end
  if redis.call('ZREM', RQ .. 'wip:' .. queue, named) == 0 or redis.call('EXPIRE', RQ_JOB .. job_id, RESULT_TTL_S) == 0 then
    return
  end
  redis.call('HSET', RQ_JOB .. job_id, 'status', 'finished', 'ended_at', at.text, 'last_heartbeat', at.text)
  redis.call('ZADD', RQ .. 'finished:' .. queue, at.seconds + RESULT_TTL_S, job_id)
end
