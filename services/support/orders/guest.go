package orders

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/internal/state/seal"
)

// MaxProof bounds an e-mail address or postal code, in characters.
const MaxProof = 254

// Proof is what a guest knows of an order: its e-mail address or its postal code, in normal form.
type Proof struct{ email, postalCode string }

// ProofOf returns the proof that a guest gives, in normal form. Of both, the e-mail address counts.
func ProofOf(email, postalCode string) Proof {
	if email = strings.ToLower(strings.TrimSpace(email)); email != "" {
		return Proof{email: email}
	}
	return Proof{postalCode: strings.ToUpper(strings.NewReplacer(" ", "", "-", "").Replace(strings.TrimSpace(postalCode)))}
}

// Empty reports whether there is no proof.
func (p Proof) Empty() bool { return p == Proof{} }

// of reports whether the proof is for an order. It takes constant time.
func (p Proof) of(o *orderv1.Order) bool {
	want := ProofOf("", o.GetPostalCode())
	if p.email != "" {
		want = ProofOf(o.GetEmail(), "")
	}
	same := subtle.ConstantTimeCompare([]byte(p.email+"\n"+p.postalCode), []byte(want.email+"\n"+want.postalCode)) == 1
	return same && !p.Empty()
}

// Wrong attempts that are allowed in each attemptsWindow. Those at one order stop guessing of what its guest knows; those
// with one proof stop trying it on all orders. Many customers share a postal code, so the second is more.
const (
	maxAttemptsAtOrder   = 5
	maxAttemptsWithProof = 20
	attemptsWindow       = time.Hour
)

// attempts counts wrong attempts in Redis, for all replicas together. Proofs are kept as hashes and expire with the window. Without a
// sealer the hashes have no key, so whoever reads them can find out a postal code by trying all.
type attempts struct {
	redis  redis.UniversalClient
	sealer *seal.Sealer // may be nil
}

func (a attempts) keys(storeID, id string, p Proof) (order, with string, err error) {
	proof, err := a.proofHash(storeID, p)
	if err != nil {
		return "", "", fmt.Errorf("count attempts: %w", err)
	}
	return state.TaggedKey(storeID, "order/"+id, "attempts"), state.TaggedKey(storeID, "proof/"+proof, "attempts"), nil
}

func (a attempts) proofHash(storeID string, p Proof) (string, error) {
	sum := sha256.Sum256([]byte(p.email + "\n" + p.postalCode))
	return a.sealer.Hash(storeID, hex.EncodeToString(sum[:]))
}

// begin counts an attempt as wrong before the lookup, so that concurrent attempts cannot exceed the limit. It returns a
// *fault.Exhausted after too many attempts.
func (a attempts) begin(ctx context.Context, storeID, id string, p Proof) error {
	order, with, err := a.keys(storeID, id, p)
	if err != nil {
		return err
	}
	var atOrder, withProof *redis.Cmd
	_, err = a.redis.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		atOrder = pipe.Eval(ctx, incrScript, []string{order}, attemptsWindow.Milliseconds())
		withProof = pipe.Eval(ctx, incrScript, []string{with}, attemptsWindow.Milliseconds())
		return nil
	})
	if err != nil {
		return state.Error("count attempts", err)
	}
	n, errOrder := atOrder.Int64()
	m, errProof := withProof.Int64()
	if err := errors.Join(errOrder, errProof); err != nil {
		return state.Error("count attempts", err)
	}
	if n <= maxAttemptsAtOrder && m <= maxAttemptsWithProof {
		return nil
	}
	return &fault.Exhausted{
		Reason: commonv1.ErrorReason_ERROR_REASON_TOO_MANY_ATTEMPTS, What: "attempts to look up an order as a guest",
		RetryAfter: attemptsWindow,
	}
}

// incrScript counts an attempt. The first one begins the window of ARGV[1] milliseconds.
const incrScript = `
redis.call('SET', KEYS[1], 0, 'NX', 'PX', ARGV[1])
return redis.call('INCR', KEYS[1])`

// decrScript takes an attempt back, unless its window has ended: a new counter would start below zero and never expire.
const decrScript = `
if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('DECR', KEYS[1]) end
return 1`

// succeeded takes back an attempt that was right.
func (a attempts) succeeded(ctx context.Context, storeID, id string, p Proof) error {
	order, with, err := a.keys(storeID, id, p)
	if err != nil {
		return err
	}
	_, err = a.redis.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.Eval(ctx, decrScript, []string{order})
		pipe.Eval(ctx, decrScript, []string{with})
		return nil
	})
	return state.Error("count attempts", err)
}
