package model

import (
	"fmt"
	"slices"
	"strings"
)

// The providers, as Config names them.
const (
	providerOpenAI    = "openai"
	providerAnthropic = "anthropic"
	providerGemini    = "gemini"
)

// providers in the order in which errors name them.
var providers = []string{providerOpenAI, providerAnthropic, providerGemini}

// ProviderName returns whose API is asked: Provider if it is known, or else what the URL and the name say. It is how a
// caller knows whose key is wanted. An error names the known ones.
func (cfg Config) ProviderName() (string, error) {
	switch {
	case cfg.Provider != "":
		if !slices.Contains(providers, cfg.Provider) {
			return "", fmt.Errorf("model %q: unknown provider %q: want %s", cfg.Name, cfg.Provider, strings.Join(providers, ", "))
		}
		return cfg.Provider, nil
	case cfg.URL != "":
		return providerOpenAI, nil // many endpoints offer others' models under that API
	case strings.HasPrefix(cfg.Name, "claude-"):
		return providerAnthropic, nil
	case strings.HasPrefix(cfg.Name, "gemini-"):
		return providerGemini, nil
	}
	return providerOpenAI, nil
}

// profile is what must be known of a model to call it. The zero value suits most.
type profile struct {
	// maxCompletionTokens sends the newer of the two fields that bound an answer of OpenAI's API.
	maxCompletionTokens bool
	// fixedTemperature leaves the temperature out: the model refuses any but its own.
	fixedTemperature bool
	// thoughtsOff says that the model can be asked to answer without thoughts.
	thoughtsOff bool
}

// profiles by prefix of the model's name; the first that fits counts. What OpenAI's reasoning models refuse is known to
// package openai. Prices are left to the deployment: they change more often than this file.
var profiles = []struct {
	prefix string
	profile
}{
	// From Opus 4.7 on, the temperature is refused.
	{"claude-3", profile{thoughtsOff: true}},
	{"claude-opus-4-7", profile{fixedTemperature: true, thoughtsOff: true}},
	{"claude-opus-4-8", profile{fixedTemperature: true, thoughtsOff: true}},
	{"claude-opus-4", profile{thoughtsOff: true}},
	{"claude-sonnet-4", profile{thoughtsOff: true}},
	{"claude-haiku-4", profile{thoughtsOff: true}},
	{"claude-", profile{fixedTemperature: true}},
	{"gemini-2.5-flash", profile{thoughtsOff: true}},
}

// profileOf returns the profile of a model, with what the configuration says otherwise.
func profileOf(cfg Config) profile {
	var p profile
	for _, known := range profiles {
		if strings.HasPrefix(cfg.Name, known.prefix) {
			p = known.profile
			break
		}
	}
	if cfg.MaxCompletionTokens != nil {
		p.maxCompletionTokens = *cfg.MaxCompletionTokens
	}
	if cfg.FixedTemperature != nil {
		p.fixedTemperature = *cfg.FixedTemperature
	}
	return p
}

// traceName is how OpenTelemetry names who runs a model.
func traceName(provider, model string) string {
	switch {
	case provider == providerGemini:
		return "gcp.gemini"
	case strings.HasPrefix(model, "quartet-offline"):
		return "quartet"
	}
	return provider
}
