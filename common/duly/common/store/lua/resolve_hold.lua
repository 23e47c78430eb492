-- A reviewer says what is true of a held occurrence: HELD -> PENDING, SUCCEEDED or ABANDONED. The same resolution
-- twice is one; a different one is refused, and so are another attempt beyond the budget, and a resolution that ended
-- an earlier hold of the occurrence: what was seen then says nothing of the attempt made since.
-- include: record
-- ARGV: schedule_id tick_ms outcome by evidence extra_attempts
-- Replies: resolved | same | spent | conflict | not_held | budget_spent | missing

local o = load(schedule_id, tick_ms)
if not o then
  return { 'missing' }
end
if o.state ~= 'HELD' then
  if not o.resolution then
    return { 'not_held', o.state }
  end
  local same = o.resolution == outcome and o.resolved_by == by and o.resolution_evidence == evidence
  return { same and 'same' or 'conflict', o.state }
end
if o.resolution == outcome and o.resolved_by == by and o.resolution_evidence == evidence then
  return { 'spent', o.state }
end
local budget = int(tonumber(o.retry_budget) + tonumber(extra_attempts))
if outcome == 'no-committed-result' and tonumber(o.attempt) >= tonumber(budget) then
  return { 'budget_spent', o.attempt }
end
local fields = {
  'resolution', outcome, 'resolved_by', by, 'resolution_evidence', evidence, 'resolved_ms', int(NOW),
}
local function also(name, value)
  fields[#fields + 1] = name
  fields[#fields + 1] = value
end
if outcome == 'committed' then
  also('result_ref', evidence)
  also('prior_outcome', 'COMMITTED')
  finish(o, 'SUCCEEDED', 'resolved', fields)
elseif outcome == 'abandoned' then
  finish(o, 'ABANDONED', 'resolved', fields)
else
  also('prior_outcome', 'NO_COMMITTED_RESULT')
  also('retry_budget', budget)
  also('backoff_delay_ms', '0')
  also('not_before_ms', int(NOW))
  also('looks', '0')
  also('job_id', '')
  move(o, 'PENDING', fields, 'resolved', outcome)
  watch(o, NOW)
  wake()
end
return { 'resolved', o.state }
