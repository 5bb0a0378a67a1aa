-- Counts what a turn has used, and gives back what it has reserved.
-- ARGV: turn, tokens, micros, ms for which the keys are kept.
release(ARGV[1])
redis.call('HINCRBY', KEYS[1], 'used_tokens', ARGV[2])
redis.call('HINCRBY', KEYS[1], 'used_micros', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
