package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
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

	"github.com/quartet-commerce/quartet/services/gateway/output"
	"github.com/quartet-commerce/quartet/services/gateway/webhook"
	"github.com/quartet-commerce/quartet/services/internal/auth"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/grounding"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/internal/voice"
)

// storesKey is the hash of all stores by id. It is the only key that belongs to no store.
const storesKey = "quartet:stores"

const (
	// maxStoreName is the longest name of a store, in characters.
	maxStoreName = 200
	// maxKeywords is the largest number of routing keywords of a store, which is also the router's limit.
	maxKeywords = 200
	// maxOwn is the largest number of hosts, e-mail addresses or phone numbers of a store.
	maxOwn       = 100
	maxLanguages = 50
	// maxAgents is the largest number of agents that a store may choose models for.
	maxAgents = 32
	// maxTerm is the longest term of a keyword, in characters.
	maxTerm = 100
	// maxWeight bounds the weight of a keyword on both sides of zero, as the router does.
	maxWeight = 5
)

// specialistName is the form of a specialist's name.
var specialistName = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)

// storeServer serves StoreService.
type storeServer struct {
	gatewayv1.UnsafeStoreServiceServer
	stores  stores
	service *Service
}

var _ gatewayv1.StoreServiceServer = (*storeServer)(nil)

// PutStore implements StoreService.
func (s *storeServer) PutStore(ctx context.Context, req *gatewayv1.PutStoreRequest) (*gatewayv1.PutStoreResponse, error) {
	if err := s.service.checkStore(req.GetStore()); err != nil {
		return nil, err
	}
	if !req.GetValidateOnly() {
		if err := s.stores.put(ctx, req.GetStore()); err != nil {
			return nil, err
		}
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
	caller := auth.FromContext(ctx)
	all = slices.DeleteFunc(all, func(store *gatewayv1.Store) bool { return !caller.MayEnter(store.GetStoreId()) })
	return &gatewayv1.ListStoresResponse{Stores: all}, nil
}

// DeleteStore implements StoreService.
func (s *storeServer) DeleteStore(ctx context.Context, req *gatewayv1.DeleteStoreRequest) (*gatewayv1.DeleteStoreResponse, error) {
	var check fault.Checker
	check.ID("store_id", req.GetStoreId())
	if err := check.Err(); err != nil {
		return nil, err
	}
	deleted, err := s.stores.remove(ctx, req.GetStoreId())
	if err != nil {
		return nil, err
	}
	n, err := state.DeleteKeys(ctx, s.stores.redis, req.GetStoreId())
	if err != nil {
		return nil, err
	}
	return &gatewayv1.DeleteStoreResponse{Deleted: deleted, KeyCount: n}, nil
}

// checkStore reports everything that is wrong with a store.
func (s *Service) checkStore(store *gatewayv1.Store) error {
	var check fault.Checker
	if store == nil {
		check.Addf("store", "is required")
		return check.Err()
	}
	check.ID("store.store_id", store.GetStoreId())
	check.Text("store.name", store.GetName(), 1, maxStoreName)
	checkLocale(&check, "store.default_locale", store.GetDefaultLocale())
	check.TimeZone("store.time_zone", store.GetTimeZone())
	if !currencyForm(store.GetCurrencyCode()) {
		check.Addf("store.currency_code", "must be an ISO 4217 code of three upper-case letters")
	}
	if hook := store.GetHandoffWebhook(); hook != "" && s.webhooks == nil {
		check.Addf("store.handoff_webhook", "must be empty: the gateway sends no webhooks until its operator gives --webhook-secrets")
	} else if hook != "" {
		if err := webhook.CheckURL(hook, s.cfg.WebhookInsecure); err != nil {
			check.Addf("store.handoff_webhook", "%v", err)
		}
	}
	if ttl := store.GetThreadTtl(); ttl != nil && (!ttl.IsValid() || ttl.AsDuration() < time.Minute) {
		check.Addf("store.thread_ttl", "must be a minute or more")
	}
	if c := store.GetHandoffConfidence(); !(c >= 0 && c <= 1) { // NaN too
		check.Addf("store.handoff_confidence", "is %v, must be from 0 to 1", c)
	}
	grounding.CheckRules(&check, "store.claim_rules", store.GetClaimRules())
	voice.Check(&check, "store.voice", store.GetVoice())
	checkBudget(&check, "store.turn_budget", store.GetTurnBudget())
	s.checkDayBudget(&check, store.GetDayBudget())
	check.OptionalID("store.prompt_variant", store.GetPromptVariant())
	if check.Count("store.models", len(store.GetModels()), maxAgents) {
		for _, agent := range slices.Sorted(maps.Keys(store.GetModels())) {
			if agents := s.agents(); !slices.Contains(agents, agent) {
				check.Addf("store.models", "has the agent %q, must be one of: %s", agent, strings.Join(agents, ", "))
			}
			s.checkModel(&check, "store.models["+agent+"]", store.GetModels()[agent])
		}
	}
	if check.Count("store.languages", len(store.GetLanguages()), maxLanguages) {
		for i, tag := range store.GetLanguages() {
			if tag == "" {
				check.Addf(fault.At("store.languages", i), "is empty")
			}
			checkLocale(&check, fault.At("store.languages", i), tag)
		}
	}
	if d := store.GetDefaultLocale(); d != "" && !speaks(store, d) {
		check.Addf("store.languages", "must have the language of default_locale")
	}
	checkKeywords(&check, store.GetRoutingKeywords())
	checkOwn(&check, "store.web_hosts", store.GetWebHosts(), output.CheckHost)
	checkOwn(&check, "store.email_addresses", store.GetEmailAddresses(), output.CheckEmail)
	checkOwn(&check, "store.phone_numbers", store.GetPhoneNumbers(), output.CheckPhone)
	return check.Err()
}

// checkBudget checks a budget, which may be nil.
func checkBudget(check *fault.Checker, field string, b *commonv1.Budget) {
	if n := b.GetMaxTokens(); n < 0 {
		check.Addf(field+".max_tokens", "is %d, must be zero or more", n)
	}
	if c := b.GetMaxCost(); c != nil {
		if c.GetAmountMicros() < 0 {
			check.Addf(field+".max_cost.amount_micros", "is %d, must be zero or more", c.GetAmountMicros())
		}
		if !currencyForm(c.GetCurrencyCode()) {
			check.Addf(field+".max_cost.currency_code", "must be an ISO 4217 code of three upper-case letters")
		}
	}
}

// checkOwn checks a list of what belongs to a store.
func checkOwn(check *fault.Checker, field string, values []string, wrong func(string) error) {
	if n := len(values); n > maxOwn {
		check.Addf(field, "has %d entries, must have at most %d", n, maxOwn)
		return
	}
	for i, v := range values {
		if err := wrong(v); err != nil {
			check.Addf(fault.At(field, i), "%v", err)
		}
	}
}

// checkKeywords checks the form of a store's keywords. The specialist need not exist: it may be down.
func checkKeywords(check *fault.Checker, keywords []*routerv1.RoutingKeyword) {
	if !check.Count("store.routing_keywords", len(keywords), maxKeywords) {
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

// checkLocale accepts an empty value, or a well-formed BCP 47 tag of known parts.
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

// storeTTL is how long other gateways may use a store's old settings after a change.
const storeTTL = time.Second

// stores keeps the settings of each store in Redis.
type stores struct {
	redis redis.UniversalClient
	cache *state.TTLCache[*gatewayv1.Store]
}

func newStores(r redis.UniversalClient) stores {
	return stores{redis: r, cache: state.NewTTLCache[*gatewayv1.Store](storeTTL)}
}

func (s stores) put(ctx context.Context, store *gatewayv1.Store) error {
	raw, err := proto.Marshal(store)
	if err != nil {
		return fmt.Errorf("encode store: %w", err)
	}
	defer s.cache.Forget(store.GetStoreId())
	return state.Error("write store", s.redis.HSet(ctx, storesKey, store.GetStoreId(), raw).Err())
}

// cached returns a store as get does, but at most storeTTL old. It must not be modified.
func (s stores) cached(ctx context.Context, id string) (*gatewayv1.Store, error) {
	return s.cache.Get(ctx, id, func(ctx context.Context) (*gatewayv1.Store, error) { return s.get(ctx, id) })
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

// remove deletes a store and reports whether there was one.
func (s stores) remove(ctx context.Context, id string) (bool, error) {
	n, err := s.redis.HDel(ctx, storesKey, id).Result()
	return n > 0, state.Error("delete store", err)
}

// list returns all stores by id, without those that cannot be decoded.
func (s stores) list(ctx context.Context) ([]*gatewayv1.Store, error) {
	raw, err := s.redis.HGetAll(ctx, storesKey).Result()
	if err != nil {
		return nil, state.Error("read stores", err)
	}
	all := make([]*gatewayv1.Store, 0, len(raw))
	for id, r := range raw {
		store := &gatewayv1.Store{}
		if err := proto.Unmarshal([]byte(r), store); err != nil {
			state.SkipRecord(ctx, "store", id, id, err)
			continue
		}
		all = append(all, store)
	}
	slices.SortFunc(all, func(a, b *gatewayv1.Store) int { return strings.Compare(a.GetStoreId(), b.GetStoreId()) })
	return all, nil
}
