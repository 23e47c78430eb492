-- A reviewer says what is true of a held occurrence: HELD -> PENDING, SUCCEEDED or ABANDONED; or that a run which waits
-- for approval is not to be: PENDING -> ABANDONED. The same resolution twice is one. Refused are a different one, another
-- attempt beyond the budget, and a resolution that ended an earlier hold of the occurrence: what was seen then says
-- nothing of the attempt made since. `seen`: the version of the occurrence that the reviewer looked at.
-- include: changes
-- include: outcome
-- ARGV: schedule_id tick_ms seen outcome by evidence extra_attempts
-- Replies: resolved | same | spent | conflict | changed | claimed | not_held | budget_spent | missing

local o = load(schedule_id, tick_ms)
if not o then
  return { 'missing' }
end
-- Every resolution that the occurrence ever had is remembered by its own words.
local resolution = table.concat({ 'resolution', outcome, by, evidence, extra_attempts }, '\n')
local same = o[resolution] ~= nil
local refused_run = o.state == 'PENDING' and awaits_approval(o) and outcome == 'abandoned'
if o.state ~= 'HELD' and not refused_run then
  if not o.resolution then
    return { 'not_held', o.state }
  end
  return { same and 'same' or 'conflict', o.state }
end
if same then
  return { 'spent', o.state }
end
if seen ~= (o.version or '0') then
  return { 'changed', o.version or '0' }
end
if outcome == 'no-committed-result' then
  for name, claim in pairs(o) do
    local ends = string.sub(name, 1, 6) == 'claim:' and tonumber(string.match(claim, '^%d+'))
    if ends and ends > NOW then
      return { 'claimed', int(ends) } -- whoever claims it may still be at work
    end
  end
end
local budget = int((tonumber(o.retry_budget or '') or 0) + tonumber(extra_attempts))
if outcome == 'no-committed-result' and tonumber(o.attempt) >= tonumber(budget) then
  return { 'budget_spent', o.attempt }
end
o.acting = by
local fields = {
  'resolution', outcome, 'resolved_by', by, 'resolution_evidence', evidence, 'resolved_ms', NOW_MS,
  'extra_attempts', extra_attempts, 'late_results_seen', int(late_results(o)), resolution, NOW_MS,
}
if outcome == 'committed' then
  append(fields, 'result_ref', evidence, 'prior_outcome', 'COMMITTED')
  finish(o, 'SUCCEEDED', 'resolved', fields)
elseif outcome == 'abandoned' then
  finish(o, 'ABANDONED', 'resolved', fields)
else
  append(fields, 'prior_outcome', 'NO_COMMITTED_RESULT', 'result_ref', '', 'retry_budget', budget,
    'backoff_delay_ms', '0', 'not_before_ms', NOW_MS, 'looks', '0', 'job_id', '')
  move(o, 'PENDING', fields, 'resolved', outcome)
  watch(o, NOW)
  wake()
end
changed(schedule_id, 'resolved', cjson.encode({ tick_ms = tick_ms, outcome = outcome, by = by, evidence = evidence }))
return { 'resolved', o.state }
