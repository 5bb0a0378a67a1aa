package router

import (
	"fmt"
	"hash/maphash"
	"math"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// dispatch writes the drafts into the decision, each to a specialist that is available now.
func (t *turn) dispatch(d *routerv1.RoutingDecision, drafts []draft) error {
	specialists := t.req.GetSpecialists()
	standIn := t.standIn()
	if standIn < 0 {
		return &fault.Unavailable{
			Reason: commonv1.ErrorReason_ERROR_REASON_PEER_UNAVAILABLE, What: "route message: none of the specialists is available",
		}
	}
	told := map[string]bool{}
	for i, draft := range drafts {
		a := &routerv1.Assignment{
			AssignmentId: fmt.Sprintf("a%d", i+1), Specialist: t.lexicon.names[draft.specialist],
			SubQuery: draft.text, Reason: draft.reason, Confidence: rounded(draft.confidence),
		}
		if wanted := specialists[draft.specialist]; !wanted.GetAvailable() {
			a.RemappedFrom, a.Specialist = wanted.GetName(), t.lexicon.names[standIn]
			if !told[a.RemappedFrom] {
				told[a.RemappedFrom] = true
				d.Notes = append(d.Notes, remapNote(wanted, a.Specialist))
			}
		}
		d.Assignments = append(d.Assignments, a)
	}
	d.Certainty = rounded(d.GetCertainty())
	d.Duration = durationpb.New(time.Since(t.start))
	return nil
}

// rounded rounds to three decimals: more of them would claim to know more than anybody does.
func rounded(f float64) float64 { return math.Round(f*1000) / 1000 }

// standIn returns the specialist that answers for those that are not available: the catch-all, else the first that is
// available, else -1.
func (t *turn) standIn() int {
	specialists := t.req.GetSpecialists()
	if c := t.lexicon.catchAll; specialists[c].GetName() == catchAllName && specialists[c].GetAvailable() {
		return c
	}
	for i, s := range specialists {
		if s.GetAvailable() {
			return i
		}
	}
	return -1
}

func remapNote(wanted *specialistv1.Specialist, standIn string) string {
	note := fmt.Sprintf("%s is not available; sent to %s", wanted.GetName(), standIn)
	if why := strings.TrimSpace(wanted.GetUnavailableReason()); why != "" {
		note += ": " + why
	}
	return note
}

// maxLexicons bounds the lexicons kept; deployments have a handful of sets of specialists.
const maxLexicons = 32

// lexicons remembers compiled lexicons by what they were compiled from. The zero value is ready.
type lexicons struct {
	once sync.Once
	seed maphash.Seed
	mu   sync.Mutex
	byID map[uint64]*lexicon
}

// of returns the lexicon of the specialists.
func (c *lexicons) of(specialists []*specialistv1.Specialist) *lexicon {
	c.once.Do(func() { c.seed = maphash.MakeSeed() })
	id := c.id(specialists)
	c.mu.Lock()
	l := c.byID[id]
	c.mu.Unlock()
	if l != nil {
		return l
	}
	l = newLexicon(specialists)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byID == nil || len(c.byID) >= maxLexicons {
		c.byID = map[uint64]*lexicon{}
	}
	c.byID[id] = l
	return l
}

// id hashes all that a lexicon is made of.
func (c *lexicons) id(specialists []*specialistv1.Specialist) uint64 {
	var h maphash.Hash
	h.SetSeed(c.seed)
	text := func(s string) {
		h.WriteString(s)
		h.WriteByte(0)
	}
	for _, s := range specialists {
		text(s.GetName())
		for _, k := range s.GetKeywords() {
			text(k.GetTerm())
			maphash.WriteComparable(&h, math.Float64bits(k.GetWeight()))
		}
		h.WriteByte(1)
		for _, e := range s.GetExamples() {
			text(e)
		}
		h.WriteByte(2)
	}
	return h.Sum64()
}
