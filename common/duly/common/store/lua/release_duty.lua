-- The holder hands the duty over: it is free at once, and the candidates are told.
-- include: record
-- ARGV: token
-- Replies: released | not_held

if redis.call('GET', DUTY) ~= token then
  return { 'not_held' }
end
redis.call('DEL', DUTY, DUTY_HOLDER)
redis.pcall('PUBLISH', DUTY_FREE, '')
return { 'released' }
