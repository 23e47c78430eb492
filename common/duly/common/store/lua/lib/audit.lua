-- Enqueue events: what became of each tick. The newest 100 of a schedule; a failure repeated for the same tick
-- folds into one record with its count.
-- include: record

local AUDIT_KEPT = 100

local LINE = '^' .. string.rep('([^\t]*)\t', 8)

-- The failure of the same tick for the same reason, when it is the newest event: its entry, its count, and since when.
local function same_failure(key, wanted_tick, wanted_reason)
  local last = redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1]
  local tick, outcome, reason, _, count, _, _, since = string.match(last and last[2][2] or '', LINE)
  if outcome == 'failed' and tick == wanted_tick and reason == wanted_reason then
    return last[1], tonumber(count), since
  end
  return nil
end

-- `count`, `first` and `last` are for ticks that one record speaks of together.
local function audit(id, tick, outcome, reason, job_id, count, first, last)
  local key = EVENTS .. id
  local times, first_recorded = count or '1', NOW_MS
  tally('tick:' .. outcome .. ':' .. reason, times)
  if outcome == 'failed' then
    local entry, before, since = same_failure(key, tick, reason)
    if entry then
      times, first_recorded = int(before + 1), since
      redis.call('XDEL', key, entry)
    end
  end
  local line = tick .. '\t' .. outcome .. '\t' .. reason .. '\t' .. (job_id or '') .. '\t' .. times .. '\t'
    .. (first or tick) .. '\t' .. (last or tick) .. '\t' .. first_recorded .. '\t' .. NOW_MS
  redis.call('XADD', key, 'MAXLEN', '=', AUDIT_KEPT, '*', 'line', line)
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
    audit(id, last, 'skipped', 'backlog_dropped', nil, count, first, last)
  end
end

local function audit_backlog(id, text)
  local backlog = backlog_of(text)
  if backlog then
    audit_dropped(id, backlog.count, backlog.first, backlog.last)
  end
end
