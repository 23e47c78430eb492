-- A worker claims one occurrence: PENDING -> LEASED; see `claim`.
-- include: claim
-- ARGV: schedule_id tick_ms token owner attempt
-- Replies: acquired | owned | waiting | not_due | superseded | held | coalesced | cancelled | finished | missing

return claim(load(schedule_id, tick_ms), token, owner, attempt)
