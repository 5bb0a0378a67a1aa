-- The token ARGV[2] in ARGV[1] queues. The first KEYS are, for each queue, the list of tokens in order and the hash of the
-- times at which their leases expire. ARGV[3] is the lease in milliseconds. Times are those of the server's clock, so the
-- clocks of the processes may differ. QueueLockLua in queuelock.go describes the functions.
local queues, token, lease = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])

local function key(i) return KEYS[2 * queues + i] end
local function arg(i) return ARGV[3 + i] end

local function now()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- join renews the lease in the i-th queue, or appends the token to the queue. An abandoned queue expires.
local function join(i)
  if redis.call('HSET', KEYS[2 * i], token, now() + lease) == 1 then redis.call('RPUSH', KEYS[2 * i - 1], token) end
  redis.call('PEXPIRE', KEYS[2 * i - 1], lease * 10)
  redis.call('PEXPIRE', KEYS[2 * i], lease * 10)
end

local function acquire()
  for i = 1, queues do
    local queue, leases = KEYS[2 * i - 1], KEYS[2 * i]
    join(i)
    local head = redis.call('LINDEX', queue, 0)
    while head ~= token and tonumber(redis.call('HGET', leases, head) or '0') < now() do
      redis.call('LPOP', queue)
      redis.call('HDEL', leases, head)
      head = redis.call('LINDEX', queue, 0)
    end
    if head ~= token then return redis.call('LPOS', queue, token) end
  end
  return 0
end

local function held()
  for i = 1, queues do
    if redis.call('LINDEX', KEYS[2 * i - 1], 0) ~= token then return false end
  end
  return true
end

-- renew never joins a queue again: a token that has lost the lock must not get it back when the others have left.
local function renew()
  if not held() then return false end
  for i = 1, queues do join(i) end
  return true
end

local function release()
  for i = 1, queues do
    redis.call('LREM', KEYS[2 * i - 1], 1, token)
    redis.call('HDEL', KEYS[2 * i], token)
  end
end
