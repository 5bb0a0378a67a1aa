package threads

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/pagetoken"
	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

// A store's turns are listed by days, so that the lists spread over a cluster and expire one after the other.

// readBatch is how many turns are read at once.
const readBatch = 50

//go:embed feedback.lua
var feedbackLua string

var feedbackScript = redis.NewScript(feedbackLua)

// day returns the UTC day of a score.
func day(score int64) string { return time.UnixMicro(score).UTC().Format(time.DateOnly) }

// PutFeedback keeps what is said of a turn for as long as the turn. A turn that is not there, or not in a thread of the shopper's, is
// a *fault.NotFound.
func (s *Store) PutFeedback(ctx context.Context, storeID, id string, who Shopper, f *gatewayv1.Feedback) error {
	if _, err := s.Turn(ctx, storeID, id, who); err != nil {
		return err
	}
	raw, err := s.cfg.Sealer.Marshal(feedbackPlace(storeID, id), f)
	if err != nil {
		return fmt.Errorf("encode feedback: %w", err)
	}
	kept, err := feedbackScript.Run(ctx, s.cfg.Redis, []string{turnKey(storeID, id), feedbackKey(storeID, id)}, raw).Bool()
	if err == nil && !kept {
		return turnNotFound(id)
	}
	return state.Error("write feedback", err)
}

// Turns calls visit for the turns of a store from a place on, by the time at which they began, the newest first, with the place after
// each turn, until visit returns false. Only turns from first on and before end are visited. It reports whether it has come to the last of them. Turns that expired
// or were deleted are left out.
func (s *Store) Turns(
	ctx context.Context, storeID string, first, end time.Time, from pagetoken.Cursor, visit func(*gatewayv1.Turn, pagetoken.Cursor) bool,
) (done bool, err error) {
	low, high := score(first), score(end)-1
	if from.ID != "" {
		high = min(high, from.Score)
	}
	for high >= low {
		newest := day(high)
		midnight, _ := time.Parse(time.DateOnly, newest) // day has written it
		more, err := s.turnsOfDay(ctx, storeID, newest, max(low, score(midnight)), high, from, visit)
		if err != nil || !more {
			return false, err
		}
		high = score(midnight) - 1
	}
	return true, nil
}

// turnsOfDay is Turns for the turns of one day with scores from low to high. It reports whether visit wants more.
func (s *Store) turnsOfDay(
	ctx context.Context, storeID, of string, low, high int64, from pagetoken.Cursor, visit func(*gatewayv1.Turn, pagetoken.Cursor) bool,
) (more bool, err error) {
	more, err = state.ByTime(ctx, s.cfg.Redis, dayKey(storeID, of), low, high, from, readBatch, func(at []pagetoken.Cursor) (bool, error) {
		turns, err := s.readTurns(ctx, storeID, at)
		if err != nil {
			return false, err
		}
		for i, t := range turns {
			if t != nil && !visit(t, at[i]) {
				return false, nil
			}
		}
		return true, nil
	})
	return more, state.Error("read turns", err)
}

// readTurns reads turns at once. One that is gone, or cannot be decoded, is nil.
func (s *Store) readTurns(ctx context.Context, storeID string, at []pagetoken.Cursor) ([]*gatewayv1.Turn, error) {
	if len(at) == 0 {
		return nil, nil
	}
	values := make([]*redis.SliceCmd, len(at))
	_, err := s.cfg.Redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, c := range at {
			values[i] = p.MGet(ctx, turnKeys(storeID, c.ID)...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	turns := make([]*gatewayv1.Turn, len(at))
	for i, c := range at {
		t, err := s.decodeTurn(storeID, c.ID, values[i].Val())
		switch {
		case err != nil:
			state.SkipRecord(ctx, "turn", storeID, c.ID, err)
		case t != nil && score(t.GetReply().GetCreateTime().AsTime()) == c.Score: // else an attempt before the one that was recorded
			turns[i] = t
		}
	}
	return turns, nil
}

// decodeTurn makes a turn of its reply, what is known of its message, and its feedback. Nil: the turn is gone. Turns of releases that
// did not keep their messages have none.
func (s *Store) decodeTurn(storeID, id string, values []any) (*gatewayv1.Turn, error) {
	raw, ok := values[0].(string)
	if !ok {
		return nil, nil
	}
	t, reply := &gatewayv1.Turn{}, &gatewayv1.AskResponse{}
	var err1, err2 error
	if about, ok := values[1].(string); ok {
		err1 = s.cfg.Sealer.Unmarshal(aboutPlace(storeID, id), about, t)
	}
	if raw, ok := values[2].(string); ok {
		t.Feedback = &gatewayv1.Feedback{}
		err2 = s.cfg.Sealer.Unmarshal(feedbackPlace(storeID, id), raw, t.Feedback)
	}
	t.Reply = reply
	return t, errors.Join(s.cfg.Sealer.Unmarshal(replyPlace(storeID, id), raw, reply), err1, err2)
}

// unlistTurns removes turns, with the times at which they were recorded, from the lists of the days on which they began.
func unlistTurns(ctx context.Context, p redis.Pipeliner, storeID string, turns []redis.Z) {
	for _, t := range turns {
		recorded := int64(t.Score)
		p.ZRem(ctx, dayKey(storeID, day(recorded)), t.Member)
		p.ZRem(ctx, dayKey(storeID, day(recorded-(24*time.Hour).Microseconds())), t.Member)
	}
}

// listTurn adds a turn to the list of the day on which it began.
func (s *Store) listTurn(ctx context.Context, p redis.Pipeliner, sc scope.Scope, began time.Time) {
	key := dayKey(sc.StoreID, day(score(began)))
	p.ZAdd(ctx, key, redis.Z{Score: float64(score(began)), Member: sc.TurnID})
	p.PExpire(ctx, key, s.cfg.TTL)
}
