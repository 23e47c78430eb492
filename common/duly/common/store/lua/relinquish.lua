-- The owner's side gives the occurrence up without an outcome: handed back before `begin` (LEASED -> PENDING),
-- or unknown after it. The proof is the lease's token, or, from the parent of a dead work-horse, the owner's
-- name: the parent has seen that process end.
-- include: record
-- ARGV: schedule_id tick_ms token owner reason
-- Replies: released | retry | held | lost | missing

local o = load(schedule_id, tick_ms)
if not o then
  return { 'missing' }
end
local open = o.state == 'LEASED' or o.state == 'RUNNING'
local proven = (token ~= '' and o.lease_id == token) or (owner ~= '' and o.lease_owner == owner)
local lease = redis.call('GET', LEASE .. o.member)
if not open or not proven or (lease and lease ~= o.lease_id) then
  return { 'lost' }
end
lose(o, reason)
if o.state == 'PENDING' then
  return { 'released' }
end
return { o.state == 'HELD' and 'held' or 'retry' }
