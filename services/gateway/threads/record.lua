-- record writes a turn, its two messages, its thread and that it is done, all or nothing, leaves the queues and returns
-- 'recorded'; or 'lost' when the turn's place is not the first any more, and 'foreign' when the thread has become another
-- customer's. It may be run twice: a client that has lost the connection does not know whether it was.
-- Begins with the Lua of services/internal/state.
local thread, messages, turns, requests = key(1), key(2), key(3), key(4)
local turn_key, journal, index = key(5), key(6), key(7)
local turn, thread_id, request, customer, title = arg(1), arg(2), arg(3), arg(4), arg(5)
local question, answer, reply, shown = arg(6), arg(7), arg(8), arg(9)
local millis, score, expired, ttl, most, hash = arg(10), arg(11), arg(12), arg(13), arg(14), arg(15)

-- One that has recorded has left its queues; one without queues may still be the first.
if queues == 0 or not held() then
  if redis.call('EXISTS', turn_key) == 1 then
    local mine = request == '' or redis.call('HGET', journal, 'done') == token
    return mine and 'recorded' or 'lost'
  end
  if queues > 0 then return 'lost' end
end
release()
local known = redis.call('HMGET', thread, 'customer', 'title', 'created', 'turns')
local owner = known[1]
if owner and owner ~= '' and owner ~= customer then return 'foreign' end

local function stamp(set, member, new)
  redis.call('ZADD', set, score, member)
  if not new then redis.call('ZREMRANGEBYSCORE', set, '-inf', expired) end
  redis.call('PEXPIRE', set, ttl)
end

local begins = not known[3]
redis.call('HSET', thread, 'title', known[2] or title, 'created', known[3] or millis, 'updated', millis,
  'customer', customer, 'shown', shown, 'turns', (known[4] or 0) + 1)
redis.call('PEXPIRE', thread, ttl)
if redis.call('RPUSH', messages, question, answer) > tonumber(most) then redis.call('LTRIM', messages, -most, -1) end
redis.call('PEXPIRE', messages, ttl)
redis.call('SET', turn_key, reply, 'PX', ttl)
stamp(turns, turn, begins)
if customer ~= '' then stamp(index, thread_id) end
if request ~= '' then
  -- The reply has the routing and the answers in it.
  redis.call('DEL', journal)
  redis.call('HSET', journal, 'hash', hash, 'turn', turn, 'thread', thread_id, 'done', token)
  redis.call('PEXPIRE', journal, ttl)
  stamp(requests, request, begins)
end
return 'recorded'
