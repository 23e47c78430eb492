-- A schedule as the duty holder sees it, to plan its ticks from; nil when it is gone. All values are text. One whose key
-- holds something else, or that stands nowhere, is seen too, as `unreadable`: it must not keep the others from their
-- turn.

-- Whether the holder could do anything with it; and a paused one is due only when its pause is over.
local function is_readable(revision, incarnation, state, next_run, paused_until)
  return string.find(revision, '^%d+$') and incarnation and string.find(next_run or '', '^%d*$')
    and (state ~= 'paused' or string.find(paused_until or '', '^%d+$'))
end

local function seen_of(id)
  local s = redis.pcall('HMGET', SCHEDULE .. id, 'revision', 'definition_revision', 'incarnation', 'state',
    'next_run_ms', 'paused_until_ms', 'carry', 'finished')
  if not s.err and not s[1] then
    return nil
  end
  if s.err or not is_readable(s[1], s[3], s[4], s[5], s[6]) then
    return { id, '', '', '', 'unreadable', '', '', '', '' }
  end
  local last_run = string.match(s[8] or '', '^%d+')
  return { id, s[1], s[2] or '', s[3], s[4] or '', s[5] or '', s[6] or '', s[7] or '', last_run or '' }
end
