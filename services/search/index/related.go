package index

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
	"github.com/quartet-commerce/quartet/services/internal/text"
)

// Related is a product that relates to an anchor.
type Related struct {
	Hit
	Reason string
}

// phrases are the words of reasons in one language. The title of an anchor follows each of them.
type phrases struct{ goesWith, shares, sharesTags, sameKind, and string }

// reasons has the phrases by base language. Tags are the catalog's own words, so only English reasons list them.
var reasons = map[string]phrases{
	"en": {"goes with", "for the same use as", "shares %s with", "same kind as", "and"},
	"de": {"passt zu", "für denselben Zweck wie", "", "gleiche Art wie", "und"},
	"es": {"combina con", "para el mismo uso que", "", "del mismo tipo que", "y"},
	"fr": {"va avec", "pour le même usage que", "", "du même type que", "et"},
}

// maxSharedTags bounds the tags that a reason lists, the rarest first.
const maxSharedTags = 2

// Related returns products that relate to the anchors, best first. Products that meet words of q weigh more; known are products of which
// the caller knows that they go with an anchor. Reasons are in the named language, a BCP 47 tag; without phrases for it there are none.
func (v *View) Related(
	ctx context.Context, anchorIDs []string, relation catalogv1.Relation, q Query, f Filter, known []*catalogv1.KnownComplement, language string,
) ([]Related, error) {
	found, err := v.Index.Products(ctx, anchorIDs)
	if err != nil {
		return nil, fmt.Errorf("similar: %w", err)
	}
	var anchors []*Entry
	taken := make(map[string]bool) // never to be returned, or returned already
	for _, e := range found {
		if e != nil && !taken[e.ID()] {
			anchors = append(anchors, e)
			taken[e.ID()] = true
		}
	}
	if len(anchors) == 0 {
		return nil, nil
	}
	base, own := text.Written(language)
	s := relatedSearch{view: v, query: q, anchors: anchors, filter: f, excluded: taken, say: reasons[base]}
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
	s.sortByQuery()
	if !own {
		for i := range s.out {
			s.out[i].Reason = ""
		}
	}
	return s.out, nil
}

// read gets the candidates, and how much of q's words each has.
func (s *relatedSearch) read(ctx context.Context, known []*catalogv1.KnownComplement) error {
	var ids []string
	for _, a := range s.anchors {
		ids = append(ids, a.Product.GetComplementIds()...)
	}
	for _, k := range known {
		ids = append(ids, k.GetProductId(), k.GetWithProductId())
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	found, err := s.view.Index.Products(ctx, ids)
	if err != nil {
		return err
	}
	s.byID, s.queryShare = make(map[string]*Entry), make(map[string]float64)
	named := Constraint{ProductIDs: []string{}}
	for i, e := range found {
		if e != nil {
			s.byID[ids[i]] = e
			named.ProductIDs = append(named.ProductIDs, e.ID())
		}
	}
	p, err := s.view.Index.Match(ctx, s.query)
	if err != nil {
		return err
	}
	for _, n := range []Constraint{named, {SimilarTo: s.anchors}} {
		candidates, _, err := p.Candidates(ctx, n, s.filter, catalogv1.Sort_SORT_RELEVANCE)
		if err != nil {
			return err
		}
		for _, c := range candidates {
			if len(s.query.Terms) > 0 {
				s.queryShare[c.ID()] = c.queryTermShare(len(s.query.Terms))
			}
		}
		s.similar = Entries(candidates)
	}
	slices.SortFunc(s.similar, ByTitle)
	return nil
}

// mentionShare is what a word is worth that a description merely mentions.
const mentionShare = 0.3

// queryTermShare is how much of n words a product has.
func (m Match) queryTermShare(n int) float64 {
	return (float64(m.Strong.Len()) + mentionShare*float64(m.Terms.Len()-m.Strong.Len())) / float64(n)
}

// relatedSearch collects related products.
type relatedSearch struct {
	view       *View
	query      Query
	anchors    []*Entry
	filter     Filter
	say        phrases
	byID       map[string]*Entry  // by identifier, as an anchor or the caller names it
	similar    []*Entry           // by title
	queryShare map[string]float64 // of a product that has words of the query: the share of them that it has
	excluded   map[string]bool
	out        []Related
}

// admit returns the product as a hit if it passes the filter and was not taken.
func (s *relatedSearch) admit(e *Entry) (Hit, bool) {
	if e == nil || s.excluded[e.ID()] {
		return Hit{}, false
	}
	variants := s.filter.Admit(e)
	return Hit{Candidate: Candidate{Entry: e}, Variants: variants}, len(variants) > 0
}

// relation is a product that the store or the caller says goes with an anchor, and how.
type relation struct {
	Hit
	how    string // such as "goes with", followed by the anchor's title
	anchor *Entry
}

// addKnown adds what the store's staff chose and what the caller knows, each list in its order, as one. Those that meet the
// shopper's further words come first.
func (s *relatedSearch) addKnown(known []*catalogv1.KnownComplement) {
	for _, c := range s.fuse(s.fromStaff(), s.fromCaller(known)) {
		s.excluded[c.ID()] = true
		s.out = append(s.out, c)
	}
}

// fromStaff is what the staff chose: the first choice of every anchor, then the second of each, and so on.
func (s *relatedSearch) fromStaff() []relation {
	var out []relation
	for n, more := 0, true; more; n++ {
		more = false
		for _, a := range s.anchors {
			ids := a.Product.GetComplementIds()
			if n >= len(ids) {
				continue
			}
			more = true
			if h, ok := s.admit(s.byID[ids[n]]); ok {
				out = append(out, relation{h, s.say.goesWith, a})
			}
		}
	}
	return out
}

// fromCaller is what the caller knows of the anchors, limited to products of the catalog.
func (s *relatedSearch) fromCaller(known []*catalogv1.KnownComplement) []relation {
	var out []relation
	for _, k := range known {
		anchor := s.byID[k.GetWithProductId()]
		if anchor == nil || !slices.ContainsFunc(s.anchors, func(a *Entry) bool { return a.ID() == anchor.ID() }) {
			continue
		}
		if h, ok := s.admit(s.byID[k.GetProductId()]); ok {
			out = append(out, relation{h, k.GetRelation(), anchor})
		}
	}
	return out
}

// fuse merges ranked lists by reciprocal rank, so that what stands in both comes before what stands in one. Of equals the
// earlier list goes first. A product counts once in each list.
func (s *relatedSearch) fuse(lists ...[]relation) []Related {
	var out []Related
	at := make(map[string]int)      // position in out
	from := make(map[string]string) // anchor of the last reason
	for _, list := range lists {
		counted := make(map[string]bool)
		for _, l := range list {
			id := l.ID()
			if counted[id] {
				continue
			}
			counted[id] = true
			i, again := at[id]
			if !again {
				i = len(out)
				at[id], out = i, append(out, Related{Hit: l.Hit})
				out[i].Score = chosenScore
			}
			title := l.anchor.Product.GetTitle()
			switch {
			case !again:
				out[i].Reason = l.how + " " + title
			case from[id] == l.anchor.ID():
				out[i].Reason = strings.TrimSuffix(out[i].Reason, " "+title) + " " + s.say.and + " " + l.how + " " + title
			default:
				out[i].Reason += ", " + l.how + " " + title
			}
			from[id] = l.anchor.ID()
			out[i].Score += retrieval.Fused(len(counted) - 1)
		}
	}
	slices.SortStableFunc(out, byScore)
	return out
}

// byScore orders related products by score.
func byScore(a, b Related) int { return cmp.Compare(b.Score, a.Score) }

// sortByQuery puts products that have more of the query's terms first.
func (s *relatedSearch) sortByQuery() {
	for i := range s.out {
		s.out[i].Score += wishScore * s.queryShare[s.out[i].ID()]
	}
	slices.SortStableFunc(s.out, func(a, b Related) int { return cmp.Compare(s.queryShare[b.ID()], s.queryShare[a.ID()]) })
}

const (
	// chosenScore puts what is known to go together above what likeness alone comes to.
	chosenScore = 10
	// wishScore puts what meets half of the shopper's words above that choice.
	wishScore = 3 * chosenScore
)

// addRanked adds every product that relate finds related to an anchor, the nearest first.
func (s *relatedSearch) addRanked(relate func(anchor, e *Entry) (float64, string)) {
	var found []Related
	for _, e := range s.similar {
		h, ok := s.admit(e)
		if !ok {
			continue
		}
		var reason string
		for _, a := range s.anchors {
			if score, why := relate(a, e); score > h.Score {
				h.Score, reason = score, why
			}
		}
		if h.Score > 0 {
			found = append(found, Related{Hit: h, Reason: reason})
		}
	}
	slices.SortStableFunc(found, byScore)
	for _, c := range found {
		s.excluded[c.ID()] = true
	}
	s.out = append(s.out, found...)
}

// askedScore is for what shares nothing with an anchor, but is all that the shopper's further words ask for.
const askedScore = 0.01

// complement relates products of another category by the tags that they share; a rare tag says more than a common one.
func (s *relatedSearch) complement(anchor, e *Entry) (float64, string) {
	for _, a := range s.anchors {
		if a.Category() == e.Category() {
			return 0, ""
		}
	}
	shared, weight := s.shared(anchor, e)
	if len(shared) == 0 && s.queryShare[e.ID()] >= 1 {
		return askedScore, ""
	}
	if len(shared) == 0 {
		return 0, ""
	}
	score := weight / math.Sqrt(float64(len(anchor.Tags)*len(e.Tags)))
	if anchor.Categories[0] == e.Categories[0] {
		score /= 2 // sandals share much with boots, and seldom go with them
	}
	how := s.say.shares
	if s.say.sharesTags != "" {
		how = fmt.Sprintf(s.say.sharesTags, strings.Join(shared[:min(maxSharedTags, len(shared))], ", "))
	}
	return score, how + " " + anchor.Product.GetTitle()
}

// alternative relates products of the same narrowest category: all of them, those nearer in tags, brand and price more.
func (s *relatedSearch) alternative(anchor, e *Entry) (float64, string) {
	if anchor.Category() != e.Category() {
		return 0, ""
	}
	_, weight := s.shared(anchor, e)
	score := 0.1 + weight/math.Sqrt(float64(max(1, len(anchor.Tags)*len(e.Tags))))
	if anchor.Brand != "" && anchor.Brand == e.Brand {
		score += 0.2
	}
	score += priceSimilarity(anchor, e)
	return score, s.say.sameKind + " " + anchor.Product.GetTitle()
}

// shared returns the tags of both, the rarest first, and what they weigh. Tags that most products have say nothing,
// nor does it that both make good presents.
func (s *relatedSearch) shared(a, b *Entry) ([]string, float64) {
	var tags []string
	var weight float64
	total := float64(s.view.Statistics.Products)
	for tag := range a.Tags {
		if n := s.view.Statistics.Tags[tag]; b.Tags[tag] && !isGift(tag) && (float64(n) <= total/2 || n <= 2) {
			tags = append(tags, tag)
			weight += math.Log1p(total / float64(n))
		}
	}
	slices.SortFunc(tags, func(x, y string) int {
		return cmp.Or(cmp.Compare(s.view.Statistics.Tags[x], s.view.Statistics.Tags[y]), strings.Compare(x, y))
	})
	return tags, weight
}

// priceSimilarity is 0.5 for products of one price and falls to 0 as one becomes many times as dear as the other.
func priceSimilarity(a, b *Entry) float64 {
	p, q := productview.Lowest(a.Product.GetVariants()), productview.Lowest(b.Product.GetVariants())
	x, y := float64(p.GetAmountMinor()), float64(q.GetAmountMinor())
	if p.GetCurrencyCode() != q.GetCurrencyCode() || x <= 0 || y <= 0 {
		return 0
	}
	return 0.5 * min(x, y) / max(x, y)
}
