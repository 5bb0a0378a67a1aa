package openai

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
)

// withHint adds which setting may help where an endpoint refuses a field that not all endpoints take.
func (m *Model) withHint(err error, req *agentloop.Request) error {
	var status *endpoint.StatusError
	if !errors.As(err, &status) || !errors.Is(err, endpoint.ErrBadRequest) {
		return err
	}
	mentions := func(fields ...string) bool {
		return slices.ContainsFunc(fields, func(f string) bool { return strings.Contains(strings.ToLower(status.Message), f) })
	}
	switch {
	case req.Output != nil && m.cfg.ResponseFormat != ResponseNone && mentions("response_format", "response format", "json_schema", "json_object"):
		return fmt.Errorf("%w (another response format may help: Config.ResponseFormat json_object or none)", err)
	case req.NoReasoning && mentions("chat_template", "reasoning_effort"):
		return fmt.Errorf("%w (another switch for reasoning may help: Config.ReasoningSwitch, or none)", err)
	}
	return err
}
