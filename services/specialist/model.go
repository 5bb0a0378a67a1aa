package specialist

import (
	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/model"
)

// ModelConfig says which model answers.
type ModelConfig struct {
	// Provider whose API is spoken: "openai", "anthropic" or "gemini". Empty: OpenAI's with a URL, and else by the name.
	Provider string
	// URL of the API, such as "http://localhost:8000/v1". Empty: the provider's own.
	URL string
	// Key that the provider gave out. Empty: none, which only endpoints that speak OpenAI's API allow.
	Key string
	// Name of the model. Required.
	Name string
}

// OpenModel returns a model as Quartet's own specialists use it: with retries, traces, and calls of tools by the API or in the text.
// Any other [agentloop.Model] will do as well.
func OpenModel(cfg ModelConfig) (agentloop.Model, error) {
	m, err := model.New(model.Config{Provider: cfg.Provider, URL: cfg.URL, Key: cfg.Key, Name: cfg.Name})
	if err != nil {
		return nil, err
	}
	return m, nil
}
