-- Names, time, and the one way to change an occurrence: its state, the sets that index it and its history move
-- together or not at all. Included at the top of every script. Nothing here writes unless a function is called.

local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- tostring() turns large integers into 1.8e+15 and makes two of them equal.
local function int(number)
  return string.format('%.0f', number)
end

local NOW = now_ms()

local TERMINAL = { SUCCEEDED = true, COALESCED = true, CANCELLED = true, ABANDONED = true }
local INDEX = {
  PENDING = PENDING, LEASED = ACTIVE, RUNNING = ACTIVE, RETRY_WAIT = ACTIVE, HELD = HELD,
}
local MANUAL_KEY_TTL_MS = 86400000

local function member(id, tick)
  return id .. '@' .. tick
end

-- The occurrence's hash as a table, with its identity added; nil when there is no record.
local function load(id, tick)
  local flat = redis.call('HGETALL', OCCURRENCE .. member(id, tick))
  if #flat == 0 then
    return nil
  end
  local o = {}
  for at = 1, #flat, 2 do
    o[flat[at]] = flat[at + 1]
  end
  o.id, o.tick, o.member = id, tick, member(id, tick)
  return o
end

-- One line of run history, in the schedule's stream and in the fleet's.
local function history(o, event, reason)
  local function add(key, how, cap)
    redis.call('XADD', key, 'MAXLEN', how, cap, '*', 'event', event, 'schedule_id', o.id, 'tick_ms', o.tick,
      'state', o.state, 'attempt', o.attempt, 'worker', o.lease_owner or '', 'fencing_token',
      o.fencing_token or '', 'reason', reason or '', 'at_ms', int(NOW))
  end
  add(RUNS .. o.id, '=', schedule_history)
  add(FLEET_RUNS, '~', fleet_history)
end

-- The sweep looks at the occurrence at this instant.
local function watch(o, at_ms)
  redis.call('ZADD', WATCH, int(at_ms), o.member)
end

local function wake()
  redis.call('PUBLISH', WAKE, '')
end

-- Pulls occurrences that wait for this schedule to the front of the sweep.
local function rouse(id, how_many)
  local ticks = redis.call('ZRANGE', PENDING .. id, 0, how_many - 1)
  for _, tick in ipairs(ticks) do
    redis.call('ZADD', WATCH, 'XX', int(NOW), member(id, tick))
  end
  if #ticks > 0 then
    wake()
  end
end

-- Open occurrences need the definition they were enqueued with; nobody else does.
local function forget_superseded(id)
  if redis.call('EXISTS', PENDING .. id, ACTIVE .. id, HELD .. id) == 0 then
    redis.call('DEL', SUPERSEDED .. id)
  end
end

-- The transition: fields and state, indexes, watch, lifetime and history. `fields` is a flat list.
local function move(o, state, fields, event, reason)
  local from, to = INDEX[o.state], INDEX[state]
  o.state = state
  for at = 1, #fields, 2 do
    o[fields[at]] = fields[at + 1]
  end
  redis.call('HSET', OCCURRENCE .. o.member, 'state', state, unpack(fields))
  if to and from ~= to then
    redis.call('ZADD', to .. o.id, o.tick, o.tick)
  end
  if from and from ~= to then
    redis.call('ZREM', from .. o.id, o.tick)
    if from == HELD then
      redis.call('ZREM', HOLDS, o.member)
    end
  end
  if state == 'HELD' then
    redis.call('ZADD', HOLDS, int(NOW), o.member)
    redis.call('ZREM', WATCH, o.member)
  end
  history(o, event, reason)
  if TERMINAL[state] then
    redis.call('ZREM', WATCH, o.member)
    redis.call('PEXPIRE', OCCURRENCE .. o.member, retention_ms)
    if o.manual_key and o.manual_key ~= '' then
      redis.call('PEXPIRE', o.manual_key, MANUAL_KEY_TTL_MS)
    end
    forget_superseded(o.id)
  end
  if from == ACTIVE and to ~= ACTIVE and redis.call('EXISTS', ACTIVE .. o.id) == 0 then
    rouse(o.id, 1)
  end
  if from == HELD and redis.call('EXISTS', HELD .. o.id) == 0 then
    rouse(o.id, 100)
  end
end

-- The schedule's memory of its runs. Written only while the schedule exists: a hash made here would be a ghost.
local function remember(o)
  local key = SCHEDULE .. o.id
  if redis.call('HGET', key, 'incarnation') ~= o.incarnation then
    return
  end
  redis.call('HSET', key, 'last_outcome', o.state)
  if (o.state == 'SUCCEEDED' or o.state == 'ABANDONED') and o.kind == 'scheduled' then
    local last = tonumber(redis.call('HGET', key, 'last_run_ms') or '') or -1
    if tonumber(o.tick) > last then
      redis.call('HSET', key, 'last_run_ms', o.tick)
    end
  end
end

local function hold(o, reason, fields)
  fields[#fields + 1] = 'held_ms'
  fields[#fields + 1] = int(NOW)
  fields[#fields + 1] = 'hold_reason'
  fields[#fields + 1] = reason
  move(o, 'HELD', fields, 'held', reason)
  remember(o)
end

local function finish(o, state, reason, fields)
  fields[#fields + 1] = 'ended_ms'
  fields[#fields + 1] = int(NOW)
  fields[#fields + 1] = 'reason'
  fields[#fields + 1] = reason
  move(o, state, fields, string.lower(state), reason)
  if state == 'SUCCEEDED' or state == 'ABANDONED' then
    remember(o)
  end
end

-- Nothing more is to be attempted. An unknown outcome is not closed by that: somebody has to look.
local function cancel(o, reason)
  if o.prior_outcome == 'UNKNOWN' then
    return hold(o, 'outcome_unknown', {})
  end
  return finish(o, 'CANCELLED', reason, {})
end

-- Why a PENDING occurrence may not start now: an open hold of its schedule, or another one running.
local function blocked(o)
  if redis.call('EXISTS', HELD .. o.id) == 1 then
    return 'quarantined'
  end
  if o.overlap ~= 'allow' and redis.call('EXISTS', ACTIVE .. o.id) == 1 then
    return 'overlap'
  end
  return nil
end

local function budget_left(o)
  return tonumber(o.attempt) < tonumber(o.retry_budget)
end

-- base * factor ^ (attempts made - 1), at most the maximum. A base of 0 stays 0, also where the power overflows.
local function backoff_ms(o)
  local base = tonumber(o.backoff_base_ms)
  local delay = base == 0 and 0 or base * tonumber(o.backoff_factor) ^ (tonumber(o.attempt) - 1)
  return math.floor(math.min(delay, tonumber(o.backoff_max_ms)))
end

-- Another attempt after a wait, inside the budget; beyond it the occurrence is held.
local function retry(o, event, reason, fields)
  if not budget_left(o) then
    return hold(o, 'retry_budget_exhausted', fields)
  end
  local delay = backoff_ms(o)
  fields[#fields + 1] = 'backoff_delay_ms'
  fields[#fields + 1] = int(delay)
  fields[#fields + 1] = 'not_before_ms'
  fields[#fields + 1] = int(NOW + delay)
  move(o, 'RETRY_WAIT', fields, event, reason)
  watch(o, NOW + delay)
  wake()
end

-- The lease is over and nobody recorded an outcome. Before `begin` that costs nothing; after it the outcome is
-- unknown, and only an effect declared repeatable, or a probe asked first, allows another attempt.
local function lose(o, reason)
  redis.call('DEL', LEASE .. o.member)
  if o.state == 'LEASED' then
    if not budget_left(o) then
      return hold(o, 'retry_budget_exhausted', {})
    end
    move(o, 'PENDING', { 'job_id', '' }, 'released', reason)
    watch(o, NOW)
    return wake()
  end
  if o.effects == 'idempotent' or (o.effects == 'guarded' and budget_left(o)) then
    return retry(o, 'outcome_unknown', reason, { 'prior_outcome', 'UNKNOWN' })
  end
  return hold(o, 'outcome_unknown', { 'prior_outcome', 'UNKNOWN' })
end

-- The holder of the lease, proven: its token is the lease's and the record's.
local function owns(o, token)
  return o ~= nil and o.lease_id == token and redis.call('GET', LEASE .. o.member) == token
end
