-- RQ's account of a job that our worker has in hand: what RQ's tools and its maintenance read, written as RQ's own worker
-- writes it. `at`: the worker's clock as RQ writes it, in seconds and as text. Asked again, nothing happens twice.

-- A job that nobody has given a sign of life for this long counts as abandoned; the worker gives one each 10 s.
local SIGN_OF_LIFE_S = 70
local RESULT_TTL_S = 500
-- An ending's word as RQ keeps what a function returned: JSON, in base64.
local AS_RETURNED = {
  recorded = 'InJlY29yZGVkIg==', held = 'ImhlbGQi', late = 'ImxhdGUi', missing = 'Im1pc3Npbmci',
}

local function start_execution(job_id, queue, execution, worker, at)
  local named, mine = job_id .. ':' .. execution, RQ .. 'worker:' .. worker .. ':executions'
  redis.call('HSET', RQ_JOB .. job_id, 'status', 'started', 'started_at', at.text, 'last_heartbeat', at.text,
    'worker_name', worker)
  redis.call('HSET', RQ .. 'execution:' .. named, 'id', execution, 'job_id', job_id, 'created_at', at.seconds,
    'last_heartbeat', at.seconds, 'worker_name', worker)
  redis.call('EXPIRE', RQ .. 'execution:' .. named, SIGN_OF_LIFE_S)
  redis.call('ZADD', RQ .. 'wip:' .. queue, at.seconds + SIGN_OF_LIFE_S, named)
  redis.call('SADD', mine, named)
  redis.call('EXPIRE', mine, SIGN_OF_LIFE_S + 60)
end

-- `returned`: the word that our function would have returned to RQ, as RQ keeps it.
local function finish_execution(job_id, queue, execution, worker, at, returned)
  local named = job_id .. ':' .. execution
  redis.call('DEL', RQ .. 'execution:' .. named)
  redis.call('SREM', RQ .. 'worker:' .. worker .. ':executions', named)
  if redis.call('ZREM', RQ .. 'wip:' .. queue, named) == 0 or redis.call('EXPIRE', RQ_JOB .. job_id, RESULT_TTL_S) == 0 then
    return
  end
  redis.call('HSET', RQ_JOB .. job_id, 'status', 'finished', 'ended_at', at.text, 'last_heartbeat', at.text)
  redis.call('XADD', RQ .. 'results:' .. job_id, 'MAXLEN', 10, '*', 'type', 1, 'worker_name', worker, 'return_value',
    returned, 'execution_id', execution)
  redis.call('EXPIRE', RQ .. 'results:' .. job_id, RESULT_TTL_S)
  redis.call('ZADD', RQ .. 'finished:' .. queue, at.seconds + RESULT_TTL_S, job_id)
end
