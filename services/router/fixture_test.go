package router

import (
	_ "embed" // what the specialists publish

	"google.golang.org/protobuf/proto"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	labelled "github.com/quartet-commerce/quartet/services/internal/eval/routing"
)

// published are the suite's four specialists as Describe returns them. A test of services/e2e keeps the file current.
//
//go:embed testdata/specialists.json
var published []byte

// four are the suite's specialists. They must not be modified.
var four = func() []*specialistv1.Specialist {
	all, err := labelled.ReadSpecialists(published)
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
