-- What becomes of an occurrence: held, ended, tried again or given back. Each takes the fields that it is to write.
-- include: evidence

-- Holds that the contract decides only when nobody else claims the lease.
local GIVES_WAY_TO_A_CLAIM = {
  HOLD_LEASE_EXPIRED_OUTCOME_UNKNOWN = true, HOLD_PRIOR_OUTCOME_UNKNOWN = true, HOLD_LEASE_MISSING = true,
  HOLD_RETRY_BUDGET_EXHAUSTED = true, HOLD_BACKOFF_STATE_MISSING = true,
}

-- Somebody with another lease than the recorded one may be at work on it.
local function is_claimed_by_another(o, evidence)
  for at = 1, #evidence.claims, 3 do
    if evidence.claims[at] ~= o.lease_id and tonumber(evidence.claims[at + 2]) > NOW then
      return true
    end
  end
  return false
end

-- Nobody may attempt it until a reviewer says what is true of it. `evidence`: what the decision was made from, when the
-- caller decided; otherwise what there is now, beside the fields to write. A hold ends the lease.
local function hold(o, code, fields, evidence)
  evidence = evidence or with(snapshot(o), fields)
  if GIVES_WAY_TO_A_CLAIM[code] and is_claimed_by_another(o, evidence) then
    code = 'HOLD_CONCURRENT_LEASE_CLAIM'
  end
  end_lease(o)
  decided(o, fields, code, evidence)
  append(fields, 'held_ms', NOW_MS, 'hold_reason', code)
  move(o, 'HELD', fields, 'held', code)
  remember(o)
end

local function finish(o, state, reason, fields)
  append(fields, 'ended_ms', NOW_MS, 'reason', reason)
  move(o, state, fields, string.lower(state), reason)
  if state == 'SUCCEEDED' or state == 'ABANDONED' then
    remember(o)
  end
end

-- Whether somebody has to look before it may be closed: what an earlier owner left behind is not known.
local function is_open_question(o)
  return o.prior_outcome == 'UNKNOWN' or unseen_results(o) > 0
end

-- Whether it may give way to a later tick: nothing was attempted, and nobody asked for this very run.
local function may_give_way(o)
  return o.attempt == '0' and o.kind == 'scheduled' and o.coalesces == '1' and not o.approved_by
end

-- It gives way to a later tick of its schedule, which is due.
local function coalesce(o, evidence)
  if is_claimed_by_another(o, evidence) then
    return hold(o, 'HOLD_CONCURRENT_LEASE_CLAIM', {}, evidence)
  end
  if is_open_question(o) then
    evidence.reconciled = nil
    return hold(o, 'HOLD_PRIOR_OUTCOME_UNKNOWN', {}, evidence)
  end
  local fields = {}
  decided(o, fields, 'COALESCED_STALE_TICK', evidence)
  finish(o, 'COALESCED', 'newer_tick_due', fields)
end

-- Nothing more is to be attempted. An unknown outcome is not closed by that, and neither is somebody's claim: somebody
-- has to look.
local function cancel(o, reason)
  local evidence = snapshot(o)
  if is_claimed_by_another(o, evidence) then
    return hold(o, 'HOLD_CONCURRENT_LEASE_CLAIM', {}, evidence)
  end
  if is_open_question(o) then
    return hold(o, 'HOLD_PRIOR_OUTCOME_UNKNOWN', {}, evidence)
  end
  return finish(o, 'CANCELLED', reason, {})
end

local function budget_left(o)
  local made, budget = tonumber(o.attempt or ''), tonumber(o.retry_budget or '')
  return made ~= nil and budget ~= nil and made < budget
end

-- base * factor ^ (attempts made - 1), at most the maximum. A base of 0 stays 0, also where the power overflows. Nil
-- when the record does not say.
local function backoff_ms(o)
  local base, factor = tonumber(o.backoff_base_ms or ''), tonumber(o.backoff_factor or '')
  local most, made = tonumber(o.backoff_max_ms or ''), tonumber(o.attempt or '')
  if not (base and factor and most and made) then
    return nil
  end
  return math.floor(math.min(base == 0 and 0 or base * factor ^ (made - 1), most))
end

-- The leases that their owners let go of, the latest first: a renewal that was under way then is no claim.
local LET_GO_KEPT = 16

local function let_go(o)
  local tokens = { o.lease_id }
  for token in string.gmatch(o.let_go or '', '%S+') do
    tokens[#tokens + 1] = token
  end
  return table.concat(tokens, ' ', 1, math.min(#tokens, LET_GO_KEPT))
end

local function has_let_go(o, token)
  return string.find(o.let_go or '', token, 1, true) ~= nil
end

-- Back from its owner before the work began; nobody looks at it before `at_ms`.
local function give_back(o, at_ms, reason, fields)
  end_lease(o)
  append(fields, 'job_id', '', 'backoff_delay_ms', '0', 'not_before_ms', int(at_ms))
  move(o, 'PENDING', fields, 'released', reason)
  watch(o, at_ms)
  wake()
end

-- Waits for another attempt.
local function wait(o, event, reason, fields, delay)
  end_lease(o)
  append(fields, 'backoff_delay_ms', int(delay), 'not_before_ms', int(NOW + delay))
  move(o, 'RETRY_WAIT', fields, event, reason)
  watch(o, NOW + delay)
  wake()
end

-- The attempt failed: another one after a wait, inside the budget; beyond it the occurrence is held.
local function retry(o, reason, fields)
  local delay = backoff_ms(o)
  append(fields, 'let_go', let_go(o))
  if delay and budget_left(o) then
    return wait(o, 'failed', reason, fields, delay)
  end
  local evidence = with(snapshot(o), fields)
  evidence.state, evidence.reconciled = 'RETRY_WAIT', o.effects == 'idempotent' and 'idempotent' or nil
  if not delay then
    return hold(o, 'HOLD_BACKOFF_STATE_MISSING', fields, evidence)
  end
  evidence.backoff_delay_ms, evidence.not_before_ms = int(delay), NOW_MS
  return hold(o, 'HOLD_RETRY_BUDGET_EXHAUSTED', fields, evidence)
end

-- The lease is over and nobody recorded an outcome. Before `begin` that costs nothing; after it the outcome is unknown,
-- and only an effect declared repeatable, or a probe asked first, allows another attempt. The probe is asked also when
-- the budget is spent: it may know that nothing more is to be done.
local function lose(o, reason)
  local fields, over = { 'cause', reason }, (tonumber(o.lease_expires_ms or '') or 0) <= NOW
  if reason ~= 'lease_expired' then
    append(fields, 'let_go', let_go(o))
  end
  if o.state == 'LEASED' and o.counted == '1' then
    return give_back(o, NOW, reason, fields)
  end
  if o.state == 'LEASED' then -- beyond the budget nothing was to be attempted, and even that came to no answer
    local code = over and 'HOLD_LEASE_MISSING' or 'HOLD_RETRY_BUDGET_EXHAUSTED'
    return hold(o, o.prior_outcome == 'UNKNOWN' and 'HOLD_PRIOR_OUTCOME_UNKNOWN' or code, fields)
  end
  append(fields, 'prior_outcome', 'UNKNOWN')
  local delay = backoff_ms(o)
  if delay and o.effects == 'guarded' then
    return wait(o, 'outcome_unknown', reason, fields, budget_left(o) and delay or 0)
  end
  if delay and o.effects == 'idempotent' and budget_left(o) then
    return wait(o, 'outcome_unknown', reason, fields, delay)
  end
  if delay then
    append(fields, 'backoff_delay_ms', int(delay), 'not_before_ms', int(NOW + delay))
  end
  return hold(o, over and 'HOLD_LEASE_EXPIRED_OUTCOME_UNKNOWN' or 'HOLD_PRIOR_OUTCOME_UNKNOWN', fields)
end

-- An owner comes with a lease that the record does not know, and that by the store's own word to it is not over: what
-- was granted has been forgotten, and two may own the occurrence. Both claims are kept, and nobody goes on.
local function is_contested(o, token, expires_ms)
  return o.lease_id ~= token and not has_let_go(o, token) and o.state ~= 'ABANDONED' and tonumber(expires_ms) > NOW
end

local function contest(o, token, owner, expires_ms, fields)
  local name, claim = 'claim:' .. token, expires_ms .. ' ' .. owner
  if o.state == 'HELD' then
    local known = o[name] ~= nil and #fields == 0
    append(fields, name, claim)
    redis.call('HSET', OCCURRENCE .. o.member, unpack(fields))
    if not known then
      redis.call('HINCRBY', OCCURRENCE .. o.member, 'version', 1)
    end
    return
  end
  if o.state == 'LEASED' or o.state == 'RUNNING' then
    -- The owner on record is not told before it asks: until then its lease is a claim like the other.
    append(fields, 'claim:' .. o.lease_id, o.lease_expires_ms .. ' ' .. o.lease_owner)
  end
  o[name] = claim
  append(fields, name, claim, 'prior_outcome', 'UNKNOWN')
  hold(o, 'HOLD_CONCURRENT_LEASE_CLAIM', fields)
end
