-- A worker goes from one job to the next: the success of its last attempt is recorded, as `complete` does; RQ is told that
-- the last job has ended; the first job of ours in the queues is taken, RQ is told so, and its occurrence claimed, as
-- `acquire` does. A job at the head of its queue that is none of ours is left to RQ's own ways. The claim's token is the
-- execution's name. `number` grows with each turn of a worker: one that comes a second time, in whichever order, is
-- given the job that the first was given, and one that a later turn has overtaken is given nothing.
-- include: claim
-- include: completion
-- include: executions
-- ARGV: worker seconds text number token owner tasks given given_queue last_job last_queue last_execution shown schedule_id tick_ms last_token fencing_token result_ref last_owner expires_ms queues...
-- Replies: taken | refused | unreadable | foreign | empty

local at = { seconds = tonumber(seconds), text = text }

-- A job is ours when it calls our function exactly as `delivery` writes it; whatever else is RQ's.
local OURS = '^%["duly%.worker%.entry%.attempt_occurrence",null,%["([a-z0-9][a-z0-9_-]*)",(%d+),(%d+)%],{}%]$'
-- Entries whose job is gone are dropped, as RQ does; not without end.
local MOST_DROPPED = 100

-- What a transition starts from, by `load` or `load_for_holder`. Nil, and false, when something else has written over it:
-- that must stop no worker, and nothing is written before it is found.
local function read(how, id, tick)
  local readable, o = pcall(how, id, tick)
  if not readable or (o and not tonumber(o.attempt or '')) then
    return nil, false
  end
  return o, true
end

local function finish_last()
  local ending = ''
  if last_token ~= '' then
    local o = read(load_for_holder, schedule_id, tick_ms)
    ending = complete(o, last_token, fencing_token, result_ref, last_owner, expires_ms)[1]
  end
  if last_job ~= '' then
    finish_execution(last_job, last_queue, last_execution, worker, at, shown == '1')
  end
  return ending
end

-- The first job in the queues: its id, queue and call; only the id when it is not ours.
local function next_job()
  for _, queue in ipairs(queues) do
    for _ = 1, MOST_DROPPED do
      local job_id = redis.call('LPOP', RQ_QUEUE .. queue)
      if not job_id then
        break
      end
      local data = redis.call('HGET', RQ_JOB .. job_id, 'data')
      if data and not string.find(data, OURS) then
        redis.call('LPUSH', RQ_QUEUE .. queue, job_id)
        return job_id
      end
      if data then
        return job_id, queue, data
      end
    end
  end
  return nil
end

local function take(ending, job_id, queue, data)
  local id, tick, attempt = string.match(data, OURS)
  start_execution(job_id, queue, token, worker, at, number)
  local o, readable = read(load, id, tick)
  if not readable then
    return { 'unreadable', ending, job_id, queue, id, tick, attempt }
  end
  local reply = claim(o, token, owner, attempt, tasks)
  if reply[1] == 'task_not_registered' then
    return { 'refused', ending, job_id, queue, id, tick, attempt }
  end
  return { 'taken', ending, job_id, queue, id, tick, attempt, reply }
end

local ending = finish_last()
local latest, last_given, its_queue, execution = last_turn(worker)
local again = tonumber(number) == latest
if tonumber(number) < latest then
  return { 'empty', ending }
end
if again and not (last_given and is_in_hand(last_given, its_queue, execution)) then
  return { 'empty', ending } -- nothing was given, or that is over
end
local job_id, queue, data
if again then
  job_id, queue = last_given, its_queue
elseif given ~= '' then
  job_id, queue = given, given_queue
  redis.call('LREM', RQ_QUEUE .. queue .. ':intermediate', 1, job_id)
end
if job_id then
  data = redis.call('HGET', RQ_JOB .. job_id, 'data')
else
  job_id, queue, data = next_job()
end
if data and string.find(data, OURS) then
  return take(ending, job_id, queue, data)
end
turned(worker, number)
if job_id then
  return { 'foreign', ending, job_id }
end
return { 'empty', ending }
