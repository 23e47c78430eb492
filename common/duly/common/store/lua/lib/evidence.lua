-- The evidence: all that a decision about an occurrence is made from, read at one instant. A decision is kept with the
-- evidence it was made from, by the script that carries it out.
-- include: record

-- Fields of the occurrence's hash that are evidence as they stand.
local KEPT = {
  'kind', 'model', 'state', 'retry_budget', 'backoff_delay_ms', 'not_before_ms', 'lease_id', 'lease_owner',
  'lease_expires_ms', 'idempotency_key', 'result_ref', 'review_owner', 'prior_outcome', 'applied_jitter_ms',
}
-- Whether the sweep will enqueue the tick that the schedule stands at: not while it fails, not behind a hold, and not
-- beside another run where that makes it skip.
local function is_coming(o, s)
  if s.state ~= 'active' or s.failures or redis.call('EXISTS', HELD .. o.id) == 1 then
    return false
  end
  local release = redis.call('ZSCORE', DUE, o.id)
  if not release or tonumber(release) > NOW then
    return false
  end
  if o.overlap ~= 'skip' then
    return true
  end
  if INDEX[o.state] == ACTIVE then
    return redis.call('ZCARD', ACTIVE .. o.id) == 1
  end
  return not is_busy(o.id, s.next_run)
end

-- A later tick of the schedule that is due: enqueued already, or waiting for the sweep. A run that was approved gives
-- way to none.
local function later_tick(o, s)
  local last, next_run, tick = tonumber(s.last_tick or ''), tonumber(s.next_run or ''), tonumber(o.tick)
  if o.approved_by then
    return nil
  end
  if last and last > tick and last <= NOW then
    return int(last)
  end
  if next_run and next_run > tick and next_run <= NOW and is_coming(o, s) then
    return int(next_run)
  end
  return nil
end

-- Results that came from owners who could not prove their lease; and those of them that no reviewer has seen yet. They
-- are counted when a lease is granted, and when one comes; where the count is not on record they are looked for.
local function late_results(o)
  local found = tonumber(o.late_results or '')
  if found then
    return found
  end
  found = 0
  for name in pairs(o) do
    if string.sub(name, 1, 12) == 'late_result:' then
      found = found + 1
    end
  end
  return found
end

local function unseen_results(o)
  return late_results(o) - (tonumber(o.late_results_seen or '') or 0)
end

-- The last run that finished before this one. An earlier timing's runs are no ticks of this one.
local function last_run(o, s)
  if of_this_timing(o, s.timing) then
    for tick in string.gmatch(s.finished or '', '%d+') do
      if tonumber(tick) < tonumber(o.tick) then
        return tick
      end
    end
  end
  return nil
end

-- The tick the schedule stands at. One that is gone, at its end or on another timing stands at this one for good.
local function stands_at(o, s)
  if s.incarnation ~= o.incarnation or not of_this_timing(o, s.timing) or (s.next_run or '') == '' then
    return o.tick
  end
  return s.next_run
end

-- The attempt that the decision is about: the one that the lease was counted for, or the one after those made.
local function attempt_ahead(o)
  local made = tonumber(o.attempt or '')
  if not made then
    return nil
  end
  return int(o.state == 'LEASED' and o.counted == '1' and made or made + 1)
end

-- Who claims a lease: the lease's key, and owners who came with one that the record does not know. Flat: id, owner, end.
local function claims(o)
  local found = {}
  local token, recorded_ms = token_of(o), tonumber(o.lease_expires_ms or '') or 0
  if token and token == o.lease_id and recorded_ms > NOW then -- whoever moves the key's end moves this one
    append(found, token, o.lease_owner or '', int(recorded_ms))
  elseif token then
    local left = redis.call('PTTL', LEASE .. o.member)
    if left > 0 then -- in its last millisecond the key is still there
      append(found, token, token == o.lease_id and o.lease_owner or '', int(NOW + left))
    end
  end
  local others = {}
  for name in pairs(o) do
    if string.sub(name, 1, 6) == 'claim:' then
      others[#others + 1] = name
    end
  end
  table.sort(others)
  for _, name in ipairs(others) do
    local ends, owner = string.match(o[name], '^(%d+) (.*)$')
    append(found, string.sub(name, 7), owner, ends)
  end
  return found
end

-- What the evidence is read from of its schedule; and, from the same look, the values of the fields that are named.
local function schedule_of(o, ...)
  local r = redis.call('HMGET', SCHEDULE .. o.id, 'incarnation', 'timing_revision', 'next_run_ms', 'finished',
    'last_tick_ms', 'state', 'failures', ...)
  local s = {
    incarnation = r[1], timing = r[2], next_run = r[3], finished = r[4], last_tick = r[5], state = r[6], failures = r[7],
  }
  return s, select(8, unpack(r))
end

-- What the evidence says of the schedule.
local function of_schedule(o, s)
  return { next_run_ms = stands_at(o, s), last_run_ms = last_run(o, s), later_tick_ms = later_tick(o, s) }
end

-- Read now; `s` is given where the schedule was read already. Empty fields are left out: what is not there is evidence
-- of nothing.
local function snapshot(o, s)
  local e = of_schedule(o, s or schedule_of(o))
  e.now_ms, e.version, e.attempt, e.claims = NOW_MS, o.version or '0', attempt_ahead(o), claims(o)
  local unseen = unseen_results(o)
  if unseen > 0 then
    e.late_results = int(unseen)
  end
  for _, name in ipairs(KEPT) do
    if o[name] and o[name] ~= '' then
      e[name] = o[name]
    end
  end
  return e
end

-- The evidence with what the script has established beside it: the fields it is about to write.
local function with(e, fields)
  local evidential = {}
  for _, name in ipairs(KEPT) do
    evidential[name] = true
  end
  for at = 1, #fields, 2 do
    if evidential[fields[at]] then
      e[fields[at]] = fields[at + 1] ~= '' and fields[at + 1] or nil
    end
  end
  return e
end

-- Whether the evidence that a decision was made from is still what there is. The occurrence's part of it is as long as it
-- has its version, but for how far the lease was renewed; the clock goes on.
local function still(seen, o)
  local now = of_schedule(o, schedule_of(o))
  return seen.version == (o.version or '0') and seen.next_run_ms == now.next_run_ms
    and seen.last_run_ms == now.last_run_ms and seen.later_tick_ms == now.later_tick_ms
end

-- The evidence that a worker decided from, complete with what settled an unknown outcome; nil when it is no longer true.
local function decided_from(o, evidence, reconciled)
  local seen = cjson.decode(evidence)
  if not still(seen, o) then
    return nil
  end
  seen.claims = seen.claims or {}
  seen.reconciled = reconciled ~= '' and reconciled or nil
  return seen
end

-- The decision as the occurrence's next one, among the fields that carry it out.
local function decided(o, fields, decision, evidence)
  local number = int((tonumber(o.decisions or '') or 0) + 1)
  append(fields, 'decisions', number, 'decision:' .. number, cjson.encode({ decision = decision, evidence = evidence }))
end
