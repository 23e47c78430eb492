-- Which calls the Redis user may not make. A server refuses a call in the middle of a script, and what was written before
-- it stays: so they are asked for before anything runs. Any text will do behind a stem, where a user is bound to a prefix.
-- ARGV: calls
-- Replies: permitted
-- Writes: nothing

local may = redis.acl_check_cmd or function() return true end -- a fake has no users
local refused = {}
for _, call in ipairs(cjson.decode(calls)) do
  if not may(unpack(call)) then
    refused[#refused + 1] = table.concat(call, ' ')
  end
end
return { 'permitted', refused }
