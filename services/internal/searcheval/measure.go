package searcheval

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"time"
)

// Mean is a sum over some queries and how many they are. In JSON it is their mean, or null when there are none.
type Mean struct {
	Sum float64
	Of  int
}

// Value returns the mean, and whether there is one.
func (m Mean) Value() (mean float64, ok bool) {
	if m.Of == 0 {
		return 0, false
	}
	return m.Sum / float64(m.Of), true
}

// MarshalJSON implements json.Marshaler.
func (m Mean) MarshalJSON() ([]byte, error) {
	if v, ok := m.Value(); ok {
		return json.Marshal(v)
	}
	return []byte("null"), nil
}

func (m *Mean) add(v float64) {
	m.Sum += v
	m.Of++
}

// Figures are those of a set of queries. Means are over the queries that have a relevant product.
type Figures struct {
	// Queries is how many there are.
	Queries int `json:"queries"`
	// NDCG10 and NDCG5 are the normalized discounted cumulative gains of the first 10 and 5 hits; what was not judged gains
	// nothing.
	NDCG10 Mean `json:"ndcg_at_10"`
	NDCG5  Mean `json:"ndcg_at_5"`
	// CondensedNDCG10 is NDCG10 of the rankings less what was not judged.
	CondensedNDCG10 Mean `json:"condensed_ndcg_at_10"`
	// Recall100 is the share of the relevant products that are among the first 100 hits.
	Recall100 Mean `json:"recall_at_100"`
	// NoAnswer is how many queries found nothing.
	NoAnswer int `json:"no_answer_queries"`
	// P50 and P99 are the shortest times, in milliseconds, that 50 % and 99 % of the timed calls did not exceed.
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
}

// Report is what Measure found.
type Report struct {
	Figures
	// WithoutRelevant is how many queries have no relevant product, and are therefore in no mean.
	WithoutRelevant int `json:"queries_without_relevant"`
	// Judgments is how many products were judged, counted by query.
	Judgments int `json:"judgments"`
	// Legs are the figures by the legs that answered.
	Legs map[string]Figures `json:"legs"`
	// Misses are the queries that a better order would have served better, the worst first. Nil: they are left out.
	Misses []Miss `json:"misses,omitzero"`
}

// Miss is a query whose first 10 hits are not the best 10.
type Miss struct {
	Query           string  `json:"query"`
	NDCG10          float64 `json:"ndcg_at_10"`
	CondensedNDCG10 float64 `json:"condensed_ndcg_at_10"`
	Recall100       float64 `json:"recall_at_100"`
	// Hits are the first 10.
	Hits []JudgedHit `json:"hits"`
	// Missing are the ids of the relevant products that the ranking does not have as far as it was fetched.
	Missing []string `json:"missing"`
}

// JudgedHit is a hit and its grade. Grade is nil when it was not judged.
type JudgedHit struct {
	ProductID string `json:"product_id"`
	Title     string `json:"title"`
	Grade     *int   `json:"grade"`
}

// Measure computes the figures.
func Measure(outcomes []Outcome) *Report {
	r := &Report{Legs: make(map[string]Figures), Misses: []Miss{}}
	byLegs := make(map[string][]Outcome)
	for _, o := range outcomes {
		byLegs[o.Legs] = append(byLegs[o.Legs], o)
		r.Judgments += len(o.Grades)
		if ideal(o.Grades, 10) == 0 {
			r.WithoutRelevant++
		} else if m := miss(o); m.NDCG10 < 1 {
			r.Misses = append(r.Misses, m)
		}
	}
	r.Figures = figures(outcomes)
	for legs, some := range byLegs {
		r.Legs[legs] = figures(some)
	}
	slices.SortStableFunc(r.Misses, func(a, b Miss) int { return cmp.Compare(a.NDCG10, b.NDCG10) })
	return r
}

func figures(outcomes []Outcome) Figures {
	f := Figures{Queries: len(outcomes)}
	var durations []time.Duration
	for _, o := range outcomes {
		durations = append(durations, o.Durations...)
		if len(o.Hits) == 0 {
			f.NoAnswer++
		}
		if ideal(o.Grades, 10) == 0 {
			continue
		}
		f.NDCG10.add(ndcg(o.Hits, o.Grades, 10))
		f.NDCG5.add(ndcg(o.Hits, o.Grades, 5))
		f.CondensedNDCG10.add(ndcg(condensed(o), o.Grades, 10))
		f.Recall100.add(recall(o))
	}
	slices.Sort(durations)
	f.P50, f.P99 = quantile(durations, 0.5), quantile(durations, 0.99)
	return f
}

// ndcg is the discounted gain of the first k hits, in that of the best order of all judged products.
func ndcg(hits []Hit, grades map[string]int, k int) float64 {
	var sum float64
	for i, h := range hits[:min(k, len(hits))] {
		sum += gain(grades[h.ProductID], i)
	}
	return sum / ideal(grades, k)
}

// ideal is the discounted gain of the best order. Zero: nothing is relevant.
func ideal(grades map[string]int, k int) float64 {
	var all []int
	for _, g := range grades {
		all = append(all, g)
	}
	slices.SortFunc(all, func(a, b int) int { return cmp.Compare(b, a) })
	var sum float64
	for i, g := range all[:min(k, len(all))] {
		sum += gain(g, i)
	}
	return sum
}

// gain is what a grade gains at a place, from 0.
func gain(grade, place int) float64 {
	return (math.Exp2(float64(grade)) - 1) / math.Log2(float64(place)+2)
}

// condensed returns the hits that were judged.
func condensed(o Outcome) []Hit {
	return slices.DeleteFunc(slices.Clone(o.Hits), func(h Hit) bool {
		_, judged := o.Grades[h.ProductID]
		return !judged
	})
}

// recall is the share of the relevant products that are on the first page.
func recall(o Outcome) float64 {
	relevant, found := 0, 0
	for _, g := range o.Grades {
		if g > 0 {
			relevant++
		}
	}
	for _, h := range o.Hits[:min(pageSize, len(o.Hits))] {
		if o.Grades[h.ProductID] > 0 {
			found++
		}
	}
	return float64(found) / float64(relevant)
}

func miss(o Outcome) Miss {
	m := Miss{
		Query: o.Text, NDCG10: ndcg(o.Hits, o.Grades, 10), CondensedNDCG10: ndcg(condensed(o), o.Grades, 10), Recall100: recall(o),
		Hits: []JudgedHit{}, Missing: []string{},
	}
	for _, h := range o.Hits[:min(10, len(o.Hits))] {
		hit := JudgedHit{ProductID: h.ProductID, Title: h.Title}
		if g, judged := o.Grades[h.ProductID]; judged {
			hit.Grade = &g
		}
		m.Hits = append(m.Hits, hit)
	}
	for id, g := range o.Grades {
		if g > 0 && !slices.ContainsFunc(o.Hits, func(h Hit) bool { return h.ProductID == id }) {
			m.Missing = append(m.Missing, id)
		}
	}
	slices.Sort(m.Missing)
	return m
}

// quantile returns the shortest of the sorted durations that at least the share q of them does not exceed, in
// milliseconds, and zero when there are none.
func quantile(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(q * float64(len(sorted))))
	return float64(sorted[rank-1]) / float64(time.Millisecond)
}
