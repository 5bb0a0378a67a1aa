package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/openai"
	"github.com/quartet-commerce/quartet/services/internal/model"
	"github.com/quartet-commerce/quartet/services/internal/offline"
	"github.com/quartet-commerce/quartet/services/suite"
	flag "github.com/spf13/pflag"
)

// The models to ask when only OPENAI_API_KEY is given.
const (
	defaultModel     = "gpt-4.1"
	defaultFastModel = "gpt-4.1-mini"
)

// keyOf names the environment variable of each provider's key. Keys are not flags, because command lines are public.
var keyOf = map[string]string{"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY"}

// modelFlags say which models answer.
type modelFlags struct {
	provider, url, name, fast, price, fastPrice string
	fallback                                    string
	own, ownPrices                              map[string]string // models of specialists, and their prices
	keyVariables                                map[string]string // by URL, of endpoints whose key is not in keyOf's variable
	format, reasoningSwitch, tools              string
	noStream, fastReasoning                     bool
	idleTimeout                                 time.Duration
	prices                                      *model.Prices // nil: only what the flags say
}

func addModelFlags(fs *flag.FlagSet) *modelFlags {
	m := &modelFlags{}
	fs.StringVar(&m.url, "model-url", "", "`URL` of the model's API, such as http://localhost:8000/v1; also OPENAI_BASE_URL")
	fs.StringVar(&m.provider, "model-provider", "", "`API` of the models: openai, anthropic or gemini (default: openai; without a URL, names that start with claude- or gemini- decide)")
	fs.Func("model", "`name` of the model that answers; its key is in OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY. search=NAME, in a further --model or after a comma, is for that specialist alone. NAME@URL or NAME@PROVIDER is elsewhere than the other models", perSpecialist(&m.name, &m.own))
	fs.Func("model-key-env", "`URL=VARIABLE`: the environment variable of the key of the endpoint at a URL, if it is not its provider's own. Repeat the flag, or separate values by commas", m.addKeyVariable)
	fs.StringVar(&m.fallback, "fallback-model", "", "`name` of the model to ask when one that answers fails before its answer begins, other than by refusing the request (400), such as gpt-4.1-mini, NAME@URL or NAME@anthropic; what it answers has an unknown cost")
	fs.StringVar(&m.fast, "fast-model", "", "`name` of the model that classifies messages (default: the value of --model)")
	fs.Func("model-price", "`price` of a million tokens in and out, and optionally of cached tokens in, such as \"2/8/0.5 USD\"; \"search=0.4/1.6 USD\" for the model of a specialist (default: costs are reported as unknown)", perSpecialist(&m.price, &m.ownPrices))
	fs.StringVar(&m.fastPrice, "fast-model-price", "", "`price` of the fast model's tokens, likewise")
	fs.Func("model-prices", "JSON `file` with prices of models by name and the day that they are of (docs/running.md); --model-price wins", m.readPrices)
	fs.StringVar(&m.format, "model-response-format", "", "how to ask an endpoint that speaks OpenAI's API for JSON: json_schema, json_object or none, which leaves it to the prompt (default: by the model's name, json_schema for most)")
	fs.StringVar(&m.reasoningSwitch, "model-reasoning-switch", "", "how to ask an endpoint that speaks OpenAI's API not to reason: enable_thinking, effort_none, effort_minimal or none (default: by the model's name, none for most)")
	fs.StringVar(&m.tools, "model-tools", string(model.ToolsAuto), "how a model calls tools: native, by its API alone; text, by a format that the prompt describes; auto, by its API, and in the formats of open models if --model-url is set")
	fs.BoolVar(&m.noStream, "model-no-stream", false, "ask an endpoint that speaks OpenAI's API for whole answers, because it cannot stream")
	fs.DurationVar(&m.idleTimeout, "model-idle-timeout", 0, "how long an endpoint may send nothing of an answer before it is asked again; negative: no limit (default "+model.DefaultIdleTimeout.String()+"; no limit with --model-no-stream)")
	fs.BoolVar(&m.fastReasoning, "fast-model-reasoning", false, "let the model that classifies messages reason, even where it can be asked not to")
	return m
}

// addKeyVariable takes URL=VARIABLE, or several of them.
func (m *modelFlags) addKeyVariable(s string) error {
	for part := range strings.SplitSeq(s, ",") {
		at := strings.LastIndexByte(part, '=') // a URL may have one too
		if at < 0 || !strings.Contains(part[:at], "://") || part[at+1:] == "" {
			return fmt.Errorf("%q is not of the form URL=VARIABLE, such as http://localhost:8000/v1=LOCAL_KEY", part)
		}
		if m.keyVariables == nil {
			m.keyVariables = make(map[string]string)
		}
		m.keyVariables[strings.TrimSpace(part[:at])] = part[at+1:]
	}
	return nil
}

// perSpecialist returns what sets a flag that takes a value for all specialists, and role=value for one of them, separated by commas.
func perSpecialist(all *string, own *map[string]string) func(string) error {
	return func(s string) error {
		for part := range strings.SplitSeq(s, ",") {
			role, value, found := strings.Cut(strings.TrimSpace(part), "=")
			switch {
			case !found:
				*all = role
				continue
			case !slices.Contains(suite.Specialists(), role):
				return fmt.Errorf("there is no specialist %q; the specialists are: %s", role, strings.Join(suite.Specialists(), ", "))
			case value == "":
				return fmt.Errorf("%s= wants a value", role)
			case *own == nil:
				*own = make(map[string]string)
			}
			(*own)[role] = value
		}
		return nil
	}
}

// real reports whether a real endpoint is configured.
func (m *modelFlags) real(env environment) bool {
	return m.url != "" || m.name != "" || len(m.own) > 0 || m.fallback != "" || env.get("OPENAI_BASE_URL") != "" || env.get("OPENAI_API_KEY") != ""
}

// models sets the models of a suite.
func (m *modelFlags) models(cfg *suite.Config, env environment) error {
	if !m.real(env) {
		return usagef("no model is configured: set OPENAI_API_KEY, or --model-url and --model; for trials run 'quartet model' " +
			"and give --model-url http://127.0.0.1:7310/v1 --model " + offline.Model)
	}
	if m.fallback != "" && cfg.Gateway.Budget.GetMaxCost() != nil {
		return usagef("--turn-budget-cost cannot be kept with --fallback-model, whose price is unknown: give --turn-budget-tokens, or no fallback")
	}
	name, fast := m.names()
	var err, fastErr error
	cfg.Model, err = m.answering(name, m.price, cfg, env)
	for role, own := range m.own {
		var ownErr error
		if cfg.Models == nil {
			cfg.Models = make(map[string]*model.Traced)
		}
		if cfg.Models[role], ownErr = m.answering(own, m.ownPrices[role], cfg, env); ownErr != nil && err == nil {
			err = fmt.Errorf("--model %s=%s: %w", role, own, ownErr)
		}
	}
	for role := range m.ownPrices {
		if m.own[role] == "" && err == nil {
			err = usagef("--model-price %s=...: the specialist has no model of its own; give --model %[1]s=NAME", role)
		}
	}
	cfg.NamedModel = m.named(*cfg, env)
	cfg.FastModel, fastErr = m.open(model.Config{Name: fast, NoReasoning: !m.fastReasoning, CaptureContent: cfg.CaptureContent}, m.fastPrice, env)
	if err != nil && fastErr != nil && err.Error() == fastErr.Error() {
		return err // said once
	}
	return errors.Join(err, fastErr)
}

// maxNamed bounds the models that stores have chosen in one process. The gateway lets them choose those of --store-models only.
const maxNamed = 16

// named returns what opens the models that stores choose, each once.
func (m *modelFlags) named(cfg suite.Config, env environment) func(string) (*model.Traced, error) {
	var mu sync.Mutex
	open := make(map[string]*model.Traced)
	return func(name string) (*model.Traced, error) {
		mu.Lock()
		defer mu.Unlock()
		if open[name] != nil {
			return open[name], nil
		}
		if len(open) == maxNamed {
			return nil, fmt.Errorf("%d models are in use, which is the most", maxNamed)
		}
		own, err := m.answering(name, "", &cfg, env)
		if err == nil {
			open[name] = own
		}
		return own, err
	}
}

// answering returns a model that answers shoppers, with its fallback.
func (m *modelFlags) answering(name, price string, cfg *suite.Config, env environment) (*model.Traced, error) {
	c := model.Config{Name: name, CaptureContent: cfg.CaptureContent}
	if m.fallback == "" {
		return m.open(c, price, env)
	}
	c.MaxAttempts = 1 // the fallback is the second attempt
	first, err := m.open(c, price, env)
	if err != nil {
		return nil, err
	}
	fallback, err := m.open(model.Config{Name: m.fallback, CaptureContent: cfg.CaptureContent}, "", env)
	if err != nil {
		return nil, fmt.Errorf("--fallback-model %s: %w", m.fallback, err)
	}
	return model.WithFallback(first, fallback, cmp.Or(cfg.Logger, slog.Default())), nil
}

// names returns the models to ask.
func (m *modelFlags) names() (name, fast string) {
	name, fast = m.name, m.fast
	if name == "" {
		name = defaultModel
		if fast == "" {
			fast = defaultFastModel
		}
	}
	if fast == "" {
		fast = name
	}
	return name, fast
}

// cutPlace cuts the URL or the provider off NAME@URL or NAME@PROVIDER. Other names may hold an @ too.
func cutPlace(name string) (before, place string) {
	if at := strings.LastIndexByte(name, '@'); at > 0 {
		if place := name[at+1:]; keyOf[place] != "" || strings.HasPrefix(place, "http://") || strings.HasPrefix(place, "https://") {
			return name[:at], place
		}
	}
	return name, ""
}

// open returns one model. OPENAI_BASE_URL counts for models that speak OpenAI's API only.
func (m *modelFlags) open(c model.Config, price string, env environment) (*model.Traced, error) {
	c.Provider, c.URL, c.NoStream, c.IdleTimeout = m.provider, m.url, m.noStream, m.idleTimeout
	name, place := cutPlace(c.Name)
	switch c.Name = name; {
	case keyOf[place] != "":
		c.Provider, c.URL = place, ""
	case place != "":
		c.Provider, c.URL = "openai", place
	}
	c.ResponseFormat, c.ReasoningSwitch = openai.ResponseFormat(m.format), openai.ReasoningSwitch(m.reasoningSwitch)
	c.Tools = model.Tools(m.tools)
	provider, err := c.ProviderName()
	if err != nil {
		return nil, usageError{err}
	}
	if c.URL == "" && provider == "openai" {
		c.URL = env.get("OPENAI_BASE_URL")
	}
	if c.URL != "" && m.name == "" && place == "" {
		return nil, usagef("a model URL is given without --model")
	}
	variable := keyOf[provider]
	own := m.keyVariables[c.URL]
	if own != "" {
		variable = own
	}
	c.KeySetting = "environment variable " + variable
	if c.Key = env.get(variable); c.Key == "" && (c.URL == "" || own != "") {
		return nil, usagef("model %q: %s is not set", c.Name, variable)
	}
	if c.Price, err = parsePrice(price); err != nil {
		return nil, err
	}
	if c.Price == nil {
		c.Price = m.prices.Of(c.Name)
	}
	return model.New(c)
}

// readPrices reads the file of --model-prices.
func (m *modelFlags) readPrices(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	m.prices, err = model.ReadPrices(f)
	return err
}

func parsePrice(price string) (*agentloop.Price, error) {
	if price == "" {
		return nil, nil
	}
	p, err := model.ParsePrice(price)
	if err != nil {
		return nil, usageError{fmt.Errorf("price of a model: %w", err)}
	}
	return p, nil
}

// describe names the model that answers, for the banner.
func (m *modelFlags) describe(env environment) string {
	name, _ := m.names()
	url := m.url
	if url == "" {
		url = env.get("OPENAI_BASE_URL")
	}
	if url != "" {
		name += " at " + url
	}
	if m.prices != nil {
		name += " (prices of " + m.prices.AsOf() + ")"
	}
	return name
}
