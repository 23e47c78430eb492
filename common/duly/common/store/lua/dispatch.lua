-- The duty holder turns due ticks into occurrences. For each tick of each schedule, in this order: the
-- occurrence and its job, the audit record; and only after its last tick the schedule advances, by
-- compare-and-set on (revision, next run) under the duty fence. A replay finds the occurrence and repeats nothing.
--
-- orders: JSON, all values as text:
--   jobs: for each queue what all its jobs share, names and values
--   schedules: one after another, each
--     [schedule_id, revision, definition_revision, incarnation, next_run_ms, carry, new_next_ms, new_due_ms, new_carry,
--      dropped count, first, last, backlog_until_ms (empty: nothing of the backlog is left for later), asked_for ('1':
--      somebody wants these ticks; they wait where others would be skipped), terms (empty: the schedule's own),
--      ticks: [tick_ms, jitter_ms, action, reason]]
-- action: enqueue | skip | fail | hold. A tick that fails stops its schedule there: it stays due, after a growing wait.
-- A tick that is held becomes an occurrence that nobody may attempt. Orders that were planned for another time
-- than it is by this clock (`planned_ms`; with `until_ms` until then, else for ever) are not carried out.
-- include: outcome
-- include: audit
-- include: create
-- include: delivery
-- ARGV: duty_token queue_limit planned_ms until_ms orders
-- Replies: dispatched | untimely | lost_duty

if redis.call('GET', DUTY) ~= duty_token then
  return { 'lost_duty' }
end
if NOW < tonumber(planned_ms) or NOW > (tonumber(until_ms) or NOW) then
  return { 'untimely' }
end

local given, lengths = cjson.decode(orders), {}

-- The order, and what else there is to know of its schedule; nil when that is no longer what the survey saw.
local function read(row)
  local id, revision, incarnation, next_run, carry = row[1], row[2], row[4], row[5], row[6]
  local r = redis.call('HMGET', SCHEDULE .. id, 'revision', 'next_run_ms', 'carry', 'incarnation', 'last_tick_ms',
    'failures', 'terms', 'backlog', 'used_revision', 'finished')
  if r[1] ~= revision or (r[2] or '') ~= next_run or (r[3] or '') ~= carry or r[4] ~= incarnation then
    return nil
  end
  local terms, digest = terms_of(row[15] ~= '' and row[15] or r[7])
  local backlog = backlog_of(r[8])
  return {
    id = id, definition_revision = row[3], incarnation = incarnation, next_run = next_run, carry = carry,
    new_next = row[7], new_due = row[8], new_carry = row[9], dropped = row[10], dropped_first = row[11],
    dropped_last = row[12], cut = row[13], asked_for = row[14] == '1', terms = terms, digest = digest, ticks = row[16],
    last_tick = tonumber(r[5] or '') and r[5] or '-1', failures = r[6], backlog = r[8] or '',
    waits_until = backlog and backlog.upto or 0, used_revision = r[9] or '', finished = r[10] or '',
  }
end

-- A queued tick gives way to the newer one; its job, when it is popped, runs the newer tick instead.
local function coalesce_older(s, tick)
  for _, older in ipairs(redis.call('ZRANGE', PENDING .. s.id, '-inf', '(' .. tick, 'BYSCORE', 'LIMIT', 0, 20)) do
    local o = load(s.id, older)
    if o and may_give_way(o) then
      local evidence = snapshot(o)
      evidence.later_tick_ms = tick
      coalesce(o, evidence)
    end
  end
end

local function already(s, o)
  local same = o.kind == 'scheduled' and o.incarnation == s.incarnation
    and o.idempotency_key == o.member .. ':' .. s.digest
  if same then
    return 'enqueued', 'replayed', o.job_id
  end
  return 'deduplicated', o.kind == 'scheduled' and 'id_conflict' or 'unique_key', o.job_id
end

-- Why the tick must not be enqueued now: it is there already, the schedule is held, or an earlier one is running.
-- Nil, and whether one is running, when it may. Mostly none of these keys exists, and one look shows it.
local function obstacle(s, tick)
  local occurrence = OCCURRENCE .. member(s.id, tick)
  if redis.call('EXISTS', occurrence, HELD .. s.id, ACTIVE .. s.id, PENDING .. s.id) == 0 then
    return nil, false
  end
  if redis.call('EXISTS', occurrence) == 1 then
    return { already(s, load(s.id, tick)) }
  end
  if redis.call('EXISTS', HELD .. s.id) == 1 then
    return { 'skipped', 'quarantined' }
  end
  if redis.call('ZCARD', PENDING .. s.id) >= tonumber(queue_limit) then
    return { 'failed', 'backpressure' }
  end
  local busy = s.terms.overlap ~= 'allow' and is_busy(s.id, tick)
  if s.asked_for then
    return nil, busy
  end
  if tonumber(tick) <= s.waits_until then
    return nil, busy -- decided with the first part, when none was running; it waits its turn
  end
  if busy and (s.terms.overlap == 'skip' or redis.call('ZCARD', PENDING .. s.id) >= s.terms.buffer) then
    return { 'skipped', 'overlap' }
  end
  if s.terms.coalesces then
    s.older_pending = true
  end
  return nil, busy
end

-- The occurrence needs its definition until it ends: the schedule's own, which an edit then keeps, or the one that
-- the carried ticks came with (`duly.common.store.carry`), which stands nowhere else.
local function keep_definition(s)
  if s.carry == '' then
    s.used_revision = s.definition_revision
  elseif not s.keeps_definition then
    local definition = cjson.decode(s.carry)[1][1]
    redis.call('HSET', SUPERSEDED .. s.id, s.incarnation .. '.' .. s.definition_revision, definition)
    s.keeps_definition = true
  end
end

local function create_tick(s, tick, jitter_ms)
  local o = create(s.id, tick, 'scheduled', s.terms, s.digest, s.definition_revision, s.incarnation,
    job_id_of(s.id, tick, 1), jitter_ms)
  if tonumber(tick) > tonumber(s.last_tick) then
    s.last_tick = tick
  end
  keep_definition(s)
  return o
end

-- What the contract does not let run becomes a hold of its schedule, unless a hold is there already. `seen`: evidence
-- that the occurrence itself does not show.
local function hold_tick(s, tick, jitter_ms, code, seen)
  if redis.call('EXISTS', OCCURRENCE .. member(s.id, tick)) == 1 then
    return already(s, load(s.id, tick))
  end
  if redis.call('EXISTS', HELD .. s.id) == 0 then
    local o = create_tick(s, tick, jitter_ms)
    local evidence = snapshot(o)
    for name, value in pairs(seen) do
      evidence[name] = value
    end
    hold(o, code, {}, evidence)
  end
  return 'skipped', 'quarantined'
end

local function enqueue(s, tick, jitter_ms)
  local found, busy = obstacle(s, tick)
  if found then
    return unpack(found)
  end
  local queue = s.terms.queue
  lengths[queue] = lengths[queue] or length_of(queue)
  if lengths[queue] >= tonumber(queue_limit) then
    return 'failed', 'backpressure'
  end
  local o = create_tick(s, tick, jitter_ms)
  watch(o, next_look_ms(0))
  if awaits_approval(o) then
    watch(o, approval_look_ms(o))
  elseif not busy then
    push_job(s.id, tick, 1, queue, given.jobs[queue])
    lengths[queue] = lengths[queue] + 1
  end
  if s.older_pending then
    coalesce_older(s, tick)
  end
  return 'enqueued', 'accepted', o.job_id
end

local function settle_tick(s, tick, jitter_ms, action, wanted)
  local outcome, reason, job_id
  if action == 'enqueue' then
    outcome, reason, job_id = enqueue(s, tick, jitter_ms)
  elseif action == 'hold' then
    -- Whatever finished last, the next tick comes after it.
    outcome, reason = hold_tick(s, tick, jitter_ms, wanted, { last_run_ms = string.match(s.finished, '%d+') })
  else
    outcome, reason = action == 'skip' and 'skipped' or 'failed', wanted
  end
  audit(s.id, tick, outcome, reason, job_id)
  return outcome, reason
end

-- Failing schedules wait 1 s, 2 s, ... up to 64 s, so that they take no room from the others. How late they are by then
-- does not show from when they are looked at next.
local function stay_due(s, tick)
  local failures = redis.call('HINCRBY', SCHEDULE .. s.id, 'failures', 1)
  redis.call('HSET', SCHEDULE .. s.id, 'last_tick_ms', s.last_tick, 'used_revision', s.used_revision,
    'next_run_ms', s.carry == '' and tick or s.next_run, 'carry', s.carry, 'backlog', s.backlog)
  redis.call('ZADD', DUE, int(NOW + 1000 * 2 ^ math.min(failures - 1, 6)), s.id)
  redis.call('ZADD', FAILING, tonumber(tick) and tick or NOW_MS, s.id)
end

local function advance(s)
  redis.call('HSET', SCHEDULE .. s.id, 'last_tick_ms', s.last_tick, 'used_revision', s.used_revision, 'next_run_ms',
    s.new_next, 'carry', s.new_carry, 'backlog', s.backlog)
  if s.failures then
    redis.call('HDEL', SCHEDULE .. s.id, 'failures')
    redis.call('ZREM', FAILING, s.id)
  end
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

-- What is not settled yet is remembered: the drop that was decided with it, recorded with its last part, and up to which
-- tick a running occurrence makes the rest wait and skips none of it, since it made none of the first ones skip.
local function rest_of_backlog(s, done)
  local old, accepted = backlog_of(s.backlog), false
  for _, each in ipairs(done) do
    accepted = accepted or each == 'enqueued:accepted'
  end
  if s.backlog ~= '' and tonumber(s.dropped) == 0 then
    return s.backlog
  end
  local count, first = tonumber(s.dropped), s.dropped_first
  if old and old.upto == 0 and tonumber(old.count) > 0 then
    count, first = count + tonumber(old.count), old.first -- nothing was enqueued between the two
  else
    audit_backlog(s.id, s.backlog)
  end
  local last = s.cut ~= '' and s.cut or s.ticks[#s.ticks][1]
  local upto = math.max(accepted and tonumber(last) or 0, s.waits_until)
  return table.concat({ int(upto), int(count), first, s.dropped_last }, ' ')
end

-- The carried ticks from the one that has failed on; those before it are settled.
local function rest_of_carry(s, tick)
  local carried = cjson.decode(s.carry)
  carried[1][3] = tonumber(tick)
  return cjson.encode(carried)
end

local function record_drops(s)
  if s.backlog == '' and s.dropped == '0' then
    return
  end
  audit_backlog(s.id, s.backlog)
  audit_dropped(s.id, s.dropped, s.dropped_first, s.dropped_last)
  s.backlog, s.dropped, s.dropped_first, s.dropped_last = '', '0', '', ''
end

-- What its occurrences would have to keep is not there: nothing of the order can be carried out.
local function fail_untouched(s)
  audit(s.id, s.carry == '' and s.next_run or s.ticks[1][1], 'failed', 'invalid_schedule')
  stay_due(s, s.next_run)
  return { 'failed', 'failed:invalid_schedule' }
end

local function apply(s)
  if not s then
    return { 'changed' }
  end
  if #s.ticks > 0 and not s.terms.fields then
    return fail_untouched(s)
  end
  if goes_back(s) then
    if tonumber(s.next_run) <= NOW and s.terms.fields then
      hold_tick(s, s.next_run, '0', 'HOLD_CHRONOLOGY_INVALID', {
        next_run_ms = int(math.min(tonumber(s.new_next), tonumber(s.next_run) - 1)),
      })
    end
    stay_due(s, s.next_run)
    return { 'backwards' }
  end
  local done, passes_over = { 'advanced' }, s.dropped ~= '0'
  if s.cut == '' and (s.carry == '' or #s.ticks > 0) then
    record_drops(s)
  end
  for _, t in ipairs(s.ticks) do
    local outcome, reason = settle_tick(s, unpack(t))
    done[#done + 1] = outcome .. ':' .. reason
    if outcome == 'failed' then
      done[1] = 'failed'
      s.backlog = rest_of_backlog(s, done)
      if s.carry ~= '' and (passes_over or #done > 2) then
        s.carry = rest_of_carry(s, t[1])
      end
      stay_due(s, t[1])
      return done
    end
  end
  if s.cut ~= '' then
    s.backlog = rest_of_backlog(s, done)
  end
  advance(s)
  return done
end

local replies = {}
tally_together()
for at, row in ipairs(given.schedules) do
  replies[at] = apply(read(row))
end
write_tallies()
return { 'dispatched', cjson.encode(replies) }
