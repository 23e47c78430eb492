-- A process of the fleet says that it is there, and what it does.
-- include: record
-- ARGV: name ttl_ms details
-- Replies: seen

redis.call('SET', WORKER .. name, details, 'PX', ttl_ms)
redis.call('ZADD', WORKERS, NOW_MS, name)
redis.call('ZREMRANGEBYSCORE', WORKERS, '-inf', int(NOW - tonumber(ttl_ms)))
return { 'seen' }
