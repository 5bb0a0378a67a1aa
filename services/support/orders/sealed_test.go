package orders

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/servicetest"
)

// private returns an order with all that Redis must not hold in plaintext.
func private(id, customer string) *orderv1.Order {
	return order(id, customer, 1, func(o *orderv1.Order) {
		o.Email, o.PostalCode = "secret-"+customer+"@one.example", "SECRET1"
		o.Items[0].Title = "secret boots"
	})
}

func TestOrdersAreEncryptedEachForItself(t *testing.T) {
	client := servicetest.Redis(t)
	r, err := New(client, servicetest.Sealer(t), nil, func() time.Time { return noon })
	if err != nil {
		t.Fatal(err)
	}
	put(t, r, "one", private("Q-1", "ada"), private("Q-2", "bo"))
	put(t, r, "one", private("Q-1", "ada")) // an unchanged order leaves nothing stale
	if _, err := r.Guest(t.Context(), "one", "Q-1", ProofOf("", "secret1")); err != nil {
		t.Fatal(err)
	}
	kept := strings.ToLower(servicetest.Contents(t, client))
	if strings.Contains(kept, "secret") {
		t.Errorf("Redis holds a secret:\n%q", kept)
	}
	plain, _ := attempts{redis: client}.proofHash("one", ProofOf("", "secret1"))
	if strings.Contains(kept, plain) {
		t.Error("Redis holds a hash of a postal code that can be guessed")
	}
	if n := client.HExists(t.Context(), orderKey("one", "Q-1"), "stale").Val(); n {
		t.Error("a basket is left as stale")
	}

	for _, field := range []string{orderField, basketField} { // ada's instead of bo's
		value, err := client.HGet(t.Context(), orderKey("one", "Q-1"), field).Result()
		if err == nil {
			err = client.HSet(t.Context(), orderKey("one", "Q-2"), field, value).Err()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var lost *fault.DataLoss
	if got, err := r.Get(t.Context(), "one", "bo", "Q-2"); !errors.As(err, &lost) {
		t.Errorf("Get: %v, %v", got, err)
	}
	if got, err := r.Guest(t.Context(), "one", "Q-2", ProofOf("secret-ada@one.example", "")); !errors.As(err, &lost) {
		t.Errorf("Guest: %v, %v", got, err)
	}
	if got, err := r.List(t.Context(), "one", "bo", "", 5); !errors.As(err, &lost) {
		t.Errorf("List: %v, %v", got, err)
	}
	if got, err := r.CoPurchases(t.Context(), "one", []string{"boots"}, 5); !errors.As(err, &lost) {
		t.Errorf("CoPurchases: %v, %v", got, err)
	}
	if err := r.Put(t.Context(), "one", []*orderv1.Order{private("Q-2", "bo")}); !errors.As(err, &lost) {
		t.Errorf("a write over a basket that was tampered with: %v", err)
	}
	// An order in the index of another customer is not the customer's.
	if err := client.ZAdd(t.Context(), customerKey("one", "cy"), redis.Z{Score: 1, Member: "Q-1"}).Err(); err != nil {
		t.Fatal(err)
	}
	if got, err := r.List(t.Context(), "one", "cy", "", 5); err != nil || len(got.Orders) > 0 {
		t.Errorf("cy is shown %v, %v", got, err)
	}
}
