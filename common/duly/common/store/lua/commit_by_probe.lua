-- The probe of a guarded task said that the earlier attempt's effect is there: LEASED -> SUCCEEDED under a
-- proven lease, with the probe's word as the evidence.
-- include: outcome
-- ARGV: schedule_id tick_ms token result_ref
-- Replies: recorded | lost

local o = load(schedule_id, tick_ms)
if o and o.state == 'SUCCEEDED' and o.lease_id == token then
  return { 'recorded' }
end
if not owns(o, token) or o.state ~= 'LEASED' then
  return { 'lost' }
end
local fields = {
  'result_ref', result_ref, 'prior_outcome', 'COMMITTED', 'cause', 'the probe answered COMMITTED',
  'late_results_seen', int(late_results(o)),
}
local evidence = with(snapshot(o), fields)
evidence.state, evidence.late_results = 'SUCCEEDED', nil -- which the probe's answer bears out
decided(o, fields, 'ALREADY_COMMITTED', evidence)
end_lease(o)
finish(o, 'SUCCEEDED', 'probe', fields)
return { 'recorded' }
