-- The point of no return: LEASED -> RUNNING under a proven lease. What the task says of its effect is kept,
-- since it decides what an unknown outcome may lead to. Asked again with the same token: the same answer.
-- include: record
-- ARGV: schedule_id tick_ms token effects
-- Replies: begun | lost

local o = load(schedule_id, tick_ms)
if not owns(o, token) then
  return { 'lost' }
end
if o.state == 'LEASED' then
  move(o, 'RUNNING', { 'effects', effects, 'began_ms', int(NOW) }, 'began')
elseif o.state ~= 'RUNNING' then
  return { 'lost' }
end
return { 'begun' }
