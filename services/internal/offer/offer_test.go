package offer_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/offer"
)

func specialists() []*specialistv1.Specialist {
	return []*specialistv1.Specialist{
		{Name: "search", Purpose: "Finds products.", Examples: []string{"a tent", "boots"}, Available: true,
			Keywords: []*specialistv1.Keyword{{Term: "tent", Weight: 1}}},
		{Name: "support", Purpose: "Helps.", Available: true},
	}
}

func version(t *testing.T, s []*specialistv1.Specialist) string {
	t.Helper()
	v, err := offer.Version(s)
	if err != nil || len(v) != 64 {
		t.Fatalf("version %q, error %v", v, err)
	}
	return v
}

func TestEqualSpecialistsHaveOneVersion(t *testing.T) {
	one := version(t, specialists())
	var sent []*specialistv1.Specialist
	for _, s := range specialists() {
		wire, err := proto.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		got := &specialistv1.Specialist{}
		if err := proto.Unmarshal(wire, got); err != nil {
			t.Fatal(err)
		}
		sent = append(sent, got)
	}
	if two := version(t, sent); one != two {
		t.Errorf("versions %s and, sent, %s", one, two)
	}
}

func TestWhateverDiffersMakesAnotherVersion(t *testing.T) {
	seen := map[string]string{version(t, specialists()): "nothing"}
	for what, change := range map[string]func(s []*specialistv1.Specialist) []*specialistv1.Specialist{
		"a name":     func(s []*specialistv1.Specialist) []*specialistv1.Specialist { s[0].Name = "find"; return s },
		"a purpose":  func(s []*specialistv1.Specialist) []*specialistv1.Specialist { s[0].Purpose = "Looks."; return s },
		"an example": func(s []*specialistv1.Specialist) []*specialistv1.Specialist { s[0].Examples[1] = "shoes"; return s },
		"where examples end": func(s []*specialistv1.Specialist) []*specialistv1.Specialist {
			s[0].Examples = []string{"a tentboots"}
			return s
		},
		"a term":      func(s []*specialistv1.Specialist) []*specialistv1.Specialist { s[0].Keywords[0].Term = "mat"; return s },
		"a weight":    func(s []*specialistv1.Specialist) []*specialistv1.Specialist { s[0].Keywords[0].Weight = 2; return s },
		"one is away": func(s []*specialistv1.Specialist) []*specialistv1.Specialist { s[1].Available = false; return s },
		"why it is away": func(s []*specialistv1.Specialist) []*specialistv1.Specialist {
			s[1].UnavailableReason = "ill"
			return s
		},
		"the order": func(s []*specialistv1.Specialist) []*specialistv1.Specialist {
			return []*specialistv1.Specialist{s[1], s[0]}
		},
		"one less": func(s []*specialistv1.Specialist) []*specialistv1.Specialist { return s[:1] },
		"none":     func(s []*specialistv1.Specialist) []*specialistv1.Specialist { return nil },
	} {
		v := version(t, change(specialists()))
		if same, known := seen[v]; known {
			t.Errorf("%s makes the same version as %s", what, same)
		}
		seen[v] = what
	}
}
