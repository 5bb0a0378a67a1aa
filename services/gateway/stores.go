package gateway

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/redis/go-redis/v9"
	"golang.org/x/text/language"
	"google.golang.org/protobuf/proto"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/state"
)

// storesKey is the hash of all stores by id. It is the one key that belongs to no store.
const storesKey = "quartet:stores"

const (
	// maxStoreName is the longest name of a store, in characters.
	maxStoreName = 200
	// maxKeywords is how many routing keywords a store may have. The router takes no more.
	maxKeywords = 200
	// maxTerm is the longest term of a keyword, in characters.
	maxTerm = 100
	// maxWeight bounds the weight of a keyword on both sides of zero; the router counts no more.
	maxWeight = 5
)

// specialistName is the form of a specialist's name.
var specialistName = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)

// storeServer serves StoreService.
type storeServer struct {
	gatewayv1.UnsafeStoreServiceServer
	stores stores
}

var _ gatewayv1.StoreServiceServer = (*storeServer)(nil)

// PutStore implements StoreService.
func (s *storeServer) PutStore(ctx context.Context, req *gatewayv1.PutStoreRequest) (*gatewayv1.PutStoreResponse, error) {
	if err := checkStore(req.GetStore()); err != nil {
		return nil, err
	}
	if err := s.stores.put(ctx, req.GetStore()); err != nil {
		return nil, err
	}
	return &gatewayv1.PutStoreResponse{Store: req.GetStore()}, nil
}

// GetStore implements StoreService.
func (s *storeServer) GetStore(ctx context.Context, req *gatewayv1.GetStoreRequest) (*gatewayv1.GetStoreResponse, error) {
	var check fault.Checker
	check.ID("store_id", req.GetStoreId())
	if err := check.Err(); err != nil {
		return nil, err
	}
	store, err := s.stores.get(ctx, req.GetStoreId())
	if err != nil {
		return nil, err
	}
	return &gatewayv1.GetStoreResponse{Store: store}, nil
}

// ListStores implements StoreService.
func (s *storeServer) ListStores(ctx context.Context, _ *gatewayv1.ListStoresRequest) (*gatewayv1.ListStoresResponse, error) {
	all, err := s.stores.list(ctx)
	if err != nil {
		return nil, err
	}
	return &gatewayv1.ListStoresResponse{Stores: all}, nil
}

// checkStore reports everything that is wrong with a store.
func checkStore(store *gatewayv1.Store) error {
	var check fault.Checker
	if store == nil {
		check.Addf("store", "is required")
		return check.Err()
	}
	check.ID("store.store_id", store.GetStoreId())
	check.Text("store.name", store.GetName(), 1, maxStoreName)
	checkLocale(&check, "store.default_locale", store.GetDefaultLocale())
	if !currencyForm(store.GetCurrencyCode()) {
		check.Addf("store.currency_code", "must be an ISO 4217 code of three upper-case letters")
	}
	checkKeywords(&check, store.GetRoutingKeywords())
	return check.Err()
}

// checkKeywords checks the form of a store's keywords. Whether there is such a specialist is not asked: it may be down.
func checkKeywords(check *fault.Checker, keywords []*routerv1.RoutingKeyword) {
	if n := len(keywords); n > maxKeywords {
		check.Addf("store.routing_keywords", "has %d entries, must have at most %d", n, maxKeywords)
		return
	}
	for i, k := range keywords {
		field := fmt.Sprintf("store.routing_keywords[%d]", i)
		if !specialistName.MatchString(k.GetSpecialist()) {
			check.Addf(field+".specialist", "must be 1 to 64 characters of a-z 0-9 -, such as \"search\"")
		}
		term, weight := k.GetKeyword().GetTerm(), k.GetKeyword().GetWeight()
		check.Text(field+".keyword.term", term, 1, maxTerm)
		if term != "" && !strings.ContainsFunc(term, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			check.Addf(field+".keyword.term", "must have a letter or a digit")
		}
		if !(weight >= -maxWeight && weight <= maxWeight) {
			check.Addf(field+".keyword.weight", "is %v, must be from %d to %d", weight, -maxWeight, maxWeight)
		}
	}
}

// checkLocale accepts an empty value, and else a well-formed BCP 47 tag of known parts.
func checkLocale(check *fault.Checker, field, value string) {
	if value == "" {
		return
	}
	if _, err := language.Parse(value); err != nil || !fault.ValidID(value) {
		check.Addf(field, "must be a BCP 47 language tag, such as \"es-MX\"")
	}
}

func currencyForm(s string) bool {
	return len(s) == 3 && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// storeMoment is how long a change of a store may go unnoticed by the turns of gateways other than the one that was told.
const storeMoment = time.Second

// stores keeps what is known of each store.
type stores struct {
	redis  redis.UniversalClient
	recent *state.TTLCache[*gatewayv1.Store]
}

func newStores(r redis.UniversalClient) stores {
	return stores{redis: r, recent: state.NewTTLCache[*gatewayv1.Store](storeMoment)}
}

func (s stores) put(ctx context.Context, store *gatewayv1.Store) error {
	raw, err := proto.Marshal(store)
	if err != nil {
		return fmt.Errorf("encode store: %w", err)
	}
	defer s.recent.Forget(store.GetStoreId())
	return state.Error("write store", s.redis.HSet(ctx, storesKey, store.GetStoreId(), raw).Err())
}

// ofTurn returns the store of a turn as get does, as of at most storeMoment ago. It must not be modified.
func (s stores) ofTurn(ctx context.Context, id string) (*gatewayv1.Store, error) {
	return s.recent.Get(ctx, id, func(ctx context.Context) (*gatewayv1.Store, error) { return s.get(ctx, id) })
}

// get returns a store, or a *fault.NotFound.
func (s stores) get(ctx context.Context, id string) (*gatewayv1.Store, error) {
	raw, err := s.redis.HGet(ctx, storesKey, id).Bytes()
	switch {
	case errors.Is(err, redis.Nil):
		return nil, &fault.NotFound{Reason: commonv1.ErrorReason_ERROR_REASON_STORE_NOT_FOUND, Resource: "store", Name: id}
	case err != nil:
		return nil, state.Error("read store", err)
	}
	store := &gatewayv1.Store{}
	if err := proto.Unmarshal(raw, store); err != nil {
		return nil, fmt.Errorf("decode store %q: %w", id, err)
	}
	return store, nil
}

// list returns all stores by id.
func (s stores) list(ctx context.Context) ([]*gatewayv1.Store, error) {
	raw, err := s.redis.HGetAll(ctx, storesKey).Result()
	if err != nil {
		return nil, state.Error("read stores", err)
	}
	all := make([]*gatewayv1.Store, 0, len(raw))
	for id, r := range raw {
		store := &gatewayv1.Store{}
		if err := proto.Unmarshal([]byte(r), store); err != nil {
			return nil, fmt.Errorf("decode store %q: %w", id, err)
		}
		all = append(all, store)
	}
	slices.SortFunc(all, func(a, b *gatewayv1.Store) int { return strings.Compare(a.GetStoreId(), b.GetStoreId()) })
	return all, nil
}
