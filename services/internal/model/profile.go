package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/quartet-commerce/quartet/pkg/agentloop/openai"
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
	// thoughtsOff says that the model can be asked to answer without thoughts, in Anthropic's and Google's API.
	thoughtsOff bool
	// reasoningSwitch is how it is asked that in OpenAI's API. Empty: there is no way.
	reasoningSwitch openai.ReasoningSwitch
	// sendReasoning sends reasoning back with the results of calls in OpenAI's API: the model refuses them without.
	sendReasoning bool
	// responseFormat is how it is asked for a typed answer in OpenAI's API. Empty: by the schema.
	responseFormat openai.ResponseFormat
}

// profiles by prefix of the model's name in small letters, without the maker's name and the slash that hubs put in front;
// the first that fits counts. What OpenAI's reasoning models refuse is known to package openai. Prices are left to the
// deployment: they change more often than this file.
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
	// The first gpt-5 reasons at least a little, the next ones need not. Those made for code, chat or deep thought have
	// rules of their own and are left alone, as are o1, o3 and o4, which always reason.
	{"gpt-5-20", profile{reasoningSwitch: openai.SwitchEffortMinimal}},
	{"gpt-5-mini", profile{reasoningSwitch: openai.SwitchEffortMinimal}},
	{"gpt-5-nano", profile{reasoningSwitch: openai.SwitchEffortMinimal}},
	{"gpt-5.1-20", profile{reasoningSwitch: openai.SwitchEffortNone}},
	{"gpt-5.2-20", profile{reasoningSwitch: openai.SwitchEffortNone}},
	// The schema came with gpt-4o.
	{"gpt-3.5-turbo", profile{responseFormat: openai.ResponseJSONObject}},
	{"gpt-4-turbo", profile{responseFormat: openai.ResponseJSONObject}},
	{"deepseek-chat", profile{responseFormat: openai.ResponseJSONObject}},
	{"deepseek-reasoner", profile{responseFormat: openai.ResponseJSONObject, sendReasoning: true}},
	{"kimi-k2-thinking", profile{sendReasoning: true}},
	// Open models whose templates take enable_thinking.
	{"qwen3", profile{reasoningSwitch: openai.SwitchEnableThinking}},
	{"glm-4.5", profile{reasoningSwitch: openai.SwitchEnableThinking}},
	{"glm-4.6", profile{reasoningSwitch: openai.SwitchEnableThinking}},
	{"glm-4.7", profile{reasoningSwitch: openai.SwitchEnableThinking}},
	{"nemotron-3", profile{reasoningSwitch: openai.SwitchEnableThinking}},
	{"nvidia-nemotron-3", profile{reasoningSwitch: openai.SwitchEnableThinking}},
	{"hunyuan-a13b", profile{reasoningSwitch: openai.SwitchEnableThinking}},
	{"smollm3", profile{reasoningSwitch: openai.SwitchEnableThinking}},
}

// exact are the profiles of models whose name begins that of others with rules of their own.
var exact = map[string]profile{
	"gpt-5":   {reasoningSwitch: openai.SwitchEffortMinimal},
	"gpt-5.1": {reasoningSwitch: openai.SwitchEffortNone},
	"gpt-5.2": {reasoningSwitch: openai.SwitchEffortNone},
}

// known returns the profile of a model as this file has it.
func known(name string) profile {
	name = strings.ToLower(name[strings.LastIndex(name, "/")+1:])
	if p, ok := exact[name]; ok {
		return p
	}
	for _, k := range profiles {
		if strings.HasPrefix(name, k.prefix) {
			return k.profile
		}
	}
	return profile{}
}

// profileOf returns the profile of a model, with what the configuration says otherwise.
func profileOf(cfg Config) profile {
	p := known(cfg.Name)
	if cfg.MaxCompletionTokens != nil {
		p.maxCompletionTokens = *cfg.MaxCompletionTokens
	}
	if cfg.FixedTemperature != nil {
		p.fixedTemperature = *cfg.FixedTemperature
	}
	p.responseFormat = cmp.Or(cfg.ResponseFormat, p.responseFormat)
	p.reasoningSwitch = cmp.Or(cfg.ReasoningSwitch, p.reasoningSwitch)
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
