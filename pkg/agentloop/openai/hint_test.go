package openai_test

import (
	"testing"
	"time"

	"github.com/quartet-commerce/quartet/pkg/agentloop/openai"
	"github.com/quartet-commerce/quartet/pkg/agentloop/wrap"
)

var (
	_ wrap.RetryHinter  = (*openai.StatusError)(nil)
	_ wrap.BadRequester = (*openai.StatusError)(nil)
)

func TestStatusErrorsKnowWhetherToTryAgain(t *testing.T) {
	tests := []struct {
		code       int
		retry, bad bool
	}{
		{0, true, false}, {400, false, true}, {401, false, false}, {404, false, false}, {408, true, false},
		{413, false, true}, {422, false, true}, {429, true, false}, {500, true, false}, {503, true, false},
	}
	for _, tt := range tests {
		err := &openai.StatusError{StatusCode: tt.code, RetryAfter: 3 * time.Second}
		if after, retry := err.RetryHint(); retry != tt.retry || after != 3*time.Second {
			t.Errorf("%d: RetryHint is %v, %v; want 3s, %v", tt.code, after, retry, tt.retry)
		}
		if err.BadRequest() != tt.bad {
			t.Errorf("%d: BadRequest is %v", tt.code, err.BadRequest())
		}
	}
}
