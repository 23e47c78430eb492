-- Names, time, and the one way to change an occurrence: its state, the sets that index it and its history move
-- together or not at all. Nothing here writes unless a function is called.
-- include: totals

-- tostring() turns large integers into 1.8e+15 and makes two of them equal.
local function int(number)
  return string.format('%.0f', number)
end

local TIME = redis.call('TIME')
local NOW = TIME[1] * 1000 + math.floor(TIME[2] / 1000)
local NOW_MS = int(NOW)

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

-- What the holder of a lease needs to know of it, for a transition that its lease proves.
local OF_HOLDER = {
  'state', 'version', 'kind', 'attempt', 'counted', 'lease_id', 'lease_owner', 'lease_expires_ms', 'fencing_token',
  'late_results', 'late_results_seen', 'decisions', 'revision', 'incarnation', 'overlap', 'approval', 'approved_by',
  'manual_key',
}

-- The same for a part of the hash: half of it is read for nobody when one that runs goes on. Late results that were not
-- counted are looked for in all of it.
local function load_for_holder(id, tick)
  local values = redis.call('HMGET', OCCURRENCE .. member(id, tick), unpack(OF_HOLDER))
  if not values[1] then
    return nil
  end
  local o = { id = id, tick = tick, member = member(id, tick) }
  for at, name in ipairs(OF_HOLDER) do
    o[name] = values[at] or nil
  end
  return o.late_results and o or load(id, tick)
end

-- Events that no owner of a lease brings about. A person's are under the person's name (`o.acting`).
local OWNERLESS = {
  enqueued = true, delivered = true, retry_due = true, coalesced = true, cancelled = true, refused = true,
}

-- One line of run history, in the schedule's stream and in the fleet's: its values between tabs, in one field. As fields
-- of their own they would be most of what a transition costs. What stands where: `duly.common.records.trail`.
local function history(o, event, reason)
  local who = o.acting or (not OWNERLESS[event] and o.lease_owner) or ''
  local line = event .. '\t' .. o.id .. '\t' .. o.tick .. '\t' .. o.state .. '\t' .. o.attempt .. '\t'
    .. (o.fencing_token or '') .. '\t' .. NOW_MS .. '\t' .. (reason or '') .. '\t' .. who
  redis.call('XADD', RUNS .. o.id, 'MAXLEN', '=', schedule_history, '*', 'line', line)
  redis.call('XADD', FLEET_RUNS, 'MAXLEN', '~', fleet_history, '*', 'line', line)
  tally('run:' .. event .. ':' .. o.state, 1)
end

-- The sweep looks at the occurrence at this instant.
local function watch(o, at_ms)
  redis.call('ZADD', WATCH, int(at_ms), o.member)
end

-- A user who may not is told by `permitted`; a transition does not end half-way for it.
local function wake()
  redis.pcall('PUBLISH', WAKE, '')
end

-- Pulls occurrences that wait for this schedule to the front of the sweep.
local function rouse(id, how_many)
  local ticks = redis.call('ZRANGE', PENDING .. id, 0, how_many - 1)
  for _, tick in ipairs(ticks) do
    redis.call('ZADD', WATCH, 'XX', NOW_MS, member(id, tick))
  end
  if #ticks > 0 then
    wake()
  end
end

-- Open occurrences need the definition they were enqueued with; nobody else does. Whether there is none.
local function forget_superseded(id)
  if redis.call('EXISTS', PENDING .. id, ACTIVE .. id, HELD .. id, SUPERSEDED .. id) == 0 then
    return true -- mostly, nothing is open and nothing was edited
  end
  if redis.call('EXISTS', PENDING .. id, ACTIVE .. id, HELD .. id) > 0 then
    return false
  end
  redis.call('DEL', SUPERSEDED .. id)
  return true
end

local function awaits_approval(o)
  return o.approval == 'required' and not o.approved_by
end

-- Pending again after an attempt: it is between two of them.
local function is_between_attempts(o)
  return o.state == 'PENDING' and o.attempt ~= nil and o.attempt ~= '0'
end

local function append(fields, ...)
  for _, value in ipairs({ ... }) do
    fields[#fields + 1] = value
  end
end

-- The transition: fields and state, indexes, watch, lifetime and history. `fields` is a flat list. `version` counts
-- the changes: who looked at one version decides nothing about a later one.
local function move(o, state, fields, event, reason)
  local from, to = INDEX[o.state], INDEX[state]
  if TERMINAL[o.state] and not TERMINAL[state] then
    redis.call('PERSIST', OCCURRENCE .. o.member)
  end
  append(fields, 'version', int((tonumber(o.version or '') or 0) + 1))
  local was_between = is_between_attempts(o)
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
  end
  if is_between_attempts(o) then
    redis.call('ZADD', RETRYING .. o.id, o.tick, o.tick)
  elseif was_between then
    redis.call('ZREM', RETRYING .. o.id, o.tick)
  end
  if state == 'HELD' then
    redis.call('ZADD', HOLDS, NOW_MS, o.member)
    redis.call('ZREM', WATCH, o.member)
  elseif from == HELD then
    redis.call('ZREM', HOLDS, o.member)
  end
  if state == 'PENDING' and awaits_approval(o) then
    redis.call('ZADD', APPROVALS, NOW_MS, o.member)
  elseif o.approval == 'required' then
    redis.call('ZREM', APPROVALS, o.member)
  end
  history(o, event, reason)
  if TERMINAL[state] then
    redis.call('ZREM', WATCH, o.member)
    redis.call('PEXPIRE', OCCURRENCE .. o.member, retention_ms)
    if (o.manual_key or '') ~= '' then
      redis.call('PEXPIRE', o.manual_key, MANUAL_KEY_TTL_MS)
    end
    if forget_superseded(o.id) then
      return -- nothing is open, and nothing waits
    end
  end
  if from == ACTIVE and to ~= ACTIVE and redis.call('EXISTS', ACTIVE .. o.id) == 0 then
    rouse(o.id, 1)
  end
  if from == HELD and redis.call('EXISTS', HELD .. o.id) == 0 then
    rouse(o.id, 100)
  end
end

-- The ticks of the latest finished runs, the newest first; of the timing that the schedule has now.
local FINISHED_KEPT = 16

local function finished_with(text, tick)
  local ticks = {}
  for each in string.gmatch(text or '', '%d+') do
    if each ~= tick then
      ticks[#ticks + 1] = each
    end
  end
  ticks[#ticks + 1] = tick
  table.sort(ticks, function(a, b) return tonumber(a) > tonumber(b) end)
  return table.concat(ticks, ' ', 1, math.min(#ticks, FINISHED_KEPT))
end

-- Whether the occurrence was enqueued with the timing that the schedule has now (`timing` is where that began).
local function of_this_timing(o, timing)
  return (tonumber(o.revision or '') or 0) >= (tonumber(timing or '') or 0)
end

-- The schedule's memory of its runs. Written only while the schedule exists: a hash made here would be a ghost.
local function remember(o)
  local key = SCHEDULE .. o.id
  local s = redis.call('HMGET', key, 'incarnation', 'timing_revision', 'finished', 'last_run_ms')
  if s[1] ~= o.incarnation then
    return
  end
  local fields = { 'last_outcome', o.state }
  if (o.state == 'SUCCEEDED' or o.state == 'ABANDONED') and o.kind == 'scheduled' then
    if tonumber(o.tick) > (tonumber(s[4] or '') or -1) then
      append(fields, 'last_run_ms', o.tick)
    end
    if of_this_timing(o, s[2]) then
      append(fields, 'finished', finished_with(s[3], o.tick))
    end
  end
  redis.call('HSET', key, unpack(fields))
end

-- The lease's key, by the token that it holds. Each script looks once, and remembers what it does to it itself.
local tokens = {}

local function token_of(o)
  if tokens[o.member] == nil then
    tokens[o.member] = redis.call('GET', LEASE .. o.member)
  end
  return tokens[o.member]
end

local function take_lease(o, token, ttl_ms)
  local key = LEASE .. o.member
  if not redis.call('SET', key, token, 'NX', 'PX', ttl_ms) then
    if redis.call('PTTL', key) ~= 0 then
      return false
    end
    redis.call('SET', key, token, 'PX', ttl_ms) -- it was over: in its last millisecond a key is still there
  end
  tokens[o.member] = token
  return true
end

local function end_lease(o)
  redis.call('DEL', LEASE .. o.member)
  tokens[o.member] = false
end

-- The holder of the lease, proven: its token is the lease's and the record's.
local function owns(o, token)
  return o ~= nil and o.lease_id == token and (tonumber(o.lease_expires_ms or '') or 0) > NOW and token_of(o) == token
end

-- Whether an earlier occurrence of the schedule is running, or between two of its attempts.
local function is_busy(id, tick)
  if redis.call('EXISTS', ACTIVE .. id) == 1 then
    return true
  end
  local oldest = redis.call('ZRANGE', RETRYING .. id, 0, 0)[1]
  return oldest ~= nil and tonumber(oldest) < tonumber(tick)
end

-- Why a PENDING occurrence may not start now: its reviewer has not approved it, an open hold of its schedule, or
-- another one running.
local function blocked(o)
  if awaits_approval(o) then
    return 'approval'
  end
  if redis.call('EXISTS', HELD .. o.id, ACTIVE .. o.id, RETRYING .. o.id) == 0 then
    return nil
  end
  if redis.call('EXISTS', HELD .. o.id) == 1 then
    return 'quarantined'
  end
  if o.overlap ~= 'allow' and is_busy(o.id, o.tick) then
    return 'overlap'
  end
  return nil
end
