package classifier

import (
	"os"
	"slices"

	"google.golang.org/protobuf/proto"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/eval/routing"
)

// four are the suite's specialists as Describe returns them. They must not be modified. A test of services/e2e keeps the
// file current.
var four = func() []*specialistv1.Specialist {
	data, err := os.ReadFile("../testdata/specialists.json")
	if err != nil {
		panic(err)
	}
	all, err := routing.ReadSpecialists(data)
	if err != nil {
		panic(err)
	}
	return all
}()

// specialists returns a copy of the four.
func specialists() []*specialistv1.Specialist {
	out := make([]*specialistv1.Specialist, len(four))
	for i, s := range four {
		out[i] = proto.CloneOf(s)
	}
	return out
}

// newFour returns the classifier of the four specialists.
func newFour() *Classifier { return New(four) }

// routes writes a result as lines "specialist: sub-query".
func routes(r Result) []string {
	var out []string
	for _, a := range r.Assignments {
		out = append(out, a.Specialist+": "+a.SubQuery)
	}
	return out
}

// names returns the specialists of a result, each once, sorted.
func names(r Result) []string {
	var out []string
	for _, a := range r.Assignments {
		out = append(out, a.Specialist)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// classify classifies a message with what the shopper said before, oldest first.
func classify(c *Classifier, message string, history ...string) Result {
	return c.Classify(Input{Message: message, History: history})
}
