package search

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/productview"
	"github.com/quartet-commerce/quartet/services/internal/retrieval"
)

// companion is a product that relates to an anchor.
type companion struct {
	hit
	reason string
}

// similar returns company for the anchors, best first. Products that meet words of q weigh more; known are products of which
// the caller knows that they go with an anchor.
func (v *view) similar(
	ctx context.Context, anchorIDs []string, relation catalogv1.Relation, q query, f filter, known []*catalogv1.Companion,
) ([]companion, error) {
	found, err := v.shelf.lookup(ctx, anchorIDs)
	if err != nil {
		return nil, fmt.Errorf("similar: %w", err)
	}
	var anchors []*entry
	taken := make(map[string]bool) // never to be returned, or returned already
	for _, e := range found {
		if e != nil && !taken[e.id()] {
			anchors = append(anchors, e)
			taken[e.id()] = true
		}
	}
	if len(anchors) == 0 {
		return nil, nil
	}
	s := selection{view: v, query: q, anchors: anchors, filter: f, taken: taken}
	if err := s.read(ctx, known); err != nil {
		return nil, fmt.Errorf("similar: %w", err)
	}
	if relation != catalogv1.Relation_RELATION_ALTERNATIVE {
		s.addKnown(known)
		s.addRanked(s.complement)
	}
	if relation != catalogv1.Relation_RELATION_COMPLEMENT {
		s.addRanked(s.alternative)
	}
	s.wish()
	return s.out, nil
}

// read gets what may be company, and how much of q's words it has.
func (s *selection) read(ctx context.Context, known []*catalogv1.Companion) error {
	var ids []string
	for _, a := range s.anchors {
		ids = append(ids, a.product.GetComplementIds()...)
	}
	for _, k := range known {
		ids = append(ids, k.GetProductId(), k.GetWithProductId())
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	found, err := s.view.shelf.lookup(ctx, ids)
	if err != nil {
		return err
	}
	s.named, s.wanted = make(map[string]*entry), make(map[string]float64)
	named := need{ids: []string{}}
	for i, e := range found {
		if e != nil {
			s.named[ids[i]] = e
			named.ids = append(named.ids, e.id())
		}
	}
	p, err := s.view.shelf.pool(ctx, s.query)
	if err != nil {
		return err
	}
	for _, n := range []need{named, {kin: s.anchors}} {
		candidates, err := p.fetch(ctx, n, s.filter)
		if err != nil {
			return err
		}
		for _, c := range candidates {
			if len(s.query.terms) > 0 {
				s.wanted[c.id()] = c.share(len(s.query.terms))
			}
		}
		s.kin = entries(candidates)
	}
	slices.SortFunc(s.kin, byTitle)
	return nil
}

// mentionShare is what a word is worth that a description merely mentions.
const mentionShare = 0.3

// share is how much of n words a product has.
func (m Match) share(n int) float64 {
	return (float64(m.Strong.Len()) + mentionShare*float64(m.Terms.Len()-m.Strong.Len())) / float64(n)
}

// selection gathers companions.
type selection struct {
	view    *view
	query   query
	anchors []*entry
	filter  filter
	named   map[string]*entry  // by identifier, as an anchor or the caller names it
	kin     []*entry           // by title
	wanted  map[string]float64 // of a product that has words of the query: the share of them that it has
	taken   map[string]bool
	out     []companion
}

// admit returns the product as a hit if it passes the filter and was not taken.
func (s *selection) admit(e *entry) (hit, bool) {
	if e == nil || s.taken[e.id()] {
		return hit{}, false
	}
	variants := s.filter.admit(e)
	return hit{candidate: candidate{entry: e}, variants: variants}, len(variants) > 0
}

// link is a product that somebody says goes with an anchor, and how.
type link struct {
	hit
	how    string // such as "goes with", followed by the anchor's title
	anchor *entry
}

// addKnown adds what the store's staff chose and what the caller knows, each list in its order, as one. Those that meet the
// shopper's further words come first.
func (s *selection) addKnown(known []*catalogv1.Companion) {
	for _, c := range fused(s.chosen(), s.told(known)) {
		s.taken[c.id()] = true
		s.out = append(s.out, c)
	}
}

// chosen is what the staff chose: the first choice of every anchor, then the second of each, and so on.
func (s *selection) chosen() []link {
	var out []link
	for n, more := 0, true; more; n++ {
		more = false
		for _, a := range s.anchors {
			ids := a.product.GetComplementIds()
			if n >= len(ids) {
				continue
			}
			more = true
			if h, ok := s.admit(s.named[ids[n]]); ok {
				out = append(out, link{h, "goes with", a})
			}
		}
	}
	return out
}

// told is what the caller knows, as far as it is of the anchors and in the catalog.
func (s *selection) told(known []*catalogv1.Companion) []link {
	var out []link
	for _, k := range known {
		anchor := s.named[k.GetWithProductId()]
		if anchor == nil || !slices.ContainsFunc(s.anchors, func(a *entry) bool { return a.id() == anchor.id() }) {
			continue
		}
		if h, ok := s.admit(s.named[k.GetProductId()]); ok {
			out = append(out, link{h, k.GetRelation(), anchor})
		}
	}
	return out
}

// fused merges ranked lists by reciprocal rank, so that what stands in both comes before what stands in one. Of equals the
// earlier list goes first. A product counts once in each list.
func fused(lists ...[]link) []companion {
	var out []companion
	at := make(map[string]int)      // position in out
	from := make(map[string]string) // anchor of the last reason
	for _, list := range lists {
		counted := make(map[string]bool)
		for _, l := range list {
			id := l.id()
			if counted[id] {
				continue
			}
			counted[id] = true
			i, again := at[id]
			if !again {
				i = len(out)
				at[id], out = i, append(out, companion{hit: l.hit})
				out[i].score = chosenScore
			}
			title := l.anchor.product.GetTitle()
			switch {
			case !again:
				out[i].reason = l.how + " " + title
			case from[id] == l.anchor.id():
				out[i].reason = strings.TrimSuffix(out[i].reason, " "+title) + " and " + l.how + " " + title
			default:
				out[i].reason += ", " + l.how + " " + title
			}
			from[id] = l.anchor.id()
			out[i].score += retrieval.Fused(len(counted) - 1)
		}
	}
	slices.SortStableFunc(out, nearer)
	return out
}

// nearer orders companions by score.
func nearer(a, b companion) int { return cmp.Compare(b.score, a.score) }

// wish puts what meets more of the shopper's further words first, whoever chose it.
func (s *selection) wish() {
	for i := range s.out {
		s.out[i].score += wishScore * s.wanted[s.out[i].id()]
	}
	slices.SortStableFunc(s.out, func(a, b companion) int { return cmp.Compare(s.wanted[b.id()], s.wanted[a.id()]) })
}

const (
	// chosenScore puts what is known to go together above what likeness alone comes to.
	chosenScore = 10
	// wishScore puts what meets half of the shopper's words above that choice.
	wishScore = 3 * chosenScore
)

// addRanked adds every product that relate finds related to an anchor, the nearest first.
func (s *selection) addRanked(relate func(anchor, e *entry) (float64, string)) {
	var found []companion
	for _, e := range s.kin {
		h, ok := s.admit(e)
		if !ok {
			continue
		}
		var reason string
		for _, a := range s.anchors {
			if score, why := relate(a, e); score > h.score {
				h.score, reason = score, why
			}
		}
		if h.score > 0 {
			found = append(found, companion{hit: h, reason: reason})
		}
	}
	slices.SortStableFunc(found, nearer)
	for _, c := range found {
		s.taken[c.id()] = true
	}
	s.out = append(s.out, found...)
}

// askedScore is for what shares nothing with an anchor, but is all that the shopper's further words ask for.
const askedScore = 0.01

// complement relates products of another category by the tags that they share; a rare tag says more than a common one.
func (s *selection) complement(anchor, e *entry) (float64, string) {
	for _, a := range s.anchors {
		if a.narrowest() == e.narrowest() {
			return 0, ""
		}
	}
	shared, weight := s.shared(anchor, e)
	if len(shared) == 0 && s.wanted[e.id()] >= 1 {
		return askedScore, "matches " + s.query.phrase()
	}
	if len(shared) == 0 {
		return 0, ""
	}
	score := weight / math.Sqrt(float64(len(anchor.tags)*len(e.tags)))
	if anchor.categories[0] == e.categories[0] {
		score /= 2 // sandals share much with boots, and seldom go with them
	}
	return score, fmt.Sprintf("shares %s with %s", strings.Join(shared, ", "), anchor.product.GetTitle())
}

// alternative relates products of the same narrowest category: all of them, those nearer in tags, brand and price more.
func (s *selection) alternative(anchor, e *entry) (float64, string) {
	if anchor.narrowest() != e.narrowest() {
		return 0, ""
	}
	shared, weight := s.shared(anchor, e)
	score := 0.1 + weight/math.Sqrt(float64(max(1, len(anchor.tags)*len(e.tags))))
	if anchor.brand != "" && anchor.brand == e.brand {
		score += 0.2
	}
	score += closeness(anchor, e)
	reason := "same kind as " + anchor.product.GetTitle()
	if len(shared) > 0 {
		reason += ", also " + strings.Join(shared, ", ")
	}
	return score, reason
}

// shared returns the tags of both, the rarest first, and what they weigh. Tags that most products have say nothing,
// nor does it that both make good presents.
func (s *selection) shared(a, b *entry) ([]string, float64) {
	var tags []string
	var weight float64
	total := float64(s.view.facts.products)
	for tag := range a.tags {
		if n := s.view.facts.tags[tag]; b.tags[tag] && !present(tag) && (float64(n) <= total/2 || n <= 2) {
			tags = append(tags, tag)
			weight += math.Log1p(total / float64(n))
		}
	}
	slices.SortFunc(tags, func(x, y string) int {
		return cmp.Or(cmp.Compare(s.view.facts.tags[x], s.view.facts.tags[y]), strings.Compare(x, y))
	})
	return tags, weight
}

// closeness is 0.5 for products of one price and falls to 0 as one becomes many times as dear as the other.
func closeness(a, b *entry) float64 {
	p, q := productview.Lowest(a.product.GetVariants()), productview.Lowest(b.product.GetVariants())
	x, y := float64(p.GetAmountMinor()), float64(q.GetAmountMinor())
	if p.GetCurrencyCode() != q.GetCurrencyCode() || x <= 0 || y <= 0 {
		return 0
	}
	return 0.5 * min(x, y) / max(x, y)
}
