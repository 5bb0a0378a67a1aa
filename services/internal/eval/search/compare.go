package search

import "math"

// Comparison says how a pipeline does on the queries with a relevant product, each against the first pipeline's ranking of the
// same query.
type Comparison struct {
	NDCG10          Change `json:"ndcg_at_10"`
	CondensedNDCG10 Change `json:"condensed_ndcg_at_10"`
}

// Change is that of one figure.
type Change struct {
	// Mean is by how much the figure is higher in the mean.
	Mean Mean `json:"mean_change"`
	// Improved and Worsened are how many queries have a higher and a lower figure. All others have the same.
	Improved int `json:"improved_queries"`
	Worsened int `json:"worsened_queries"`
	// SignTest is how likely a split as uneven as that of improved and worsened ones is when either is as likely as the other:
	// the p-value of the two-sided sign test.
	SignTest float64 `json:"sign_test_p"`
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
		c.NDCG10.add(ndcg(o.Hits, o.Grades, 10) - ndcg(base[i].Hits, o.Grades, 10))
		c.CondensedNDCG10.add(condensed(o) - condensed(base[i]))
	}
	c.NDCG10.SignTest = signTest(c.NDCG10.Improved, c.NDCG10.Worsened)
	c.CondensedNDCG10.SignTest = signTest(c.CondensedNDCG10.Improved, c.CondensedNDCG10.Worsened)
	return c
}

func (c *Change) add(difference float64) {
	c.Mean.add(difference)
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

func logFactorial(n int) float64 {
	v, _ := math.Lgamma(float64(n) + 1)
	return v
}
