package classifier

import (
	"math"
	"slices"
	"strconv"
)

const (
	clauseBuckets = 1 << 18 // weights of a label
	edgeBuckets   = 1 << 14 // weights of a change of label
)

// feature is a hashed feature of a clause or an edge. Features that share a bucket share a weight.
type feature struct {
	bucket uint32
	value  float32
}

// hashed returns the bucket of a feature: FNV-1a over its kind and its text.
func hashed(kind, s string, buckets uint32) uint32 {
	h := uint32(2166136261)
	for i := range len(kind) {
		h = (h ^ uint32(kind[i])) * 16777619
	}
	h *= 16777619
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return (h ^ h>>17) % buckets
}

// Values of the kinds of features, chosen by cross-validation over authors.
const (
	wordValue = 1
	pairValue = 0.7
	gramValue = 0.25 // for each of the 3- to 5-grams of letters, which meet inflected and misspelt words and compounds
	formValue = 0.5
)

// edgeKind begins the kinds of features of edges where these are left out.
const edgeKind = "edge "

// followUpKind begins the kinds of features of the edge between the message before and a message.
const followUpKind = "earlier"

// clauseFeatures returns the features of clause i but for those of some kinds. Ignored words have no features.
func clauseFeatures(ws []word, cs []clause, i int, ignored []bool, without []string) []feature {
	c := cs[i]
	fs := make([]feature, 0, 12*(c.hi-c.lo)+16)
	add := func(kind, s string, value float32) {
		if !slices.Contains(without, kind) {
			fs = append(fs, feature{hashed(kind, s, clauseBuckets), value})
		}
	}
	before := "^"
	if c.lo > 0 && ws[c.lo].gap == gapSpace {
		before = ws[c.lo-1].norm
	}
	for at, w := range ws[c.lo:c.hi] {
		if ignored[c.lo+at] {
			before = ""
			continue
		}
		add("w", w.norm, wordValue)
		add("p", before+" "+w.norm, pairValue)
		if padded := "<" + w.norm + ">"; len(w.norm) > 2 {
			for n := 3; n <= 5; n++ {
				for k := 0; k+n <= len(padded); k++ {
					add("c", padded[k:k+n], gramValue)
				}
			}
		}
		before = w.norm
	}
	// A long clause says more than a short one, but less than its words by themselves would.
	scale := float32(3 / math.Sqrt(float64(max(len(fs), 1))))
	for k := range fs {
		fs[k].value *= scale
	}
	add("p", before+" $", pairValue*scale)
	if !ignored[c.lo] {
		add("first", ws[c.lo].norm, formValue)
		if c.lo+1 < c.hi {
			add("first two", ws[c.lo].norm+" "+ws[c.lo+1].norm, formValue)
		}
	}
	if ws[c.hi-1].asked {
		add("asked", "", formValue)
	}
	switch {
	case inQuestion(ws, c.lo):
		add("in a question", "", formValue)
	case slices.ContainsFunc(ws, func(w word) bool { return w.asked }):
		add("beside a question", "", formValue)
	}
	switch {
	case len(cs) == 1:
		add("only", "", formValue)
	case i == 0:
		add("start", "", formValue)
	case i == len(cs)-1:
		add("end", "", formValue)
	}
	add("words", upTo(c.hi-c.lo, 7), formValue)
	add("clauses", upTo(len(cs), 6), formValue)
	if ws[c.lo].quoted {
		add("quoted", "", 1)
	}
	add("bias", "", 1)
	return fs
}

// inQuestion reports whether the sentence of the word at i is a question.
func inQuestion(ws []word, i int) bool {
	for ; i < len(ws); i++ {
		if ws[i].asked {
			return true
		}
		if i+1 < len(ws) && ws[i+1].gap >= gapStop {
			return false
		}
	}
	return false
}

// edgeFeatures returns the features of the place between clause i-1 and clause i but for those of some kinds.
func edgeFeatures(ws []word, cs []clause, i int, without []string) []feature {
	c, before := cs[i], cs[i-1]
	fs := make([]feature, 0, 10)
	add := func(kind, s string, value float32) {
		if !slices.Contains(without, edgeKind+kind) {
			fs = append(fs, feature{hashed(kind, s, edgeBuckets), value})
		}
	}
	gap, first := strconv.Itoa(int(ws[c.lo].gap)), ws[c.lo].norm
	add("bias", "", 1)
	add("gap", gap, 1)
	add("first", first, formValue)
	add("gap first", gap+first, formValue)
	if c.lo+1 < c.hi {
		add("second", ws[c.lo+1].norm, formValue)
		add("first two", first+" "+ws[c.lo+1].norm, formValue)
	}
	add("last", ws[before.hi-1].norm, 0.3)
	add("words", upTo(c.hi-c.lo, 5), formValue)
	add("words before", upTo(before.hi-before.lo, 5), formValue)
	if ws[c.hi-1].asked {
		add("asked", gap, formValue)
	}
	return fs
}

// followUpFeatures returns the features of the place between the message before and a message.
func followUpFeatures(ws []word, cs []clause) []feature {
	fs := []feature{
		{hashed(followUpKind, "", edgeBuckets), 1},
		{hashed(followUpKind, ws[0].norm, edgeBuckets), formValue},
		{hashed(followUpKind+" words", upTo(len(ws), 12), edgeBuckets), formValue},
		{hashed(followUpKind+" clauses", upTo(len(cs), 3), edgeBuckets), formValue},
	}
	if len(ws) > 1 {
		fs = append(fs, feature{hashed(followUpKind+" second", ws[1].norm, edgeBuckets), formValue},
			feature{hashed(followUpKind, ws[0].norm+" "+ws[1].norm, edgeBuckets), formValue})
	}
	return fs
}

func upTo(n, limit int) string { return strconv.Itoa(min(n, limit)) }
