package model

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/quartet-commerce/quartet/pkg/agentloop/openai"
	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
)

// The providers, as Config names them.
const (
	providerOpenAI    = "openai"
	providerAnthropic = "anthropic"
	providerGemini    = "gemini"
)

// providers in the order in which errors name them.
var providers = []string{providerOpenAI, providerAnthropic, providerGemini}

// ProviderName returns whose API the model is asked by: Provider, or what the URL and the name say if that is empty. It
// tells the caller whose key is wanted. The error for an unknown provider names the known ones.
func (cfg Config) ProviderName() (string, error) {
	switch {
	case cfg.Provider != "":
		if !slices.Contains(providers, cfg.Provider) {
			return "", fmt.Errorf("model %q: unknown provider %q: want %s", cfg.Name, cfg.Provider, strings.Join(providers, ", "))
		}
		return cfg.Provider, nil
	case cfg.URL != "":
		return providerOpenAI, nil // many endpoints offer the models of others by this API
	case strings.HasPrefix(cfg.Name, "claude-"):
		return providerAnthropic, nil
	case strings.HasPrefix(cfg.Name, "gemini-"):
		return providerGemini, nil
	}
	return providerOpenAI, nil
}

// profile is what must be known of a model to call it. The zero value suits most models.
type profile struct {
	// maxCompletionTokens sends the newer of the two fields that bound an answer, in OpenAI's API.
	maxCompletionTokens bool
	// fixedTemperature leaves the temperature out: the model refuses any but its own.
	fixedTemperature bool
	// reasoningOff says that reasoning can be switched off, in Anthropic's and Google's API.
	reasoningOff bool
	// reasoningSwitch is how reasoning is switched off in OpenAI's API. Empty: it cannot be.
	reasoningSwitch openai.ReasoningSwitch
	// sendReasoning sends reasoning back with tool results, in OpenAI's API: the model refuses the results without it.
	sendReasoning bool
	// responseFormat is how a typed answer is asked for in OpenAI's API. Empty: by its schema.
	responseFormat openai.ResponseFormat
}

// profiles by the model's base name. A name with a star matches all that start with it; the first match counts. Package openai knows what OpenAI's reasoning models refuse.
// Prices are the deployment's: they change more often than this file.
var profiles = []struct {
	name string
	profile
}{
	{"claude-3*", profile{reasoningOff: true}},
	// From Opus 4.7 on, models refuse a temperature.
	{"claude-opus-4-7*", profile{fixedTemperature: true, reasoningOff: true}},
	{"claude-opus-4-8*", profile{fixedTemperature: true, reasoningOff: true}},
	{"claude-opus-4*", profile{reasoningOff: true}},
	{"claude-sonnet-4*", profile{reasoningOff: true}},
	{"claude-haiku-4*", profile{reasoningOff: true}},
	{"claude-*", profile{fixedTemperature: true}},
	{"gemini-2.5-flash*", profile{reasoningOff: true}},
	// The first gpt-5 reasons at least a little; later ones can do without. Variants for code, chat and deep research have
	// other rules and are not listed, nor are o1, o3 and o4, which always reason.
	{"gpt-5", profile{reasoningSwitch: openai.SwitchEffortMinimal}},
	{"gpt-5-20*", profile{reasoningSwitch: openai.SwitchEffortMinimal}},
	{"gpt-5-mini*", profile{reasoningSwitch: openai.SwitchEffortMinimal}},
	{"gpt-5-nano*", profile{reasoningSwitch: openai.SwitchEffortMinimal}},
	{"gpt-5.1", profile{reasoningSwitch: openai.SwitchEffortNone}},
	{"gpt-5.1-20*", profile{reasoningSwitch: openai.SwitchEffortNone}},
	{"gpt-5.2", profile{reasoningSwitch: openai.SwitchEffortNone}},
	{"gpt-5.2-20*", profile{reasoningSwitch: openai.SwitchEffortNone}},
	// Models before gpt-4o take no schema.
	{"gpt-3.5-turbo*", profile{responseFormat: openai.ResponseJSONObject}},
	{"gpt-4-turbo*", profile{responseFormat: openai.ResponseJSONObject}},
	{"deepseek-chat*", profile{responseFormat: openai.ResponseJSONObject}},
	{"deepseek-reasoner*", profile{responseFormat: openai.ResponseJSONObject, sendReasoning: true}},
	{"kimi-k2-thinking*", profile{sendReasoning: true}},
	// Open models whose prompt templates take enable_thinking.
	{"qwen3*", profile{reasoningSwitch: openai.SwitchEnableThinking}},
	{"glm-4.5*", profile{reasoningSwitch: openai.SwitchEnableThinking}},
	{"glm-4.6*", profile{reasoningSwitch: openai.SwitchEnableThinking}},
	{"glm-4.7*", profile{reasoningSwitch: openai.SwitchEnableThinking}},
	{"nemotron-3*", profile{reasoningSwitch: openai.SwitchEnableThinking}},
	{"nvidia-nemotron-3*", profile{reasoningSwitch: openai.SwitchEnableThinking}},
	{"hunyuan-a13b*", profile{reasoningSwitch: openai.SwitchEnableThinking}},
	{"smollm3*", profile{reasoningSwitch: openai.SwitchEnableThinking}},
}

// baseName returns a model's name in lower case, without the maker's name and the slash that hubs put in front.
func baseName(name string) string { return strings.ToLower(name[strings.LastIndex(name, "/")+1:]) }

// known returns the profile of a model in this file.
func known(name string) profile {
	name = baseName(name)
	for _, p := range profiles {
		prefix, many := strings.CutSuffix(p.name, "*")
		if name == prefix || many && strings.HasPrefix(name, prefix) {
			return p.profile
		}
	}
	return profile{}
}

// openReasoning are patterns of the names of models whose prompt templates open the reasoning, so that their answers hold the
// closing tag alone, unless the endpoint separates the reasoning.
var openReasoning = []string{
	"deepseek-r1*", "qwq*", "qwen3-*-thinking*", "qwen3.5*", "glm-4.7*", "kimi-k2.5*", "minimax-m2*", "nemotron-3*", "nvidia-nemotron-3*",
}

// hold says how much of an answer is held back in case it is reasoning without an opening tag, in the terms of
// wrap.ReasoningConfig. An answer that does not stream comes whole in any case.
func hold(cfg Config) int {
	name := baseName(cfg.Name)
	opens := func(pattern string) bool { ok, _ := path.Match(pattern, name); return ok }
	if cfg.NoStream || slices.ContainsFunc(openReasoning, opens) {
		return wrap.DefaultHold
	}
	return 0
}

// profileOf returns the profile of a model, as the configuration changes it.
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
