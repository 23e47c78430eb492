-- What a script finds beside Lua itself, as in Redis: `redis`, `cjson`, KEYS and ARGV, and no way to make or to read
-- any other global. Gives three functions: one runs a script, one takes a value apart, and one makes of compiled Lua
-- a script.

local call, protected_call, decode, null = ...

-- cjson, as Redis has it: 14 digits, an empty table is an object, and a table whose keys are 1, 2, ... an array.
local SPARSE_SAFE, SPARSE_RATIO, DEEPEST = 10, 2, 1000
local SHORT = {
  ['"'] = '\\"', ['\\'] = '\\\\', ['/'] = '\\/', ['\b'] = '\\b', ['\t'] = '\\t', ['\n'] = '\\n', ['\f'] = '\\f',
  ['\r'] = '\\r',
}
local format, gsub, byte, concat, floor, huge = string.format, string.gsub, string.byte, table.concat, math.floor, math.huge
local type, pairs, error, unpack, rawget = type, pairs, error, unpack, rawget

local function escaped(char)
  return SHORT[char] or format('\\u%04x', byte(char))
end

local function quoted(text)
  return '"' .. gsub(text, '[%z\1-\31\127"/\\]', escaped) .. '"'
end

local function digits(number)
  if number ~= number or number == huge or number == -huge then
    error('Cannot serialise number: must not be NaN or Inf')
  end
  return format('%.14g', number)
end

-- The length of an array; 0 for what is none.
local function array_length(t)
  local most, count = 0, 0
  for key in pairs(t) do
    if type(key) ~= 'number' or key < 1 or floor(key) ~= key then
      return 0
    end
    most, count = key > most and key or most, count + 1
  end
  if most > count * SPARSE_RATIO and most > SPARSE_SAFE then
    error('Cannot serialise table: excessively sparse array')
  end
  return most
end

local json

local function array_json(t, length, depth)
  local out = {}
  for at = 1, length do
    out[at] = json(t[at], depth)
  end
  return '[' .. concat(out, ',') .. ']'
end

local function object_json(t, depth)
  local out = {}
  for key, value in pairs(t) do
    if type(key) == 'number' then
      key = '"' .. digits(key) .. '"'
    elseif type(key) == 'string' then
      key = quoted(key)
    else
      error('Cannot serialise table: table key must be a number or string')
    end
    out[#out + 1] = key .. ':' .. json(value, depth)
  end
  return '{' .. concat(out, ',') .. '}'
end

function json(value, depth)
  local kind = type(value)
  if kind == 'string' then
    return quoted(value)
  elseif kind == 'number' then
    return digits(value)
  elseif kind == 'boolean' then
    return value and 'true' or 'false'
  elseif value == nil or value == null then
    return 'null'
  elseif kind ~= 'table' then
    error('Cannot serialise ' .. kind .. ': type not supported')
  end
  if depth > DEEPEST then
    error('Cannot serialise, excessive depth (' .. depth .. ')')
  end
  local length = array_length(value)
  if length > 0 then
    return array_json(value, length, depth + 1)
  end
  return object_json(value, depth + 1)
end

-- Every global of a script. No random numbers: no two runs would be the same.
local globals = {
  KEYS = {}, ARGV = {},
  cjson = { encode = function(value) return json(value, 1) end, decode = decode, null = null },
  redis = {
    call = call,
    pcall = protected_call,
    error_reply = function(text) return { err = text } end,
    status_reply = function(text) return { ok = text } end,
  },
  string = string, table = table, math = math,
}
for _, name in pairs({
  '_VERSION', 'assert', 'error', 'getmetatable', 'ipairs', 'next', 'pairs', 'pcall', 'rawequal', 'rawget', 'rawset',
  'select', 'setmetatable', 'tonumber', 'tostring', 'type', 'unpack', 'xpcall',
}) do
  globals[name] = _G[name]
end
math.random, math.randomseed = nil, nil

setmetatable(globals, {
  __index = function(_, name)
    error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
  end,
  __newindex = function(_, name)
    error("Script attempted to create global variable '" .. tostring(name) .. "'", 2)
  end,
})

-- What a value is as a reply, and what it consists of. unpack() would stop at some thousands of values.
local LONGEST = 4000

local function parts(value)
  if type(value) ~= 'table' then
    return 'one', value
  elseif rawget(value, 'err') ~= nil then
    return 'error', value.err
  elseif rawget(value, 'ok') ~= nil then
    return 'status', value.ok
  end
  local length = 0
  while value[length + 1] ~= nil do
    length = length + 1
  end
  if length > LONGEST then
    return 'long', length
  end
  return 'array', length, unpack(value, 1, length)
end

local function run(script, keys, arguments)
  globals.KEYS, globals.ARGV = keys, arguments
  return parts(script())
end

local function confined(script)
  return setfenv(script, globals)
end

return run, parts, confined
