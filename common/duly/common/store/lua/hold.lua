-- The holder of the lease decided that it must not begin: LEASED -> HELD under a proven lease, by compare-and-set on the
-- evidence. Asked again with the same token: the same answer.
-- include: outcome
-- ARGV: schedule_id tick_ms token decision reconciled evidence cause
-- Replies: held | changed | lost

local o = load(schedule_id, tick_ms)
if o and o.state == 'HELD' and o.lease_id == token then
  return { 'held' }
end
if not owns(o, token) or o.state ~= 'LEASED' then
  return { 'lost' }
end
local seen = decided_from(o, evidence, reconciled)
if not seen then
  return { 'changed', cjson.encode(snapshot(o)) }
end
hold(o, decision, { 'let_go', let_go(o), 'cause', cause }, seen)
return { 'held' }
