package search

import (
	"cmp"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/quartet-commerce/quartet/services/internal/eval"
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

// Figures are the figures of a set of queries. Means are over the queries that have a relevant product.
type Figures struct {
	// Queries is how many there are.
	Queries int `json:"queries"`
	// NDCG10 and NDCG5 are the normalized discounted cumulative gains of the first 10 and 5 hits; what was not judged gains
	// nothing.
	NDCG10 Mean `json:"ndcg_at_10"`
	NDCG5  Mean `json:"ndcg_at_5"`
	// First is the share of the queries whose first hit is relevant.
	First Mean `json:"relevant_first"`
	// CondensedNDCG10 is NDCG10 of the rankings without the hits that have no judgment.
	CondensedNDCG10 Mean `json:"condensed_ndcg_at_10"`
	// Recall100 is the share of the relevant products that are among the first 100 hits.
	Recall100 Mean `json:"recall_at_100"`
	// Unjudged10 is the share of the first 10 hits without a judgment.
	Unjudged10 Mean `json:"unjudged_share_at_10"`
	// NoAnswer is how many queries found nothing, or nothing certain.
	NoAnswer int `json:"no_answer_queries"`
	// RightlyNone is how many queries have no relevant product and found nothing, or nothing certain.
	RightlyNone int `json:"rightly_no_answer_queries"`
	// Missed is how many queries have a relevant product and none among the first 10 hits.
	Missed int `json:"queries_without_relevant_hit"`
	// Incomplete is how many queries were answered without a leg that should have taken part.
	Incomplete int `json:"incomplete_queries"`
	// P50 and P99 are the shortest times, in milliseconds, that 50 % and 99 % of the timed calls did not exceed.
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
}

// Ranked is a pipeline's answers to the queries.
type Ranked struct {
	// Name says which legs the pipeline has, joined by "+", such as "lexical+vector".
	Name string
	// Outcomes are in the order of the queries, which is the same for all pipelines.
	Outcomes []Outcome
}

// PipelineFigures are the figures of one pipeline.
type PipelineFigures struct {
	Figures
	// AgainstFirst compares it with the first pipeline, query by query. Nil: it is the first.
	AgainstFirst *Comparison `json:"against_lexical,omitzero"`
}

// Report has the figures of all pipelines. Its own figures are the last pipeline's, which has all legs.
type Report struct {
	Figures
	// Pipeline is the name of the last one.
	Pipeline string `json:"pipeline"`
	// WithoutRelevant is how many queries have no relevant product, and are therefore in no mean.
	WithoutRelevant int `json:"queries_without_relevant"`
	// Judgments is how many products were judged, counted by query.
	Judgments int `json:"judgments"`
	// Products is the number of products.
	Products int `json:"products"`
	// LoadMillis is the time that it took to write the products, IndexMillis the time until the first search by words was
	// answered, and EmbedMillis the time until all products had a vector, in milliseconds. Zero: no vectors were made.
	LoadMillis  float64 `json:"load_ms"`
	IndexMillis float64 `json:"index_ms"`
	EmbedMillis float64 `json:"embed_ms,omitzero"`
	// Legs are the figures of each pipeline by its name.
	Legs map[string]PipelineFigures `json:"legs"`
	// Baselines are the figures of plain methods by name, without times. Nil: they were not asked for.
	Baselines map[string]PipelineFigures `json:"baselines,omitempty"`
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
	// Missing are the ids of the relevant products that are not among the fetched hits.
	Missing []string `json:"missing"`
}

// JudgedHit is a hit and its grade. Grade is nil when it was not judged.
type JudgedHit struct {
	ProductID string `json:"product_id"`
	Title     string `json:"title"`
	Grade     *int   `json:"grade"`
}

// Measure computes the figures of the pipelines, of which there is at least one, and of the baselines.
func Measure(pipelines []Ranked, baselines ...Ranked) *Report {
	first, last := pipelines[0], pipelines[len(pipelines)-1]
	r := &Report{Pipeline: last.Name, Legs: make(map[string]PipelineFigures), Misses: []Miss{}}
	for _, o := range last.Outcomes {
		r.Judgments += len(o.Grades)
		if ideal(o.Grades, 10) == 0 {
			r.WithoutRelevant++
		} else if m := miss(o); m.NDCG10 < 1 {
			r.Misses = append(r.Misses, m)
		}
	}
	for i, p := range pipelines {
		f := PipelineFigures{Figures: figures(p.Outcomes)}
		if i > 0 {
			f.AgainstFirst = compare(first.Outcomes, p.Outcomes)
		}
		r.Legs[p.Name] = f
	}
	r.Figures = r.Legs[last.Name].Figures
	for _, b := range baselines {
		if r.Baselines == nil {
			r.Baselines = make(map[string]PipelineFigures)
		}
		r.Baselines[b.Name] = PipelineFigures{Figures: figures(b.Outcomes), AgainstFirst: compare(first.Outcomes, b.Outcomes)}
	}
	slices.SortStableFunc(r.Misses, func(a, b Miss) int { return cmp.Compare(a.NDCG10, b.NDCG10) })
	return r
}

func figures(outcomes []Outcome) Figures {
	f := Figures{Queries: len(outcomes)}
	var durations []time.Duration
	for _, o := range outcomes {
		durations = append(durations, o.Durations...)
		if len(o.Hits) == 0 || o.Uncertain {
			f.NoAnswer++
		}
		if strings.Contains(o.Legs, ":") { // such as vector:failed
			f.Incomplete++
		}
		if ideal(o.Grades, 10) == 0 {
			if len(o.Hits) == 0 || o.Uncertain {
				f.RightlyNone++
			}
			continue
		}
		f.First.add(0)
		if len(o.Hits) > 0 && o.Grades[o.Hits[0].ProductID] > 0 {
			f.First.Sum++
		}
		f.NDCG10.add(NDCG(o.Hits, o.Grades, 10))
		f.NDCG5.add(NDCG(o.Hits, o.Grades, 5))
		f.CondensedNDCG10.add(condensed(o))
		f.Recall100.add(recall(o))
		top := o.Hits[:min(10, len(o.Hits))]
		if !slices.ContainsFunc(top, func(h Hit) bool { return o.Grades[h.ProductID] > 0 }) {
			f.Missed++
		}
		if len(top) > 0 {
			f.Unjudged10.add(1 - float64(len(judged(top, o.Grades)))/float64(len(top)))
		}
	}
	slices.Sort(durations)
	f.P50, f.P99 = millis(eval.Quantile(durations, 0.5)), millis(eval.Quantile(durations, 0.99))
	return f
}

// NDCG is the discounted gain of the first k hits, divided by the gain of the best order of all judged products. It is NaN if no product
// is relevant.
func NDCG(hits []Hit, grades map[string]int, k int) float64 {
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

// judged returns the hits that have a judgment.
func judged(hits []Hit, grades map[string]int) []Hit {
	return slices.DeleteFunc(slices.Clone(hits), func(h Hit) bool {
		_, ok := grades[h.ProductID]
		return !ok
	})
}

// condensed is the NDCG10 of the ranking without the hits that have no judgment.
func condensed(o Outcome) float64 { return NDCG(judged(o.Hits, o.Grades), o.Grades, 10) }

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
		Query: o.Text, NDCG10: NDCG(o.Hits, o.Grades, 10), CondensedNDCG10: condensed(o), Recall100: recall(o),
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

// Comparison says how a pipeline does on the queries with a relevant product, each against the first pipeline's ranking of the
// same query.
type Comparison struct {
	NDCG10          Change `json:"ndcg_at_10"`
	CondensedNDCG10 Change `json:"condensed_ndcg_at_10"`
}

// Change is the change of one figure.
type Change struct {
	// Mean is the mean difference from the first pipeline.
	Mean Mean `json:"mean_change"`
	// Improved and Worsened are the numbers of queries with a higher and a lower figure.
	Improved int `json:"improved_queries"`
	Worsened int `json:"worsened_queries"`
	// SignTest is the p-value of the two-sided sign test on Improved and Worsened.
	SignTest float64 `json:"sign_test_p"`
	// RandomizationTest is the p-value of the two-sided paired randomization test on the mean difference.
	RandomizationTest float64 `json:"randomization_test_p"`
	differences       []float64
}

// noChange is what rounding makes of two equal figures at most.
const noChange = 1e-9

// compare compares two runs of the same queries.
func compare(base, other []Outcome) *Comparison {
	c := new(Comparison)
	for i, o := range other {
		if ideal(o.Grades, 10) == 0 {
			continue
		}
		c.NDCG10.add(NDCG(o.Hits, o.Grades, 10) - NDCG(base[i].Hits, o.Grades, 10))
		c.CondensedNDCG10.add(condensed(o) - condensed(base[i]))
	}
	c.NDCG10.SignTest = signTest(c.NDCG10.Improved, c.NDCG10.Worsened)
	c.CondensedNDCG10.SignTest = signTest(c.CondensedNDCG10.Improved, c.CondensedNDCG10.Worsened)
	c.NDCG10.RandomizationTest = randomizationTest(c.NDCG10.differences)
	c.CondensedNDCG10.RandomizationTest = randomizationTest(c.CondensedNDCG10.differences)
	return c
}

func (c *Change) add(difference float64) {
	c.Mean.add(difference)
	c.differences = append(c.differences, difference)
	switch {
	case difference > noChange:
		c.Improved++
	case difference < -noChange:
		c.Worsened++
	}
}

// signTest is the share of the outcomes of a+b throws of a coin that are at least as uneven as a to b.
func signTest(a, b int) float64 {
	n := a + b
	var tail float64
	for k := range min(a, b) + 1 {
		tail += math.Exp(logFactorial(n) - logFactorial(k) - logFactorial(n-k) - float64(n)*math.Ln2)
	}
	return min(1, 2*tail)
}

// randomizations is how many assignments of signs are drawn.
const randomizations = 10_000

// randomizationTest is the share of random assignments of signs to the differences whose sum is at least as far from zero as theirs. The
// draws are the same in every run.
func randomizationTest(differences []float64) float64 {
	var sum float64
	for _, d := range differences {
		sum += d
	}
	draw := rand.New(rand.NewPCG(1, 2))
	extreme := 1 // as drawn
	for range randomizations {
		var s float64
		for _, d := range differences {
			if draw.Uint64()&1 == 0 {
				d = -d
			}
			s += d
		}
		if math.Abs(s) >= math.Abs(sum)-noChange {
			extreme++
		}
	}
	return float64(extreme) / (randomizations + 1)
}

func logFactorial(n int) float64 {
	v, _ := math.Lgamma(float64(n) + 1)
	return v
}
