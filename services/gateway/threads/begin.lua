-- begin acquires the lock of a turn. It returns {'acquired', the journal, the thread, its last messages}; or {'wait', how many
-- are ahead}. A turn that must not start leaves the queues: {'done', the turn that has answered the request}; {'reused'}, the
-- request id stands for another request; {'foreign'}, the thread is another shopper's.
-- Begins with queuelock.lua of services/internal/state, and owner.lua.
local journal, thread, messages, requests = key(1), key(2), key(3), key(4)
local request, hash, turn, known = arg(1), arg(2), arg(3), arg(4) == '1'
local customer, ttl, wanted, score = arg(5), arg(6), arg(7), arg(8)
local cart, any, trace = arg(9), arg(10) == '1', arg(11)

local kept = {}
if request ~= '' then
  kept = redis.call('HMGET', journal, 'hash', 'done', 'turn')
  if kept[1] and kept[1] ~= hash then release() return {'reused'} end
end
local owner = redis.call('HMGET', thread, 'customer', 'cart')
if foreign(owner[1], owner[2], customer, cart, any) then release() return {'foreign'} end
if kept[2] then release() return {'done', kept[3]} end

local ahead = acquire()
if ahead > 0 then return {'wait', ahead} end

local before, about, last = {}, {}, {}
if request ~= '' then
  if kept[1] then
    before = redis.call('HGETALL', journal)
  else
    before = {'hash', hash, 'turn', turn}
    redis.call('HSET', journal, unpack(before))
    if known then -- deleting the thread then finds the journal
      redis.call('ZADD', requests, score, request)
      redis.call('PEXPIRE', requests, ttl)
    end
  end
  if trace ~= '' then redis.call('HSET', journal, 'trace', trace) end
  redis.call('PEXPIRE', journal, ttl)
end
if known then
  about = redis.call('HGETALL', thread)
  last = redis.call('LRANGE', messages, -wanted, -1)
end
return {'acquired', before, about, last}
