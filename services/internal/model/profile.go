package model

import (
	"strings"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// profile is what must be known of a model to call it. The zero value suits most.
type profile struct {
	// provider as OpenTelemetry names it.
	provider string
	// maxCompletionTokens sends the newer of the two fields that bound an answer.
	maxCompletionTokens bool
	// fixedTemperature leaves the temperature out: the model refuses any but its own.
	fixedTemperature bool
	// price of the tokens. Nil: unknown.
	price *agentloop.Price
}

// profiles by prefix of the model's name; the first that fits counts. Prices are left to the deployment: they change
// more often than this file.
var profiles = []struct {
	prefix string
	profile
}{
	{"quartet-offline", profile{provider: "quartet"}},
	{"o1", profile{provider: "openai", maxCompletionTokens: true, fixedTemperature: true}},
	{"o3", profile{provider: "openai", maxCompletionTokens: true, fixedTemperature: true}},
	{"o4", profile{provider: "openai", maxCompletionTokens: true, fixedTemperature: true}},
	{"gpt-5", profile{provider: "openai", maxCompletionTokens: true, fixedTemperature: true}},
}

func profileOf(name string) profile {
	for _, p := range profiles {
		if strings.HasPrefix(name, p.prefix) {
			return p.profile
		}
	}
	return profile{provider: "openai"}
}
