package offline

import (
	"regexp"
	"slices"
	"strings"
)

const (
	maxRounds   = 3
	maxParallel = 4
	// clearScore is what a tool must reach when there are many to choose from.
	clearScore = 0.75
)

// planner chooses the tools to call next.
type planner struct {
	c       *conversation
	tools   []*profile
	bags    []bag
	clauses []text
}

func newPlanner(c *conversation, tools []tool) *planner {
	p := &planner{c: c, tools: profiles(tools, c.system)}
	for _, t := range p.tools {
		p.bags = append(p.bags, t.bag)
	}
	p.clauses = requests(c.question)
	return p
}

// plan returns the calls of the next step; none when it is time to answer.
func (p *planner) plan(required bool, name string) []toolCall {
	if name != "" {
		return p.forced(name)
	}
	var picks []pick
	switch {
	case p.c.rounds >= maxRounds:
	case p.c.rounds == 0 && !isSmallTalk(p.c.question):
		picks = p.open()
	case p.c.rounds > 0:
		picks = append(p.broader(), p.followUps()...)
	}
	if len(picks) == 0 && required && p.c.rounds == 0 {
		return p.forced(p.ranked(p.c.question)[0].tool.name)
	}
	return wire(picks)
}

// pick is a call that is about to be made.
type pick struct {
	tool *profile
	args object
}

func wire(picks []pick) []toolCall {
	var out []toolCall
	for _, k := range picks {
		args := k.args
		if args == nil {
			args = object{}
		}
		out = append(out, toolCall{Type: "function", Function: functionCall{Name: k.tool.name, Arguments: string(encode(args))}})
	}
	return out
}

// forced calls a tool whether it fits or not.
func (p *planner) forced(name string) []toolCall {
	t := p.find(name)
	args, _ := p.fill(t, p.c.question, true)
	return wire([]pick{{t, args}})
}

func (p *planner) find(name string) *profile {
	at := slices.IndexFunc(p.tools, func(t *profile) bool { return t.name == name })
	return p.tools[max(at, 0)]
}

// fill returns the arguments for a call about clause, nil when one that is required cannot be found, and whether tool
// results went into them.
func (p *planner) fill(t *profile, clause text, force bool) (args object, fromResults bool) {
	f := &filler{ask: clause, context: p.contextOf(clause), found: p.c.all(), now: p.c.now, force: force, languages: t.languages}
	for _, prop := range t.schema.Properties {
		if prop.name == "attributes" {
			f.recorded = prop.Description
		}
	}
	f.there = p.placeBefore(f.context)
	if item, at := p.c.pointsAt(clause); item != nil {
		f.take(at)
		if t.deals(item) {
			f.item = item
		}
	}
	args, ok := f.arguments(t.schema)
	if !ok {
		return nil, false
	}
	if args == nil {
		args = object{}
	}
	return args, f.fromResults
}

// contextOf is what a clause may lean on: the clause of the message before it, or what was asked before.
func (p *planner) contextOf(clause text) text {
	if before := preceding(p.c.question.raw, clause.raw); before != "" {
		return readAs(before, p.c.question.lang)
	}
	return p.c.context
}

type scored struct {
	tool  *profile
	score float64
}

// ranked orders the tools by how well they fit.
func (p *planner) ranked(clause text) []scored {
	speaks := termsOf(clause)
	if leansOnContext(clause) { // "and in blue?" is still about what was asked before
		for s, w := range termsOf(p.contextOf(clause)) {
			speaks.add(s, 0.6*w)
		}
	}
	loose := p.looseWords(clause)
	var out []scored
	for _, t := range p.tools {
		s := speaks.overlap(t.bag, p.bags)
		if t.free && loose {
			s += 0.8 // words that no tool knows must be what is looked for
		}
		s += p.shape(t, clause)
		if t.reluctant {
			s *= 0.7
		}
		out = append(out, scored{t, s})
	}
	slices.SortStableFunc(out, func(a, b scored) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return 0
	})
	return out
}

// shape speaks for a tool with an argument that only this question can fill: an order number, a place, a quantity.
func (p *planner) shape(t *profile, clause text) float64 {
	sum, asks := 0.0, asksCurrency(clause)
	for _, prop := range t.schema.Properties {
		f := &filler{ask: clause, found: nil, now: p.c.now}
		switch r := roleOf("", prop); {
		case r == roleID && f.identifier(prop) != "", r == roleCode && f.code() != "", r == rolePostal && f.postalCode() != "", r == roleCurrency && asks && f.currency(prop) != "":
			sum += 1.5
		case r == roleDate || r == rolePlace || r == roleFrom || r == roleTo || r == roleCurrency || r == roleLanguage || r == roleContact:
			if prop.Type == "string" && f.text("", prop, false, false) != "" {
				sum += 0.5
			}
		case r == rolePriceMax && f.property("", prop, false, false) != nil:
			sum += 0.4
		}
	}
	return sum
}

// looseWords reports whether the clause has content that no tool's description knows.
func (p *planner) looseWords(clause text) bool {
	for _, w := range salient(clause, nil) {
		if fillers[w] || priceFillers[w] {
			continue
		}
		known := false
		for _, b := range p.bags {
			known = known || b.weigh(stem(w)) > 0
		}
		if !known {
			return true
		}
	}
	return false
}

// fitting returns the tools that a clause speaks of, the best first.
func (p *planner) fitting(clause text) []scored {
	all := p.ranked(clause)
	least := clearScore
	if len(all) <= 2 {
		least = 0.01
	}
	var out []scored
	for _, s := range all {
		if s.score >= least && s.score >= 0.45*all[0].score {
			out = append(out, s)
		}
	}
	return out
}

// open makes the first calls: the best tool for each clause, or what must come before it.
func (p *planner) open() []pick {
	var out []pick
	for _, clause := range p.clauses {
		if isSmallTalk(clause) {
			continue
		}
		if wish := p.wish(clause); len(wish) > 0 {
			for _, k := range wish {
				out = addPick(out, k)
			}
			continue
		}
		fit := p.fitting(clause)
		if len(fit) == 0 {
			continue
		}
		if each := p.compared(fit[0].tool, clause); len(each) > 0 {
			for _, k := range each {
				out = addPick(out, k)
			}
			continue
		}
		k, ok := p.firstCall(fit, clause)
		if !ok {
			continue
		}
		out = addPick(out, k)
		if also, ok := p.beside(k, clause); ok {
			out = addPick(out, also)
		}
	}
	return out[:min(len(out), maxParallel)]
}

// beside is a second call for a clause whose first took an id: "return order 1042" is about the order and about returns.
func (p *planner) beside(k pick, clause text) (pick, bool) {
	rest := clause.raw
	for _, id := range identifiers(clause) {
		if slices.ContainsFunc(k.args, func(f field) bool { return scalar(f.value) == id.value || scalar(f.value) == "#"+id.value }) {
			rest = strings.Replace(rest, clause.raw[id.start:id.end], "", 1)
		}
	}
	if rest == clause.raw {
		return pick{}, false
	}
	for _, w := range clause.words {
		if slices.ContainsFunc(w.gloss, func(g string) bool { return sources[g] }) {
			rest = strings.Replace(rest, w.raw, "", 1)
		}
	}
	left := readAs(rest, clause.lang)
	words := wishes(salient(left, nil))
	if len(words) == 0 || !slices.ContainsFunc(words, func(w string) bool { return p.knows(w, k.tool) }) {
		return pick{}, false
	}
	if fit := p.fitting(left); len(fit) > 0 && fit[0].tool != k.tool && fit[0].tool.free {
		if args, _ := p.fill(fit[0].tool, left, false); args != nil {
			return pick{fit[0].tool, args}, true
		}
	}
	return pick{}, false
}

// knows reports whether a tool other than t speaks of the word.
func (p *planner) knows(w string, t *profile) bool {
	return slices.ContainsFunc(p.tools, func(o *profile) bool { return o != t && o.bag.weigh(stem(w)) > 0 })
}

// addPick adds a call, unless one like it with as many or more arguments is there; the fuller one stays.
func addPick(picks []pick, k pick) []pick {
	for i, old := range picks {
		if old.tool != k.tool {
			continue
		}
		if within(k.args, old.args) {
			return picks
		}
		if within(old.args, k.args) {
			picks[i] = k
			return picks
		}
		if proves(old.args) != proves(k.args) { // "my order is 1042. My postal code is ..." is one call
			picks[i].args = union(old.args, k.args)
			return picks
		}
	}
	return append(picks, k)
}

// proves reports whether arguments say nothing but how somebody is reached, or where they live.
func proves(args object) bool {
	return len(args) > 0 && !slices.ContainsFunc(args, func(f field) bool {
		r := roleOf("", property{f.name, &schema{Type: "string"}})
		return r != roleContact && r != rolePostal
	})
}

// union is a with what only b has.
func union(a, b object) object {
	out := slices.Clone(a)
	for _, f := range b {
		if _, there := a.get(f.name); !there {
			out = append(out, f)
		}
	}
	return out
}

// within reports whether all of a is in b.
func within(a, b object) bool {
	return !slices.ContainsFunc(a, func(f field) bool {
		v, ok := b.get(f.name)
		return !ok || !sameJSON(v, f.value)
	})
}

// firstCall picks the call for one clause: what asks to come first, what the best tool comes after, the best tool itself,
// or one that may return what the best tool lacks.
func (p *planner) firstCall(fit []scored, clause text) (pick, bool) {
	for _, t := range p.tools {
		if t.first || t.prepares && t.concerns(clause) {
			if args, _ := p.fill(t, clause, false); args != nil {
				return pick{t, args}, true
			}
		}
	}
	best := fit[0].tool
	for _, name := range best.after {
		if args, _ := p.fill(p.find(name), clause, false); args != nil {
			return pick{p.find(name), args}, true
		}
	}
	if args, _ := p.fill(best, clause, false); args != nil {
		return pick{best, args}, true
	}
	if t := p.provider(best); t != nil {
		if args, _ := p.fill(t, clause, false); args != nil {
			return pick{t, args}, true
		}
	}
	for _, s := range fit[1:] {
		if args, _ := p.fill(s.tool, clause, false); args != nil {
			return pick{s.tool, args}, true
		}
	}
	return pick{}, false
}

// provider finds a tool without required arguments that may return what t lacks: its name shares a noun with an argument
// of t, or t's description speaks of it.
func (p *planner) provider(t *profile) *profile {
	var best *profile
	score := 0.0
	wanted := bag{}
	wanted.addText(t.text, 1)
	for _, name := range t.schema.Required {
		for _, w := range nameWords(name) {
			wanted[stem(w)] = 2
		}
	}
	for _, other := range p.tools {
		if other == t || len(other.schema.Required) > 0 {
			continue
		}
		s := 0.0
		for _, w := range nameWords(other.name) {
			s += wanted[stem(w)]
		}
		if best == nil || s > score {
			best, score = other, s
		}
	}
	return best
}

var comparesRE = regexp.MustCompile(`(?i)^.*?\b(?:compare|comparing|difference between|comparar?|diferencia entre|vergleiche?|unterschied zwischen|comparez|comparer|différence entre)\b|\b(?:versus|vs)\b`)

// compared makes a look-up for each of the two things that a clause compares: one query for both would find neither.
func (p *planner) compared(t *profile, clause text) []pick {
	var rest string
	if m := whichRE.FindStringSubmatch(clause.raw); m != nil {
		rest = m[1]
	} else if comparesRE.MatchString(clause.raw) {
		rest = comparesRE.ReplaceAllString(clause.raw, " , ")
	}
	if !t.free || rest == "" {
		return nil
	}
	var out []pick
	for part := range strings.SplitSeq(andRE.ReplaceAllString(rest, ","), ",") {
		one := readAs(tidy(part), clause.lang)
		if len(wishes(salient(one, nil))) == 0 {
			continue
		}
		if args, _ := p.fill(t, one, false); args != nil {
			out = append(out, pick{t, args})
		}
	}
	if len(out) < 2 {
		return nil
	}
	return out[:min(len(out), maxParallel)]
}

// whichRE is "which is better, a or b?".
var whichRE = regexp.MustCompile(`(?i)^\W*(?:which|what|cuál|welche\w*|quel\w*)\b[^,:]*[,:](.+\s(?:or|o|oder|ou)\s.+)$`)

var andRE = regexp.MustCompile(`(?i)\s(?:and|or|o|oder|ou|with|to|y|con|und|mit|et|avec)\s`)
