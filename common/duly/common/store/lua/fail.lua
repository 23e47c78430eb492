-- The holder records that the work failed and left no result: RUNNING -> RETRY_WAIT inside the budget, HELD
-- beyond it. Without a proven lease the report is late and only kept in the history.
-- include: outcome
-- ARGV: schedule_id tick_ms token error
-- Replies: retry | held | late | missing

local o = load(schedule_id, tick_ms)
if not o then
  return { 'missing' }
end
if has_let_go(o, token) then
  return { o.state == 'HELD' and 'held' or 'retry' }
end
if not (o.state == 'RUNNING' and owns(o, token)) then
  history(o, 'late_failure', error)
  return { 'late' }
end
local fields = {
  'last_error', error, 'last_error_attempt', o.attempt, 'last_error_ms', NOW_MS, 'last_error_by', o.lease_owner or '',
}
if unseen_results(o) > 0 then
  append(fields, 'prior_outcome', 'UNKNOWN', 'let_go', let_go(o))
  hold(o, 'HOLD_PRIOR_OUTCOME_UNKNOWN', fields)
  return { 'held' }
end
-- This attempt left no result; of an earlier one whose outcome is unknown that says nothing, unless a probe was asked.
local known = o.prior_outcome ~= 'UNKNOWN' or o.effects == 'guarded'
append(fields, 'prior_outcome', known and 'NO_COMMITTED_RESULT' or 'UNKNOWN')
retry(o, error, fields)
return { o.state == 'HELD' and 'held' or 'retry' }
