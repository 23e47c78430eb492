-- What the scripts need of a definition, as the schedule's hash keeps it (`duly.common.store.sweeping.terms`): the digest
-- of its work, a space, and as JSON what other schedules may have as well. That is read once for all that have it.

local shared_terms = {}

local function decoded(shared)
  local terms = cjson.decode(shared)
  local fields, named = terms.fields or {}, {}
  for at = 1, #fields, 2 do
    named[fields[at]] = fields[at + 1]
  end
  terms.as_defaults = { __index = named }
  return terms
end

-- The terms, and the digest; both empty where the schedule has none.
local function terms_of(text)
  local digest, shared = string.match(text or '', '^(%x+) (.*)$')
  shared = shared or '{}'
  shared_terms[shared] = shared_terms[shared] or decoded(shared)
  return shared_terms[shared], digest or ''
end
