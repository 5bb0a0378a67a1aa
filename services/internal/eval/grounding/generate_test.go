package grounding

import (
	"reflect"
	"testing"
)

func TestGenerate(t *testing.T) {
	t.Run("seen", func(t *testing.T) { testGenerate(t, Seen) })
	t.Run("unseen", func(t *testing.T) { testGenerate(t, Unseen) })
}

func testGenerate(t *testing.T, from Source) {
	cases, err := Generate(156, 7, from)
	if err != nil || len(cases) != 312 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	type group struct{ kind, language string }
	seen := map[group]int{}
	for i := 0; i < len(cases); i += 2 {
		honest, wrong := cases[i], cases[i+1]
		if err := honest.check(); err != nil {
			t.Error(err)
		}
		if honest.Text == wrong.Text || honest.Message != wrong.Message || !reflect.DeepEqual(honest.Payloads, wrong.Payloads) {
			t.Errorf("not a pair: %+v %+v", honest, wrong)
		}
		seen[group{honest.Kind, honest.Language}]++
	}
	if len(seen) != len(kinds)*len(languages) {
		t.Errorf("%d groups of kind and language", len(seen))
	}
	if again, _ := Generate(156, 7, from); !reflect.DeepEqual(again, cases) {
		t.Error("equal seeds give other cases")
	}
	if other, _ := Generate(156, 8, from); reflect.DeepEqual(other, cases) {
		t.Error("another seed gives the same cases")
	}
}

// What is changed they must catch in replies of any store and language, and they must leave true ones alone.
func TestGeneratedValuesAreCaught(t *testing.T) {
	cases, err := Generate(624, 3, Seen)
	if err != nil {
		t.Fatal(err)
	}
	r := Measure(t.Context(), cases, nil)
	if r.Flagged.N > 0 {
		t.Errorf("honest replies flagged: %v", r.Flagged)
	}
	for kind, f := range r.ByKind {
		least := f.Caught.Of - 2
		switch kind {
		case "absent_product": // names of small letters are not told from other words
			least = f.Caught.Of * 6 / 10
		case "comparison": // a title with "and" is two clauses
			least = f.Caught.Of * 8 / 10
		}
		if f.Caught.N < least {
			t.Errorf("%s: %v caught, want %d", kind, f.Caught, least)
		}
	}
}
