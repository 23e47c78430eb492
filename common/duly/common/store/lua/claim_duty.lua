-- A candidate asks for the duty: the right to sweep, which one process of the fleet holds at a time.
-- include: record
-- ARGV: token holder ttl_ms
-- Replies: holding | taken

local current = redis.call('GET', DUTY)
if current and current ~= token then
  return { 'taken', redis.call('PTTL', DUTY) }
end
if current == token then
  redis.call('PEXPIRE', DUTY, ttl_ms)
  redis.call('PEXPIRE', DUTY_HOLDER, ttl_ms)
  return { 'holding', redis.call('HGET', DUTY_HOLDER, 'fence') or '' }
end
redis.call('SET', DUTY, token, 'NX', 'PX', ttl_ms)
local fence = int(redis.call('INCR', FENCE))
redis.call('DEL', DUTY_HOLDER)
redis.call('HSET', DUTY_HOLDER, 'holder', holder, 'fence', fence, 'since_ms', NOW_MS)
redis.call('PEXPIRE', DUTY_HOLDER, ttl_ms)
tally('duty', 1)
return { 'holding', fence }
