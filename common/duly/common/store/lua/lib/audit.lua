-- Enqueue events: what became of each tick. The newest 100 of a schedule; a failure repeated for the same tick
-- folds into one record with its count.
-- include: record

local AUDIT_KEPT = 100

local function audit(id, e)
  local key = EVENTS .. id
  local times, first_recorded = e.count or '1', int(NOW)
  tally('tick:' .. e.outcome .. ':' .. e.reason, times)
  if e.outcome == 'failed' then
    local last = redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1]
    if last then
      local f = {}
      for at = 1, #last[2], 2 do
        f[last[2][at]] = last[2][at + 1]
      end
      if f.outcome == 'failed' and f.tick_ms == e.tick and f.reason == e.reason then
        times, first_recorded = int(tonumber(f.count) + 1), f.first_recorded_ms
        redis.call('XDEL', key, last[1])
      end
    end
  end
  redis.call('XADD', key, 'MAXLEN', '=', AUDIT_KEPT, '*', 'tick_ms', e.tick, 'outcome', e.outcome, 'reason',
    e.reason, 'job_id', e.job_id or '', 'count', times, 'first_tick_ms', e.first or e.tick, 'last_tick_ms',
    e.last or e.tick, 'first_recorded_ms', first_recorded, 'recorded_ms', int(NOW))
end

-- A backlog that is enqueued in parts: up to which tick, and what was dropped before its first. The drop is recorded
-- with the last part, or the parts would push its record out of the trail.
local function backlog_of(text)
  if not text or text == '' then
    return nil
  end
  local upto, count, first, last = string.match(text, '^(%d+) (%d+) (%d*) (%d*)$')
  return { upto = tonumber(upto), count = count, first = first, last = last }
end

-- Ticks dropped by policy or passed over by a pause, an edit or a delete: one record for all of them.
local function audit_dropped(id, count, first, last)
  if tonumber(count) > 0 then
    audit(id, {
      tick = last, outcome = 'skipped', reason = 'backlog_dropped', count = count, first = first, last = last,
    })
  end
end

local function audit_backlog(id, text)
  local backlog = backlog_of(text)
  if backlog then
    audit_dropped(id, backlog.count, backlog.first, backlog.last)
  end
end
