-- record writes a turn, its two messages, its thread and that it is done, all or nothing, leaves the lines and returns
-- 'recorded'; or 'lost' when the turn's place is not the first any more, and 'foreign' when the thread has become another
-- customer's. It may be run twice: a client that has lost the connection does not know whether it was.
-- Begins with the Lua of services/internal/state.
local thread, messages, turns, requests = key(1), key(2), key(3), key(4)
local turn_key, journal, index = key(5), key(6), key(7)
local turn, thread_id, request, customer, title = arg(1), arg(2), arg(3), arg(4), arg(5)
local question, answer, reply, shown = arg(6), arg(7), arg(8), arg(9)
local millis, score, expired, ttl, most = arg(10), arg(11), arg(12), arg(13), arg(14)

if redis.call('EXISTS', turn_key) == 1 then
  local mine = request == '' or redis.call('HGET', journal, 'done') == token
  return mine and 'recorded' or 'lost'
end
if not first() then return 'lost' end
leave()
local owner = redis.call('HGET', thread, 'customer')
if owner and owner ~= '' and owner ~= customer then return 'foreign' end

local function stamp(set, member)
  redis.call('ZADD', set, score, member)
  redis.call('ZREMRANGEBYSCORE', set, '-inf', expired)
  redis.call('PEXPIRE', set, ttl)
end

redis.call('HSETNX', thread, 'title', title)
redis.call('HSETNX', thread, 'created', millis)
redis.call('HSET', thread, 'updated', millis, 'customer', customer, 'shown', shown)
redis.call('HINCRBY', thread, 'turns', 1)
redis.call('PEXPIRE', thread, ttl)
redis.call('RPUSH', messages, question, answer)
redis.call('LTRIM', messages, -most, -1)
redis.call('PEXPIRE', messages, ttl)
redis.call('SET', turn_key, reply, 'PX', ttl)
stamp(turns, turn)
if customer ~= '' then stamp(index, thread_id) end
if request ~= '' then
  -- The reply has the routing and the answers in it.
  local hash = redis.call('HGET', journal, 'hash') or ''
  redis.call('DEL', journal)
  redis.call('HSET', journal, 'hash', hash, 'turn', turn, 'thread', thread_id, 'done', token)
  redis.call('PEXPIRE', journal, ttl)
  stamp(requests, request)
end
return 'recorded'
