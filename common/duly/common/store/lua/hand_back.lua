-- The holder of the lease decided that there is nothing to run now: LEASED -> COALESCED for a tick that gives way to a
-- later one, LEASED -> PENDING for one that is not due before `not_before_ms`, the attempt not counted. By compare-and-set
-- on the evidence; one that somebody may be at work on is held instead. Asked again with the same token: the same answer.
-- include: outcome
-- ARGV: schedule_id tick_ms token decision reconciled evidence not_before_ms
-- Replies: coalesced | held | released | changed | lost

local o = load(schedule_id, tick_ms)
if o and o.lease_id == token and o.state == 'COALESCED' then
  return { 'coalesced' }
end
if o and o.state == 'PENDING' and o.lease_id == token and has_let_go(o, token) then
  return { 'released' }
end
if not owns(o, token) or o.state ~= 'LEASED' then
  return { 'lost' }
end
local seen = decided_from(o, evidence, reconciled)
if not seen then
  return { 'changed', cjson.encode(snapshot(o)) }
end
if decision == 'COALESCED_STALE_TICK' then
  end_lease(o)
  coalesce(o, seen)
  return { o.state == 'HELD' and 'held' or 'coalesced' }
end
local fields = { 'let_go', let_go(o), 'attempt', o.counted == '1' and int(tonumber(o.attempt) - 1) or o.attempt }
decided(o, fields, decision, seen)
give_back(o, math.max(NOW, tonumber(not_before_ms)), decision, fields)
return { 'released' }
