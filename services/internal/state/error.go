package state

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// Error classifies a Redis error. What names the attempt, such as "load cart". A nil err gives nil. If no Redis that can do
// the work could be reached, Error returns a *fault.Unavailable with reason STATE_UNAVAILABLE. Error wraps every other error,
// so errors.Is still finds redis.Nil, redis.TxFailedErr and context errors.
func Error(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) && unreachable(err):
		return &fault.Unavailable{
			Reason: commonv1.ErrorReason_ERROR_REASON_STATE_UNAVAILABLE,
			What:   what,
			Err:    err,
		}
	default:
		return fmt.Errorf("%s: %w", what, err)
	}
}

// unreachable reports whether no Redis answered, or one that cannot do the work now.
func unreachable(err error) bool {
	var netErr net.Error
	switch {
	case errors.As(err, &netErr), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return true
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted), errors.Is(err, redis.ErrClosed):
		return true
	case redis.IsLoadingError(err), redis.IsReadOnlyError(err), redis.IsClusterDownError(err), redis.IsMasterDownError(err):
		return true
	case redis.IsTryAgainError(err), redis.IsMaxClientsError(err), redis.IsNoReplicasError(err), redis.IsOOMError(err):
		return true
	}
	// The client has no name for this one.
	return strings.Contains(err.Error(), "all sentinels specified in configuration are unreachable")
}
