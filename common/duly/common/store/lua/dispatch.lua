-- The duty holder turns due ticks into occurrences. For each tick of each schedule, in this order: the
-- occurrence and its job, the audit record; and only after its last tick the schedule advances, by
-- compare-and-set on (revision, next run) under the duty fence. A replay finds the occurrence and repeats nothing.
--
-- items, one after another, each:
--   schedule_id revision next_run_ms carry | new_next_ms new_due_ms new_carry | dropped count, first, last |
--   coalesces overlap buffer queue | incarnation digest | n, n occurrence fields | n, n job fields |
--   n ticks, each: tick_ms action reason job_id n, n job fields
-- action: enqueue | skip | fail. A tick that fails stops its schedule there: it stays due, after a growing wait.
-- include: record
-- include: audit
-- include: create
-- include: delivery
-- ARGV: duty_token queue_limit count items...
-- Replies: dispatched | lost_duty

if redis.call('GET', DUTY) ~= duty_token then
  return { 'lost_duty' }
end

local at = 0
local function take()
  at = at + 1
  return items[at]
end
local function take_list()
  local list = {}
  for i = 1, tonumber(take()) do
    list[i] = take()
  end
  return list
end

local function take_schedule()
  local s = { id = take(), revision = take(), next_run = take(), carry = take() }
  s.new_next, s.new_due, s.new_carry = take(), take(), take()
  s.dropped, s.dropped_first, s.dropped_last = take(), take(), take()
  s.coalesces, s.overlap, s.buffer, s.queue = take(), take(), tonumber(take()), take()
  s.incarnation, s.digest = take(), take()
  s.fields, s.job_fields, s.ticks = take_list(), take_list(), {}
  for i = 1, tonumber(take()) do
    s.ticks[i] = { tick = take(), action = take(), reason = take(), job_id = take(), job_fields = take_list() }
  end
  return s
end

local function unchanged(s)
  local r = redis.call('HMGET', SCHEDULE .. s.id, 'revision', 'next_run_ms', 'carry', 'incarnation')
  return r[1] == s.revision and (r[2] or '') == s.next_run and (r[3] or '') == s.carry and r[4] == s.incarnation
end

-- A queued tick gives way to the newer one; its job, when it is popped, runs the newer tick instead.
local function coalesce_older(s, tick)
  for _, older in ipairs(redis.call('ZRANGE', PENDING .. s.id, '-inf', '(' .. tick, 'BYSCORE', 'LIMIT', 0, 20)) do
    local o = load(s.id, older)
    if o and o.attempt == '0' and o.kind == 'scheduled' then
      finish(o, 'COALESCED', 'newer_tick_due', {})
    end
  end
end

local function already(s, t, o)
  local same = o.kind == 'scheduled' and o.incarnation == s.incarnation
    and o.idempotency_key == o.member .. ':' .. s.digest
  if same then
    return 'enqueued', 'replayed', o.job_id
  end
  return 'deduplicated', o.kind == 'scheduled' and 'id_conflict' or 'unique_key', o.job_id
end

local function enqueue(s, t)
  local existing = load(s.id, t.tick)
  if existing then
    return already(s, t, existing)
  end
  if redis.call('EXISTS', HELD .. s.id) == 1 then
    return 'skipped', 'quarantined'
  end
  local busy = s.overlap ~= 'allow' and redis.call('EXISTS', ACTIVE .. s.id) == 1
  if busy and (s.overlap == 'skip' or redis.call('ZCARD', PENDING .. s.id) >= s.buffer) then
    return 'skipped', 'overlap'
  end
  if redis.call('LLEN', RQ_QUEUE .. s.queue) >= tonumber(queue_limit) then
    return 'failed', 'backpressure'
  end
  local fields = { 'job_id', t.job_id, 'idempotency_key', member(s.id, t.tick) .. ':' .. s.digest }
  for i = 1, #s.fields do
    fields[i + 4] = s.fields[i]
  end
  local o = create(s.id, t.tick, 'scheduled', fields)
  watch(o, next_look_ms(0))
  if not busy then
    for i = 1, #s.job_fields do
      t.job_fields[#t.job_fields + 1] = s.job_fields[i]
    end
    push_job(t.job_id, s.queue, t.job_fields)
  end
  if tonumber(t.tick) > (tonumber(redis.call('HGET', SCHEDULE .. s.id, 'last_tick_ms') or '') or -1) then
    redis.call('HSET', SCHEDULE .. s.id, 'last_tick_ms', t.tick)
  end
  if s.coalesces == '1' then
    coalesce_older(s, t.tick)
  end
  return 'enqueued', 'accepted', t.job_id
end

local function settle_tick(s, t)
  local outcome, reason, job_id
  if t.action == 'enqueue' then
    outcome, reason, job_id = enqueue(s, t)
  else
    outcome, reason = t.action == 'skip' and 'skipped' or 'failed', t.reason
  end
  audit(s.id, { tick = t.tick, outcome = outcome, reason = reason, job_id = job_id })
  return outcome, reason
end

-- Failing schedules wait 1 s, 2 s, ... up to 64 s, so that they take no room from the others.
local function stay_due(s, tick)
  local failures = redis.call('HINCRBY', SCHEDULE .. s.id, 'failures', 1)
  if s.carry == '' then
    redis.call('HSET', SCHEDULE .. s.id, 'next_run_ms', tick)
  end
  redis.call('ZADD', DUE, int(NOW + 1000 * 2 ^ math.min(failures - 1, 6)), s.id)
end

local function advance(s)
  redis.call('HSET', SCHEDULE .. s.id, 'next_run_ms', s.new_next, 'carry', s.new_carry)
  redis.call('HDEL', SCHEDULE .. s.id, 'failures')
  if s.new_due == '' then
    redis.call('ZREM', DUE, s.id)
  else
    redis.call('ZADD', DUE, s.new_due, s.id)
  end
end

-- Ticks only move forward. Carried ticks leave the schedule where it stands; so does a look that found nothing due.
local function goes_back(s)
  if s.new_next == '' or s.next_run == '' then
    return false
  end
  local by = tonumber(s.new_next) - tonumber(s.next_run)
  return by < 0 or (by == 0 and s.carry == '' and #s.ticks > 0)
end

local function apply(s)
  if not unchanged(s) then
    return { 'changed' }
  end
  if goes_back(s) then
    return { 'backwards' }
  end
  local done = { 'advanced' }
  audit_dropped(s.id, s.dropped, s.dropped_first, s.dropped_last)
  for _, t in ipairs(s.ticks) do
    local outcome, reason = settle_tick(s, t)
    done[#done + 1] = outcome .. ':' .. reason
    if outcome == 'failed' then
      done[1] = 'failed'
      stay_due(s, t.tick)
      return done
    end
  end
  advance(s)
  return done
end

local replies = {}
for i = 1, tonumber(count) do
  replies[i] = apply(take_schedule())
end
return { 'dispatched', int(NOW), replies }
