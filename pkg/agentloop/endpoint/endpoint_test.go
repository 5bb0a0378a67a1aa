package endpoint_test

import (
	"errors"
	"io"
	"testing"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/pkg/agentloop/endpoint"
)

func TestCompleteAnswersAreToldFromBrokenOnes(t *testing.T) {
	broken := errors.New("reset")
	refused := &endpoint.StatusError{StatusCode: 503}
	for name, c := range map[string]struct {
		ending endpoint.Ending
		err    error
		want   agentloop.FinishReason
		is     error
	}{
		"finished":                {ending: endpoint.Ending{Finish: "stop"}, want: "stop"},
		"finished, then broken":   {ending: endpoint.Ending{Finish: "stop"}, err: broken, want: "stop"},
		"finished, then refused":  {ending: endpoint.Ending{Finish: "stop"}, err: refused, is: refused},
		"text, then nothing":      {ending: endpoint.Ending{Text: true}, want: "length"},
		"text, then broken":       {ending: endpoint.Ending{Text: true}, err: broken, is: broken},
		"text and part of a call": {ending: endpoint.Ending{Text: true, Calls: 1}, is: io.ErrUnexpectedEOF},
		"nothing":                 {is: io.ErrUnexpectedEOF},
	} {
		if got, err := c.ending.Last(c.err); got.FinishReason != c.want || !errors.Is(err, c.is) {
			t.Errorf("%s: %q, error %v, want %q, %v", name, got.FinishReason, err, c.want, c.is)
		}
	}
}
