-- Who changed what of a schedule: the newest 100 changes. `actor` is given to every script. `detail` is JSON; what a task
-- is called with never goes in.
-- include: record

local CHANGES_KEPT = 100

local function changed(id, what, detail)
  redis.call('XADD', CHANGES .. id, 'MAXLEN', '=', CHANGES_KEPT, '*', 'what', what, 'actor', actor, 'revision',
    redis.call('HGET', SCHEDULE .. id, 'revision') or '', 'detail', detail or '{}', 'at_ms', NOW_MS)
end
