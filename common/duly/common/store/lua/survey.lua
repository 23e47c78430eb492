-- The duty holder renews the duty and sees what is due: a page of schedules, a page of open occurrences, and
-- when it must look again. One round trip whether or not there is work; what is due, as JSON, and for both pages whether
-- they were full, whatever was found on them. The first ones of either that are in work already are left out.
-- include: record
-- include: delivery
-- include: due
-- ARGV: duty_token duty_ttl_ms page skip_schedules skip_occurrences
-- Replies: surveyed | lost_duty

if redis.call('GET', DUTY) ~= duty_token then
  return { 'lost_duty' }
end
redis.call('PEXPIRE', DUTY, duty_ttl_ms)
redis.call('PEXPIRE', DUTY_HOLDER, duty_ttl_ms)

local function due_now(key, from)
  return redis.call('ZRANGE', key, '-inf', NOW_MS, 'BYSCORE', 'LIMIT', from, page)
end

local function next_instant(key)
  return redis.call('ZRANGE', key, '(' .. NOW_MS, '+inf', 'BYSCORE', 'LIMIT', 0, 1, 'WITHSCORES')[2] or ''
end

-- Nothing can be written to what is no record, not even that it failed: it comes back after as long as one that fails.
local UNREADABLE_MS = 64000

-- Whether it names an occurrence: what `duly.common.identity.Occurrence.parse` can read.
local LAST_TICK_MS = 253402300799999

local function is_name(text)
  local id, tick = string.match(text, '^([a-z0-9][a-z0-9_-]*)@(%d+)$')
  return id ~= nil and #id <= 64 and #tick <= 15 and tonumber(tick) <= LAST_TICK_MS
end

local schedules, ids = {}, due_now(DUE, skip_schedules)
for _, id in ipairs(ids) do
  local seen = seen_of(id)
  schedules[#schedules + 1] = seen
  if not seen then
    redis.call('ZREM', DUE, id)
  elseif seen[5] == 'unreadable' then
    redis.call('ZADD', DUE, int(NOW + UNREADABLE_MS), id)
  end
end

-- The usual case, answered here and now: it was delivered, and its job still waits its turn.
local function waits_its_turn(name, state, job_id, queue, looks)
  if state ~= 'PENDING' or job_id == '' or not in_queue(job_id, queue) then
    return false
  end
  redis.call('HSET', OCCURRENCE .. name, 'looks', int(looks + 1))
  redis.call('ZADD', WATCH, int(next_look_ms(looks)), name)
  return true
end

local occurrences, names = {}, due_now(WATCH, skip_occurrences)
for _, name in ipairs(names) do
  local o = redis.pcall('HMGET', OCCURRENCE .. name, 'state', 'job_id', 'queue', 'looks', 'attempt')
  local attempt, queue = tonumber(o[5] or '0'), o[3] or 'default'
  if o.err or not attempt then
    redis.call('ZADD', WATCH, int(NOW + UNREADABLE_MS), name)
  end
  if not is_name(name) then
    redis.call('ZREM', WATCH, name) -- nothing by that name can be looked at
  elseif not waits_its_turn(name, o[1], o[2] or '', queue, tonumber(o[4] or '') or 0) then
    occurrences[#occurrences + 1] = { name, int(attempt or 0), queue }
  end
end
local upcoming = { next_instant(DUE), next_instant(WATCH) }
local clock = string.format('%.0f.%03d', NOW, TIME[2] % 1000)
local full = { #ids == tonumber(page) and 1 or 0, #names == tonumber(page) and 1 or 0 }
return { 'surveyed', clock, cjson.encode(schedules), cjson.encode(occurrences), upcoming, full }
