package index

import (
	"context"
	"errors"
	"testing"
)

// failing is an index that cannot be read: a backend tries again then, if it gets the error.
type failing struct{ Index }

var errUnread = errors.New("a node lacks the collection")

func (failing) Products(context.Context, []string) ([]*Entry, error) { return nil, errUnread }

func TestExactPassesAnErrorOn(t *testing.T) {
	v := &View{Index: failing{}}
	if e, variant, err := v.Exact(t.Context(), "TENT-1"); !errors.Is(err, errUnread) || e != nil || variant != nil {
		t.Errorf("%v, %v, %v", e, variant, err)
	}
}
