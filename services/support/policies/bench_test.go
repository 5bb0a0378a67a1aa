package policies

import "testing"

// BenchmarkSearchPolicies puts questions to the documents of the demo store.
func BenchmarkSearchPolicies(b *testing.B) {
	words := newLexicon()
	x := newPassageIndex(words, demoPolicies(b))
	for name, question := range map[string]string{
		"a topic": "return policy", "a sentence": "can I send back an opened sleeping bag after 30 days?", "a typo": "waranty",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if found := x.find(question, "en"); len(found.candidates) == 0 {
					b.Fatal("nothing found")
				}
			}
		})
	}
}
