package auth

import (
	"context"
	"errors"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// InvalidToken is the error for a bearer token that is not accepted. Callers get the same text for each cause; the log has the
// cause, which must not quote the token.
func InvalidToken(cause error) error {
	return &fault.Unauthenticated{
		Reason:      commonv1.ErrorReason_ERROR_REASON_CREDENTIALS_INVALID,
		Description: "the bearer token is unknown, malformed or expired",
		Err:         cause,
	}
}

// AnyOf accepts the tokens that one of several authenticators accepts. They are asked in order. If none accepts a token, AnyOf
// returns the error of the last.
type AnyOf []Authenticator

// Authenticate implements Authenticator.
func (a AnyOf) Authenticate(ctx context.Context, token string) (Caller, error) {
	err := InvalidToken(errors.New("no tokens are configured"))
	for _, one := range a {
		var caller Caller
		if caller, err = one.Authenticate(ctx, token); err == nil {
			return caller, nil
		}
	}
	return Caller{}, err
}
