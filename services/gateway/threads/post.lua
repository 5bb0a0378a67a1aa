-- post adds a message to a thread that exists, unless ARGV[1] is '' or its request is that of the last post, and mutes the thread with
-- ARGV[4] '1', or lets it speak with '0'. It returns 0 when there is no such thread. It renews nothing: the indexes that name the thread
-- would expire before it.
local thread, messages = KEYS[1], KEYS[2]
local message, most, request, muted = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local left = redis.call('PTTL', thread)
if left <= 0 then return 0 end
if message ~= '' and (request == '' or redis.call('HGET', thread, 'posted') ~= request) then
  if redis.call('RPUSH', messages, message) > tonumber(most) then redis.call('LTRIM', messages, -most, -1) end
  if redis.call('PTTL', messages) < 0 then redis.call('PEXPIRE', messages, left) end
  if request ~= '' then redis.call('HSET', thread, 'posted', request) end
end
if muted ~= '' then redis.call('HSET', thread, 'muted', muted) end
return 1
