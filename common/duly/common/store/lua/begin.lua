-- The point of no return: LEASED -> RUNNING under a proven lease, by compare-and-set on the evidence that the decision
-- was made from. What the task says of its effect is kept, since it decides what an unknown outcome may lead to; so is
-- what settled an unknown outcome of an earlier attempt. Asked again with the same token: the same answer.
-- include: evidence
-- ARGV: schedule_id tick_ms token effects decision reconciled evidence
-- Replies: begun | changed | lost

local o = load_for_holder(schedule_id, tick_ms)
if not owns(o, token) then
  return { 'lost' }
end
if o.state == 'RUNNING' then
  return { 'begun' }
end
if o.state ~= 'LEASED' or o.counted ~= '1' then
  return { 'lost' }
end
local seen = decided_from(o, evidence, reconciled)
if not seen then
  return { 'changed', cjson.encode(snapshot(load(schedule_id, tick_ms))) }
end
local fields = { 'effects', effects, 'began_ms', NOW_MS }
decided(o, fields, decision, seen)
move(o, 'RUNNING', fields, 'began', decision)
return { 'begun' }
