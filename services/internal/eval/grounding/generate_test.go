package grounding

import (
	"reflect"
	"testing"
)

func TestGenerate(t *testing.T) {
	cases, err := Generate(132, 7)
	if err != nil || len(cases) != 264 {
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
	if again, _ := Generate(132, 7); !reflect.DeepEqual(again, cases) {
		t.Error("equal seeds give other cases")
	}
	if other, _ := Generate(132, 8); reflect.DeepEqual(other, cases) {
		t.Error("another seed gives the same cases")
	}
}

// What is changed they must catch in replies of any store and language, and they must leave true ones alone.
func TestGeneratedValuesAreCaught(t *testing.T) {
	cases, err := Generate(528, 3)
	if err != nil {
		t.Fatal(err)
	}
	r := Measure(t.Context(), cases)
	if r.Flagged.N > 0 {
		t.Errorf("honest replies flagged: %v", r.Flagged)
	}
	for kind, f := range r.ByKind {
		if c := f.Caught; kind != "absent_product" && c.N < c.Of-2 { // names of small letters are not told from other words
			t.Errorf("%s: %v caught", kind, c)
		}
	}
}
