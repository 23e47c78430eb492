-- The holder records success: RUNNING -> SUCCEEDED; see `completion`.
-- include: completion
-- ARGV: schedule_id tick_ms token fencing_token result_ref owner expires_ms
-- Replies: recorded | held | late | missing

return complete(load_for_holder(schedule_id, tick_ms), token, fencing_token, result_ref, owner, expires_ms)
