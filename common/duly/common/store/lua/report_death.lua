-- The parent of a work-horse has seen it end: what that owner holds of the schedule is handed back before `begin`, or
-- unknown after it. Looked for by the owner's name, since a work-horse may have taken a newer tick than its job named.
-- include: outcome
-- ARGV: schedule_id owner reason
-- Replies: released | retry | held | lost

for _, tick in ipairs(redis.call('ZRANGE', ACTIVE .. schedule_id, 0, 99)) do
  local o = load(schedule_id, tick)
  local open = o and (o.state == 'LEASED' or o.state == 'RUNNING')
  local lease = redis.call('GET', LEASE .. member(schedule_id, tick))
  if open and o.lease_owner == owner and (not lease or lease == o.lease_id) then
    lose(o, reason)
    if o.state == 'PENDING' then
      return { 'released' }
    end
    return { o.state == 'HELD' and 'held' or 'retry' }
  end
end
return { 'lost' }
