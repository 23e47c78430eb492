-- What the scripts need of a definition, as the schedule's hash keeps it (`duly.common.store.terms`): the digest
-- of its work, a space, and as JSON what other schedules may have as well. That is read once for all that have it.

local shared_terms = {}

-- Nothing at all, where what is kept is no terms.
local function decoded(shared)
  local readable, terms = pcall(cjson.decode, shared)
  local fields = readable and type(terms) == 'table' and terms.fields
  if type(fields) ~= 'table' or not fields[1] or type(terms.queue) ~= 'string' then
    return {}
  end
  local named = {}
  for at = 1, #fields, 2 do
    named[fields[at]] = fields[at + 1]
  end
  terms.as_defaults = { __index = named }
  return terms
end

-- The terms, and the digest; no `fields` in them where the schedule has none, and nothing can be enqueued on those.
local function terms_of(text)
  local digest, shared = string.match(text or '', '^(%x+) (.*)$')
  shared = shared or ''
  shared_terms[shared] = shared_terms[shared] or decoded(shared)
  return shared_terms[shared], digest
end
