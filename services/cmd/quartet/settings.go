package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	flag "github.com/spf13/pflag"

	"github.com/quartet-commerce/quartet/services/gateway"
	"github.com/quartet-commerce/quartet/services/internal/embed"
	"github.com/quartet-commerce/quartet/services/internal/model"
	"github.com/quartet-commerce/quartet/services/internal/rerank"
	"github.com/quartet-commerce/quartet/services/internal/state/seal"
	"github.com/quartet-commerce/quartet/services/internal/weaviate"
	"github.com/quartet-commerce/quartet/services/recommend"
	"github.com/quartet-commerce/quartet/services/search"
	"github.com/quartet-commerce/quartet/services/suite"
)

// leastLease is the shortest lease of a turn. A lease is renewed three times in its length, over a network.
const leastLease = time.Second

// addGatewayFlags adds the flags of the gateway's settings, and returns where they will be.
func addGatewayFlags(fs *flag.FlagSet) *gateway.Settings {
	t := &gateway.Settings{}
	fs.Func("turn-timeout", defaulted("gateway: bound of a turn whose caller set no deadline", gateway.DefaultTurnTimeout),
		atLeast(&t.TurnTimeout, time.Millisecond, time.ParseDuration))
	fs.Func("run-ahead", "gateway: `mode`: when specialists start before the routing is final: always, certain (only those that the router is certain of) or off (default always)",
		func(s string) error {
			if t.RunAhead = gateway.RunAhead(s); !t.RunAhead.Valid() {
				return errors.New("must be always, certain or off")
			}
			return nil
		})
	fs.Func("merge-reserve", defaulted("gateway: `duration` kept for merging several answers into one reply, at most a quarter of the time left", gateway.DefaultMergeReserve),
		atLeast(&t.MergeReserve, time.Millisecond, time.ParseDuration))
	fs.Func("record-timeout", defaulted("gateway: `duration` for which a finished reply waits for Redis to record it", gateway.DefaultRecordTimeout),
		atLeast(&t.RecordTimeout, time.Millisecond, time.ParseDuration))
	fs.Func("lease", defaulted("gateway: `duration` for which a gateway that has died keeps its turns; then another one may resume them", gateway.DefaultLease),
		atLeast(&t.Lease, leastLease, time.ParseDuration))
	fs.Func("thread-ttl", defaulted("gateway: `duration` for which a conversation is kept after its last message", gateway.DefaultThreadTTL),
		atLeast(&t.ThreadTTL, time.Minute, time.ParseDuration))
	fs.Func("max-turns", defaulted("gateway: largest `number` of turns in flight in this process", gateway.DefaultMaxTurns),
		atLeast(&t.MaxTurns, 1, strconv.Atoi))
	fs.Func("max-turns-per-store", defaulted("gateway: largest `number` of turns in flight of one store", gateway.DefaultMaxTurnsPerStore),
		atLeast(&t.MaxTurnsPerStore, 1, strconv.Atoi))
	fs.StringSliceVar(&t.StoreModels, "store-models", nil, "gateway: `names` of further models that stores and prompts may choose, separated by commas, as --model has them (default none)")
	fs.Func("webhook-secrets", "gateway: `file` with a secret a line, of 32 characters or more, from which those of the stores' webhooks are derived; several while they are changed (default: stores have no webhooks)",
		func(name string) (err error) {
			t.WebhookSecrets, err = readSecrets(name)
			return err
		})
	fs.BoolVar(&t.WebhookInsecure, "webhook-insecure", false, "gateway: let stores' webhooks go over http, and to addresses that are not public")
	budget := func() *commonv1.Budget {
		if t.Budget == nil {
			t.Budget = &commonv1.Budget{}
		}
		return t.Budget
	}
	fs.Func("turn-budget-tokens", "gateway: largest `number` of tokens, in and out, that all models may use for one turn (default no bound)",
		func(s string) error { return atLeast(&budget().MaxTokens, 1, parseInt64)(s) })
	fs.Func("turn-budget-cost", "gateway: `amount` that all models may cost in one turn, such as \"0.02 USD\"; needs --model-price (default no bound)",
		func(s string) error {
			c, err := model.ParseCost(s)
			if err != nil {
				return err
			}
			if c.Micros == 0 {
				return errors.New("must be more than nothing")
			}
			budget().MaxCost = &commonv1.Cost{AmountMicros: c.Micros, CurrencyCode: c.Currency}
			return nil
		})
	return t
}

// readSecrets reads a file with a secret a line.
func readSecrets(name string) ([]string, error) {
	raw, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	secrets := strings.Fields(string(raw))
	if len(secrets) == 0 {
		return nil, fmt.Errorf("%s: has no secret", name)
	}
	return secrets, nil
}

// checkBudget refuses a budget of money that cannot be enforced, because the price of the model is unknown in its currency.
func checkBudget(cfg suite.Config) error {
	most := cfg.Gateway.Budget.GetMaxCost()
	if most == nil {
		return nil
	}
	known := func(m *model.Traced) bool { return m.Price != nil && m.Price.Currency == most.GetCurrencyCode() }
	if !known(cfg.Model) {
		return usagef("--turn-budget-cost is in %s, so --model-price must be given in %[1]s too", most.GetCurrencyCode())
	}
	for role, m := range cfg.Models {
		if !known(m) {
			return usagef("--turn-budget-cost is in %s, so --model-price %s=... must be given in %[1]s too", most.GetCurrencyCode(), role)
		}
	}
	for _, name := range cfg.Gateway.StoreModels {
		m, err := cfg.NamedModel(name)
		if err != nil {
			return fmt.Errorf("--store-models %s: %w", name, err)
		}
		if !known(m) {
			return usagef("--turn-budget-cost is in %s, so --model-prices must have %s in %[1]s too", most.GetCurrencyCode(), name)
		}
	}
	return nil
}

// specialistName is the form of a specialist's name.
var specialistName = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)

// furtherFlag adds --specialist, and returns where the targets of further specialists will be, by name.
func furtherFlag(fs *flag.FlagSet) map[string]string {
	further := make(map[string]string)
	fs.Func("specialist", "gateway: further specialist as `NAME=TARGET`, such as repairs=dns:///repairs:7310, which implements quartet.specialist.v1 and says in Describe what it is for; may be repeated (default none)",
		func(s string) error {
			name, target, ok := strings.Cut(s, "=")
			if !ok || !specialistName.MatchString(name) || target == "" || suite.Port(name) != 0 || name == suite.Cart || further[name] != "" {
				return errors.New("must be NAME=TARGET, with a name of its own of lower-case letters, digits and '-'")
			}
			further[name] = target
			return nil
		})
	return further
}

// sealFlags say how what is kept of customers in Redis is encrypted.
type sealFlags struct {
	file      string
	plaintext bool
}

func addSealFlags(fs *flag.FlagSet) *sealFlags {
	f := &sealFlags{}
	fs.StringVar(&f.file, "state-keys", "", "`file` of keys that encrypt what is kept of customers in Redis, as 'quartet state-keys' makes it; read again when it changes (default: plaintext)")
	fs.BoolVar(&f.plaintext, "state-plaintext", false, "also accept what was kept in plaintext before --state-keys was given; whoever can write to Redis can then plant data")
	return f
}

// apply sets what the flags say.
func (f *sealFlags) apply(cfg *suite.Config) (err error) {
	switch {
	case f.file != "":
		cfg.Sealer, err = seal.New(seal.Config{File: f.file, AcceptPlaintext: f.plaintext, Logger: cfg.Logger})
	case f.plaintext:
		err = usagef("--state-plaintext needs --state-keys")
	}
	return err
}

// describe says how state is kept, for the banner.
func (f *sealFlags) describe() string {
	switch {
	case f.file == "":
		return ""
	case f.plaintext:
		return ", encrypted (plaintext is accepted)"
	}
	return ", encrypted"
}

// leastCartTTL is the shortest time for which carts are kept, so that a shopper can browse.
const leastCartTTL = time.Minute

// cartFlags say where carts are, and for how long.
type cartFlags struct {
	addr string
	ca   string
	ttl  time.Duration
}

func addCartFlags(fs *flag.FlagSet) *cartFlags {
	f := &cartFlags{}
	fs.StringVar(&f.addr, "cart-addr", "", "gateway, recommend, promotions: `target` of a cart service to read instead of the recommend service (docs/carts.md)")
	fs.StringVar(&f.ca, "cart-ca", "", "`file` of the authorities that the certificate of --cart-addr must chain to, or \"system\" for those that the system trusts (default: plaintext)")
	fs.Func("cart-ttl", defaulted("recommend: `duration` for which a cart is kept after its last write", recommend.DefaultCartTTL),
		atLeast(&f.ttl, leastCartTTL, time.ParseDuration))
	return f
}

// apply sets what the flags say.
func (f *cartFlags) apply(cfg *suite.Config) (err error) {
	cfg.CartTTL = f.ttl
	if f.addr == "" {
		return nil
	}
	if cfg.CartCredentials, err = cartCredentials(f.ca); err != nil {
		return err
	}
	if cfg.Peers == nil {
		cfg.Peers = make(map[string]string)
	}
	cfg.Peers[suite.Cart] = f.addr
	return nil
}

// embeddedIndex is the value of --index for products in the memory of each replica.
const embeddedIndex = "embedded"

// indexFlag says where the index of products is.
type indexFlag struct {
	address string
	memory  search.MemoryOptions
}

func addIndexFlag(fs *flag.FlagSet) *indexFlag {
	i := &indexFlag{}
	fs.StringVar(&i.address, "index", embeddedIndex, "search: where the index of products is: \"embedded\", in memory, or a Weaviate cluster, such as `weaviate://host:port[/grpc-port][,host:port...]` (weaviates:// for TLS; the port of gRPC is 50051 if left out); its key is in QUARTET_INDEX_KEY")
	fs.IntVar(&i.memory.MaxStores, "index-stores", search.DefaultMaxStores, "search: `number` of stores whose catalogs the embedded index keeps in memory; the least recently read one is dropped, and loaded again when it is read")
	fs.DurationVar(&i.memory.IdleTime, "index-idle", search.DefaultIdleTime, "search: `duration` for which the embedded index keeps a catalog that nothing reads")
	fs.StringVar(&i.memory.Folder, "index-folder", "", "search: `folder` in which the embedded index is saved once it is built, and from which it is loaded; empty: it is built after each start")
	return i
}

// open sets the index of a suite. The returned function closes its connections.
func (i *indexFlag) open(cfg *suite.Config, env environment) (closeIndex func() error, err error) {
	nothing := func() error { return nil }
	if i.memory.MaxStores < 1 || i.memory.IdleTime <= 0 {
		return nil, usagef("--index-stores and --index-idle must be positive")
	}
	cfg.Search.Memory = i.memory
	if i.address == embeddedIndex {
		return nothing, nil
	}
	c, err := weaviate.New(i.address, env.get("QUARTET_INDEX_KEY"))
	if err != nil {
		return nil, usagef("--index: %w, or %q", err, embeddedIndex)
	}
	cfg.Search.Cluster = c
	return func() error { c.Close(); return nil }, nil
}

// describe says where products are searched, for the banner.
func (i *indexFlag) describe() string {
	if i.address == embeddedIndex {
		return "index embedded"
	}
	return "index in Weaviate"
}

// legFlags configure the legs of the search beside words.
type legFlags struct {
	embedURL, embedModel, embedType     string
	rerankURL, rerankModel, rerankStyle string
	synonyms                            string
	route                               bool
}

// addEmbedFlags adds the flags of the embeddings endpoint alone.
func addEmbedFlags(fs *flag.FlagSet) *legFlags {
	l := &legFlags{}
	fs.StringVar(&l.embedURL, "embed-url", "", "search, support, router: `URL` of an OpenAI-compatible API with /embeddings, such as http://localhost:8000/v1 (default: search by words alone); its key is in QUARTET_EMBED_KEY")
	fs.StringVar(&l.embedModel, "embed-model", "", "search, support, router: `name` of the embedding model")
	fs.StringVar(&l.embedType, "embed-input-type", "", "search, support, router: input_type of products and documents, and of queries, for models that need it, such as \"passage,query\" or \"search_document,search_query\" (default: not sent)")
	return l
}

func addLegFlags(fs *flag.FlagSet) *legFlags {
	l := addEmbedFlags(fs)
	fs.StringVar(&l.rerankURL, "rerank-url", "", "search: full `URL` of a rerank endpoint, such as http://localhost:8000/v1/rerank (default: none); its key is in QUARTET_RERANK_KEY")
	fs.StringVar(&l.rerankModel, "rerank-model", "", "search: `name` of the rerank model; not needed with tei")
	fs.StringVar(&l.rerankStyle, "rerank-style", "", "search: `API` of the rerank endpoint: cohere (also Jina and vLLM), tei or nim (default cohere)")
	fs.StringVar(&l.synonyms, "synonyms", "", "search: JSON `file` of the stores' own synonyms (docs/search.md)")
	return l
}

// routeFlag adds the switch of the router's comparison with examples, for commands that serve a router.
func (l *legFlags) routeFlag(fs *flag.FlagSet) *legFlags {
	fs.BoolVar(&l.route, "route-embeddings", false, "router: compare a message of which the classifier is not certain with the specialists' examples, at --embed-url, before the model is asked")
	return l
}

// openRouting sets what the router embeds with, if it is to. The returned function closes its connections.
func (l *legFlags) openRouting(cfg *suite.Config, env environment) (closeRouting func(), err error) {
	_, queries, err := l.check()
	if err != nil || !l.route {
		return func() {}, err
	}
	// Examples are messages like those that they are compared with, so they are embedded as queries are.
	ec := embed.Config{URL: l.embedURL, Model: l.embedModel, Key: env.get("QUARTET_EMBED_KEY"), DocumentType: queries, QueryType: queries}
	if cfg.Redis != nil {
		ec.Cache = embed.RedisCache{Redis: cfg.Redis}
	}
	c, err := embed.New(ec)
	if err != nil {
		return nil, usagef("--embed-url: %v", err)
	}
	cfg.RouteEmbedder = c
	return c.Close, nil
}

// openEmbedder sets what products and documents are embedded with, if there is an endpoint. The returned function closes its
// connections.
func (l *legFlags) openEmbedder(cfg *suite.Config, env environment) (closeEmbedder func(), err error) {
	documents, queries, err := l.check()
	if err != nil || l.embedURL == "" {
		return func() {}, err
	}
	c, err := embed.New(embed.Config{
		URL: l.embedURL, Model: l.embedModel, Key: env.get("QUARTET_EMBED_KEY"),
		DocumentType: documents, QueryType: queries, Cache: embed.RedisCache{Redis: cfg.Redis},
	})
	if err != nil {
		return nil, usagef("--embed-url: %v", err)
	}
	cfg.Search.Embedder = c
	return c.Close, nil
}

// open sets the legs of a suite that has its state. The returned function closes their connections.
func (l *legFlags) open(cfg *suite.Config, env environment) (closeLegs func() error, err error) {
	closeEmbedder, err := l.openEmbedder(cfg, env)
	if err != nil {
		return nil, err
	}
	closers := []func(){closeEmbedder}
	if cfg.Search.Synonyms, err = readSynonyms(l.synonyms); err != nil {
		return nil, err
	}
	if l.rerankURL != "" {
		c, err := rerank.New(rerank.Config{
			URL: l.rerankURL, Model: l.rerankModel, Key: env.get("QUARTET_RERANK_KEY"), Style: rerank.Style(l.rerankStyle),
		})
		if err != nil {
			return nil, usagef("--rerank-url: %v", err)
		}
		cfg.Search.Reranker, closers = c, append(closers, c.Close)
	}
	return func() error {
		for _, c := range closers {
			c()
		}
		return nil
	}, nil
}

// readSynonyms reads a file of groups of synonyms by store, or by "*" for all stores. An empty path means none.
func readSynonyms(path string) (synonyms map[string][][]string, err error) {
	if path == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("synonyms: %w", err)
	}
	if err := json.Unmarshal(raw, &synonyms); err != nil {
		return nil, usagef("synonyms: %s: %w; want such as {\"kites\": [[\"stunt kite\", \"flyer\"]]}", path, err)
	}
	if err := search.CheckSynonyms(synonyms); err != nil {
		return nil, usagef("%s: %w", path, err)
	}
	return synonyms, nil
}

// check refuses flags that do not go together, and returns the input types.
func (l *legFlags) check() (documents, queries string, err error) {
	switch {
	case l.embedURL == "" && (l.embedModel != "" || l.embedType != ""):
		return "", "", usagef("--embed-model and --embed-input-type need --embed-url")
	case l.embedURL == "" && l.route:
		return "", "", usagef("--route-embeddings needs --embed-url")
	case l.embedURL != "" && l.embedModel == "":
		return "", "", usagef("--embed-url needs --embed-model")
	case l.rerankURL == "" && (l.rerankModel != "" || l.rerankStyle != ""):
		return "", "", usagef("--rerank-model and --rerank-style need --rerank-url")
	case l.rerankURL != "" && l.rerankModel == "" && l.rerankStyle != string(rerank.TEI):
		return "", "", usagef("--rerank-url needs --rerank-model, except with --rerank-style tei")
	}
	return l.inputTypes()
}

// inputTypes returns the input_type of products and of queries.
func (l *legFlags) inputTypes() (documents, queries string, err error) {
	if l.embedType == "" {
		return "", "", nil
	}
	documents, queries, ok := strings.Cut(l.embedType, ",")
	documents, queries = strings.TrimSpace(documents), strings.TrimSpace(queries)
	if !ok || documents == "" || queries == "" || strings.Contains(queries, ",") {
		return "", "", usagef("--embed-input-type %q: want two values, for products and for queries, such as passage,query", l.embedType)
	}
	return documents, queries, nil
}

// describe names the legs of the search, for the banner.
func (l *legFlags) describe() string {
	out := "words"
	if l.embedURL != "" {
		out += " and vectors of " + l.embedModel
	} else {
		out += " alone (no --embed-url)"
	}
	if l.rerankURL != "" {
		out += ", reranked by " + cmp.Or(l.rerankModel, l.rerankStyle)
	}
	return out
}
