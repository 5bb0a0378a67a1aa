-- begin takes the places of a turn and returns {'acquired', the journal, the thread, its last messages} when its time has
-- come, and {'wait', how many are ahead} until then. What can not become a turn is told at once and leaves the queues:
-- {'done', the turn that has answered the request}, {'reused'} for another body, {'foreign'} for another customer's thread.
-- Begins with the Lua of services/internal/state.
local journal, thread, messages, requests = key(1), key(2), key(3), key(4)
local request, hash, turn, thread_id, known = arg(1), arg(2), arg(3), arg(4), arg(5) == '1'
local customer, ttl, wanted, score = arg(6), arg(7), arg(8), arg(9)

local kept = {}
if request ~= '' then
  kept = redis.call('HMGET', journal, 'hash', 'done', 'turn')
  if kept[1] and kept[1] ~= hash then release() return {'reused'} end
  if kept[2] then release() return {'done', kept[3]} end
end
if known then -- it may be the customer's own, or a guest's, which becomes theirs when a guest signs in on the way
  local owner = redis.call('HGET', thread, 'customer')
  if owner and owner ~= '' and owner ~= customer then release() return {'foreign'} end
end

local ahead = acquire()
if ahead > 0 then return {'wait', ahead} end

local before, about, last = {}, {}, {}
if request ~= '' then
  if kept[1] then
    before = redis.call('HGETALL', journal)
  else
    before = {'hash', hash, 'turn', turn, 'thread', thread_id}
    redis.call('HSET', journal, unpack(before))
    if known then -- so that what deletes the thread finds the journal
      redis.call('ZADD', requests, score, request)
      redis.call('PEXPIRE', requests, ttl)
    end
  end
  redis.call('PEXPIRE', journal, ttl)
end
if known then
  about = redis.call('HGETALL', thread)
  last = redis.call('LRANGE', messages, -wanted, -1)
end
return {'acquired', before, about, last}
