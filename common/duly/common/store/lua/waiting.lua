-- What waits for a reviewer, after a place in the list: kind by kind, each in order of instant and name. The place is
-- that of an entry of the first kind, which may be gone by now; without a name it is the beginning. Nothing is written.
-- ARGV: kinds most after_ms after_name
-- Replies: waiting
-- Writes: nothing

local LISTS = { hold = HOLDS, approval = APPROVALS }

-- By bytes, as sorted sets order names; `<` would ask for the server's locale.
local function precedes(a, b)
  for at = 1, math.min(#a, #b) do
    local one, other = string.byte(a, at), string.byte(b, at)
    if one ~= other then
      return one < other
    end
  end
  return #a < #b
end

-- The rank of the first entry after the place. By halving: any number of entries may share an instant.
local function first_after(key)
  local low, high, ms = 0, redis.call('ZCARD', key), tonumber(after_ms)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local entry = redis.call('ZRANGE', key, middle, middle, 'WITHSCORES')
    local score = tonumber(entry[2])
    if score > ms or (score == ms and precedes(after_name, entry[1])) then
      high = middle
    else
      low = middle + 1
    end
  end
  return low
end

local found = {}
for kind in string.gmatch(kinds, '%l+') do
  local first = 0
  if after_name ~= '' then
    first, after_name = first_after(LISTS[kind]), ''
  end
  local left = tonumber(most) - #found
  if left > 0 then
    local entries = redis.call('ZRANGE', LISTS[kind], first, first + left - 1, 'WITHSCORES')
    for at = 1, #entries, 2 do
      found[#found + 1] = { kind, string.format('%.0f', tonumber(entries[at + 1])), entries[at] }
    end
  end
end
return { 'waiting', found }
