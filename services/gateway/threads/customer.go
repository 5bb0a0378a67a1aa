package threads

import (
	"context"
	"errors"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

// customerBatch is how many threads of a customer are looked up at once.
const customerBatch = 100

// EraseCustomer deletes all threads of a customer as Delete does, and returns how many there were.
func (s *Store) EraseCustomer(ctx context.Context, storeID, customerID string) (erased int64, err error) {
	index := customerKey(storeID, customerID)
	for {
		ids, err := s.cfg.Redis.ZRange(ctx, index, 0, customerBatch-1).Result()
		if err != nil || len(ids) == 0 {
			return erased, state.Error("read threads", err)
		}
		for _, id := range ids {
			deleted, err := s.Delete(ctx, storeID, id, Shopper{Customer: customerID})
			missing := new(fault.NotFound)
			switch {
			case errors.As(err, &missing): // it has expired, or is another shopper's by now
			case err != nil:
				return erased, err
			case deleted:
				erased++
			}
			if err := s.cfg.Redis.ZRem(ctx, index, id).Err(); err != nil {
				return erased, state.Error("delete thread", err)
			}
		}
	}
}

// CustomerThreads returns the ids of the threads in a customer's list. Some may have expired, or be another shopper's by now.
func (s *Store) CustomerThreads(ctx context.Context, storeID, customerID string) ([]string, error) {
	ids, err := s.cfg.Redis.ZRange(ctx, customerKey(storeID, customerID), 0, -1).Result()
	return ids, state.Error("read threads", err)
}
