-- Schedules that may fit a search, in order of their ids between two bounds: at most `most` of at most `looks` that are
-- looked at. Which of them fit is the caller's to say where letters are not ASCII. Nothing is written.
-- ARGV: low high most looks text state
-- Replies: found
-- Writes: nothing

local function stands(id, stored)
  return stored == 'active' and redis.call('EXISTS', HELD .. id) == 1 and 'quarantined' or stored
end

local function named(id, definition)
  local d = cjson.decode(definition)
  return string.lower(id .. ' ' .. d.task .. ' ' .. d.queue .. ' ' .. d.review_owner)
end

-- Enough to pass most over without reading their JSON: the text up to what would be written otherwise there.
local word = string.match(text, '^[^%s%c"\\]*')

local function may_fit(id)
  local s = redis.call('HMGET', SCHEDULE .. id, 'definition', 'state')
  if not s[1] or (state ~= '' and stands(id, s[2]) ~= state) then
    return false
  end
  if text == '' or string.find(s[1], '\\u', 1, true) then
    return true
  end
  if not string.find(string.lower(s[1]), word, 1, true) then
    return false
  end
  local read, names = pcall(named, id, s[1])
  return not read or string.find(names, text, 1, true) ~= nil
end

local ids = redis.call('ZRANGE', SCHEDULES, low, high, 'BYLEX', 'LIMIT', 0, looks + 1)
local found, looked, reached = {}, 0, ''
for _, id in ipairs(ids) do
  if #found == tonumber(most) or looked == tonumber(looks) then
    break
  end
  looked, reached = looked + 1, id
  if may_fit(id) then
    found[#found + 1] = id
  end
end
return { 'found', found, looked, reached, #ids > looked and 'more' or 'end' }
