-- The holder records success: RUNNING -> SUCCEEDED. Without a proven lease the result is late: kept as evidence, never
-- as success. Two results of two owners, in whichever order they come, are a hold with both of them kept, and so is the
-- result of an owner whose lease the record has forgotten. One that comes after a probe or a reviewer has found its
-- effect bears them out. Asked again with the same token: the same answer.
-- include: outcome

-- Where a result that nobody may count as success is kept: under its fencing token. A store that forgot its counter too
-- gave the same one to several owners.
local function place_of(o, number, owner_token)
  local named, taken_by = 'late_result:' .. number, o['late_by:' .. number]
  local shared = number == o.fencing_token and owner_token ~= o.lease_id
  if shared or (taken_by and taken_by ~= owner_token) then
    return { named .. '/' .. string.sub(owner_token, 1, 8) }
  end
  return { named, 'late_by:' .. number, owner_token }
end

local function kept_as(place, reference)
  return { place[1], reference, unpack(place, 2) }
end

-- Those that are there, and those among the fields to write.
local function count_late_results(o, fields)
  local count = late_results(o)
  for at = 1, #fields, 2 do
    if not o[fields[at]] and string.sub(fields[at], 1, 12) == 'late_result:' then
      count = count + 1
    end
  end
  append(fields, 'late_results', int(count))
end

-- `o`: the occurrence, as `load_for_holder` gives it, which is enough for a plain success.
local function complete(o, token, fencing_token, result_ref, owner, expires_ms)
  if not o then
    return { 'missing' }
  end
  local is_owner = o.state == 'RUNNING' and owns(o, token)
  if is_owner and unseen_results(o) == 0 then
    end_lease(o)
    finish(o, 'SUCCEEDED', '', { 'result_ref', result_ref })
    return { 'recorded' }
  end

  o = load(o.id, o.tick)
  local by_report = o.state == 'SUCCEEDED' and o.reason == '' -- not by a reviewer's word, nor a probe's
  if by_report and o.lease_id == token then
    return { 'recorded' }
  end

  local place = place_of(o, fencing_token, token)
  if o.completed_by == token and o.state == 'HELD' then
    return { 'held' }
  end
  if is_owner then
    local fields = kept_as(place, result_ref)
    count_late_results(o, fields)
    append(fields, 'prior_outcome', 'UNKNOWN', 'completed_by', token, 'let_go', let_go(o))
    hold(o, 'HOLD_PRIOR_OUTCOME_UNKNOWN', fields)
    return { 'held' }
  end
  if o[place[1]] then
    return { 'late' }
  end
  history(o, 'late_result', 'fencing_token ' .. fencing_token)
  local fields = kept_as(place, result_ref)
  if by_report then
    append(fields, unpack(kept_as(place_of(o, o.fencing_token, o.lease_id), o.result_ref or '')))
  end
  count_late_results(o, fields)
  if is_contested(o, token, expires_ms) then
    contest(o, token, owner, expires_ms, fields)
  elseif by_report then
    append(fields, 'prior_outcome', 'UNKNOWN')
    hold(o, 'HOLD_PRIOR_OUTCOME_UNKNOWN', fields)
  else
    if INDEX[o.state] and o.state ~= 'HELD' and o.state ~= 'RUNNING' then
      append(fields, 'prior_outcome', 'UNKNOWN') -- whoever is next finds it before it begins
    end
    redis.call('HSET', OCCURRENCE .. o.member, unpack(fields))
    redis.call('HINCRBY', OCCURRENCE .. o.member, 'version', 1)
  end
  return { 'late' }
end
