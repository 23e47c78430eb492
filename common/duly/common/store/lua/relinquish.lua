-- The owner gives the occurrence up without an outcome: handed back before `begin` (LEASED -> PENDING), or unknown
-- after it. The proof is the lease's token. An owner whose lease the record has forgotten is a claim to it. Asked again
-- with the same token: the same answer, as long as nobody else has it.
-- include: outcome
-- ARGV: schedule_id tick_ms token reason owner expires_ms
-- Replies: released | retry | held | lost | missing

local function stands(o)
  return { o.state == 'HELD' and 'held' or o.state == 'RETRY_WAIT' and 'retry' or 'released' }
end

local o = load(schedule_id, tick_ms)
if not o then
  return { 'missing' }
end
local open = o.state == 'LEASED' or o.state == 'RUNNING'
local lease = token_of(o)
if open and o.lease_id == token and (not lease or lease == token) then
  lose(o, reason)
  return stands(o)
end
if o.lease_id == token and has_let_go(o, token) and not open and not TERMINAL[o.state] then
  return stands(o)
end
if is_contested(o, token, expires_ms) then
  contest(o, token, owner, expires_ms, {})
end
return { 'lost' }
