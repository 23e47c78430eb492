-- What the scripts need of a definition, as the schedule's hash keeps it (`duly.common.store.sweeping.terms`): the digest
-- of its work, a space, and as JSON what other schedules may have as well. That is read once for all that have it.

local shared_terms = {}

-- The terms, and the digest. Version 0.1 wrote the digest among the terms.
local function terms_of(text)
  local digest, shared = string.match(text, '^(%x+) (.*)$')
  shared = shared or text
  local terms = shared_terms[shared]
  if not terms then
    terms = cjson.decode(shared)
    local fields, named = terms.fields or {}, {}
    for at = 1, #fields, 2 do
      named[fields[at]] = fields[at + 1]
    end
    terms.as_defaults = { __index = named }
    shared_terms[shared] = terms
  end
  return terms, digest or terms.digest
end
