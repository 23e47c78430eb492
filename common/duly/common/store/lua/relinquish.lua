-- The owner gives the occurrence up without an outcome: handed back before `begin` (LEASED -> PENDING), or unknown
-- after it. The proof is the lease's token.
-- include: outcome
-- ARGV: schedule_id tick_ms token reason
-- Replies: released | retry | held | lost | missing

local o = load(schedule_id, tick_ms)
if not o then
  return { 'missing' }
end
local open = o.state == 'LEASED' or o.state == 'RUNNING'
local lease = redis.call('GET', LEASE .. o.member)
if not open or o.lease_id ~= token or (lease and lease ~= token) then
  return { 'lost' }
end
lose(o, reason)
if o.state == 'PENDING' then
  return { 'released' }
end
return { o.state == 'HELD' and 'held' or 'retry' }
