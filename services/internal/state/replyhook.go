package state

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

// argumentsBegin is where an error of Redis begins to repeat the arguments of a command that it does not know.
const argumentsBegin = ", with args beginning with"

// replyHook cuts the arguments of commands, which may be texts of customers, from the errors of Redis.
type replyHook struct{}

func (replyHook) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (replyHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { return cutArguments(cmd, next(ctx, cmd)) }
}

func (replyHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			if own := cmd.Err(); own != nil && cutArguments(cmd, own) != own && errors.Is(err, own) {
				err = cmd.Err()
			}
		}
		return err
	}
}

// cutArguments returns the error of a command without its arguments, and sets it.
func cutArguments(cmd redis.Cmder, err error) error {
	var reply redis.Error
	if !errors.As(err, &reply) {
		return err
	}
	text, _, found := strings.Cut(reply.Error(), argumentsBegin)
	if !found {
		return err
	}
	cmd.SetErr(replyError(text))
	return cmd.Err()
}

// replyError is an error that Redis replied.
type replyError string

func (e replyError) Error() string { return string(e) }

// RedisError implements redis.Error.
func (replyError) RedisError() {}
