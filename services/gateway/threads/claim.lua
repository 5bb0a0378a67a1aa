-- claim claims a request id for a request with the hash ARGV[1] in the thread ARGV[2], and returns the thread of the first
-- claim. It returns '' if the first claim was for a request with another hash. A claim expires ARGV[3] milliseconds after the
-- first attempt, however often the request is repeated.
local kept = redis.call('HMGET', KEYS[1], 'hash', 'thread')
if kept[1] then return kept[1] == ARGV[1] and kept[2] or '' end
redis.call('HSET', KEYS[1], 'hash', ARGV[1], 'thread', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return ARGV[2]
