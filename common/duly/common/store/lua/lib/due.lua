-- A schedule as the duty holder sees it, to plan its ticks from; nil when it is gone. All values are text. One whose key
-- holds something else, or that stands nowhere, is seen too, as `unreadable`: it must not keep the others from their turn.

local function seen_of(id)
  local s = redis.pcall('HMGET', SCHEDULE .. id, 'revision', 'definition_revision', 'incarnation', 'state', 'next_run_ms',
    'paused_until_ms', 'carry', 'finished')
  if s.err then
    return { id, '', '', '', 'unreadable', '', '', '', '' }
  end
  if not s[1] then
    return nil
  end
  local paused_for_good = s[4] == 'paused' and not string.find(s[6] or '', '^%d+$')
  if not (string.find(s[1], '^%d+$') and s[3] and string.find(s[5] or '', '^%d*$')) or paused_for_good then
    return { id, '', '', '', 'unreadable', '', '', '', '' }
  end
  local last_run = string.match(s[8] or '', '^%d+')
  return { id, s[1], s[2] or '', s[3] or '', s[4] or '', s[5] or '', s[6] or '', s[7] or '', last_run or '' }
end
