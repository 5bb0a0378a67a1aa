package prompts

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
)

// Diff returns the unified diff of two versions, or "".
func Diff(from, to *gatewayv1.PromptVersion) string {
	return udiff.Unified(from.GetVersion(), to.GetVersion(), page(from), page(to))
}

// page is a version as lines.
func page(v *gatewayv1.PromptVersion) string {
	return fmt.Sprintf("model: %s\nmax_output_tokens: %d\n\n%s\n", v.GetModel(), v.GetMaxOutputTokens(), strings.TrimSpace(v.GetText()))
}
