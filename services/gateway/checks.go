package gateway

import "sync"

// checks are what a merged text is held against. They are made while the model thinks, so that nobody waits for them.
type checks struct {
	made func() (*grounds, *coverage)
	wg   sync.WaitGroup
}

// newChecks begins to make the checks of a turn's merge. The caller calls wait before it changes a branch.
func newChecks(t *turn, branches, sections []*branch) *checks {
	c := &checks{made: sync.OnceValues(func() (*grounds, *coverage) {
		base := t.language()
		said := readAnswers(base, sections)
		return newGrounds(t, branches, said), newCoverage(sections, said)
	})}
	c.wg.Go(func() {
		defer func() { _ = recover() }() // whoever needs them gets the same panic, in the turn that it belongs to
		c.made()
	})
	return c
}

func (c *checks) grounds() *grounds {
	g, _ := c.made()
	return g
}

func (c *checks) coverage() *coverage {
	_, covers := c.made()
	return covers
}

// wait waits until the checks are made.
func (c *checks) wait() { c.wg.Wait() }
