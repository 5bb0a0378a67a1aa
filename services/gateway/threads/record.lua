-- record writes a turn, its two messages and its thread, and marks its request as done, all or nothing. It leaves the queues and
-- returns 'recorded'; or 'lost' when the lock is lost, or 'foreign' when the thread has become another shopper's. It may be run
-- twice: after a lost connection, the client does not know whether the script ran.
-- Begins with queuelock.lua of services/internal/state, and owner.lua.
local thread, messages, turns, requests, turn_key, journal = key(1), key(2), key(3), key(4), key(5), key(6)
local about_key = key(7)
local turn, request, customer, title = arg(1), arg(2), arg(3), arg(4)
local question, answer, reply, shown = arg(5), arg(6), arg(7), arg(8)
local millis, score, expired, ttl, most, hash = arg(9), arg(10), arg(11), arg(12), arg(13), arg(14)
local cart, any, about = arg(15), arg(16) == '1', arg(17)

-- A turn that is recorded has left its queues. A turn without queues always holds its lock.
if queues == 0 or not held() then
  if redis.call('EXISTS', turn_key) == 1 then
    local mine = request == '' or redis.call('HGET', journal, 'done') == token
    return mine and 'recorded' or 'lost'
  end
  if queues > 0 then return 'lost' end
end
release()
local known = redis.call('HMGET', thread, 'customer', 'cart', 'created', 'turns')
if foreign(known[1], known[2], customer, cart, any) then return 'foreign' end
-- The first turn binds a guest's thread to the cart. A later one does not, or else knowing the id would be enough to take it.
if known[1] then cart = known[2] or '' elseif customer ~= '' then cart = '' end

local function stamp(set, member)
  redis.call('ZADD', set, score, member)
  redis.call('ZREMRANGEBYSCORE', set, '-inf', expired)
  redis.call('PEXPIRE', set, ttl)
end

redis.call('HSET', thread, 'title', title, 'created', known[3] or millis, 'updated', millis,
  'customer', customer, 'cart', cart, 'shown', shown, 'turns', (known[4] or 0) + 1)
redis.call('PEXPIRE', thread, ttl)
redis.call('RPUSH', messages, question)
if answer ~= '' then redis.call('RPUSH', messages, answer) end -- else a person answers
redis.call('LTRIM', messages, -most, -1)
redis.call('PEXPIRE', messages, ttl)
redis.call('SET', turn_key, reply, 'PX', ttl)
redis.call('SET', about_key, about, 'PX', ttl)
stamp(turns, turn)
if request ~= '' then
  redis.call('DEL', journal) -- the reply has the routing and the answers
  redis.call('HSET', journal, 'hash', hash, 'turn', turn, 'done', token)
  redis.call('PEXPIRE', journal, ttl)
  stamp(requests, request)
end
return 'recorded'
