package offline

import (
	"regexp"
	"slices"
	"strings"
)

// broader calls a search again, once, when it found nothing and said nothing: without its filters, or with fewer words.
func (p *planner) broader() []pick {
	var out []pick
	for _, r := range p.c.turn.results {
		t := p.find(r.tool)
		args, ok := r.args.(object)
		if t.name != r.tool || !ok || p.c.calls(r.tool) > len(p.clauses) || !isEmpty(r.value) || failure(r.value) != "" {
			continue
		}
		var again object
		if quotesNothing(r.value) {
			again = rephrased(t, args)
		}
		if again == nil {
			again = unmeasured(t, args)
		}
		if again == nil && note(r.value) == "" {
			again = loosen(t, args)
		}
		if again != nil && !p.c.called(t.name, again) {
			out = addPick(out, pick{t, again})
		}
	}
	return out
}

// measures are words that go with numbers, and seldom stand in what they measure.
var measures = set("people person persons adult adults kid kids man men month months year years day days week weeks night nights hour hours")

// unmeasured drops numbers, what they count, and that it is a gift from a search, nil when there are none or nothing else is there.
func unmeasured(t *profile, args object) object {
	return requeried(t, args, func(words []string) []string {
		return slices.DeleteFunc(words, func(w string) bool {
			_, number := numberWords[w]
			return number || measures[w] || isGift(w) || strings.HasSuffix(w, "-person") || strings.Trim(w, "0123456789") == ""
		})
	})
}

// rephrased asks texts in the words that rules are written in: "warranty" for what broke.
func rephrased(t *profile, args object) object {
	return requeried(t, args, func(words []string) []string {
		var out []string
		for _, w := range words {
			for _, g := range synonymGroups {
				group := strings.Fields(g)
				if slices.ContainsFunc(group, func(m string) bool { return stem(m) == stem(w) }) {
					if !slices.Contains(out, group[0]) {
						out = append(out, group[:min(len(group), 3)]...)
					}
					break
				}
			}
		}
		return out
	})
}

// requeried changes the words of a search, nil when nothing is left or nothing has changed.
func requeried(t *profile, args object, change func([]string) []string) object {
	out := slices.Clone(args)
	for i, a := range out {
		at := slices.IndexFunc(t.schema.Properties, func(p property) bool { return p.name == a.name })
		if at < 0 || roleOf("", t.schema.Properties[at]) != roleQuery {
			continue
		}
		words := strings.Fields(scalar(a.value))
		changed := change(slices.Clone(words))
		if len(changed) == 0 || slices.Equal(changed, words) {
			return nil
		}
		out[i].value = strings.Join(changed, " ")
		return out
	}
	return nil
}

// loosen drops the optional arguments of a search, or when there are none all but the last two words.
func loosen(t *profile, args object) object {
	var out object
	query := ""
	for _, prop := range t.schema.Properties {
		v, ok := args.get(prop.name)
		if !ok {
			continue
		}
		isQuery := prop.Type == "string" && roleOf("", prop) == roleQuery
		if isQuery {
			query = prop.name
		}
		if isQuery || t.schema.requires(prop.name) {
			out = append(out, field{prop.name, v})
		}
	}
	if query == "" {
		return nil
	}
	if len(out) < len(args) {
		return out
	}
	for i, f := range out {
		words := strings.Fields(scalar(f.value))
		if f.name != query || len(words) < 2 {
			continue
		}
		out[i].value = strings.Join(words[max(1, len(words)-2):], " ")
		return out
	}
	return nil
}

// finishRE marks a tool that sums up what another has returned.
var finishRE = regexp.MustCompile(`\b(?:after|then|finally|last|choose|chooses|pick|picks|select|selects|record|decide|decision|chosen|best)\b`)

// followUps calls the tools that had to wait for results: those that the question wants and that can be filled now, and
// those that say they come after one that was called.
func (p *planner) followUps() []pick {
	var out []pick
	for _, t := range p.tools {
		if p.c.calls(t.name) > 0 {
			continue
		}
		for _, clause := range p.clauses {
			args, fromResults := p.fill(t, clause, false)
			if args == nil || p.c.called(t.name, args) || !p.due(t, clause, fromResults) {
				continue
			}
			out = addPick(out, pick{t, args})
			break
		}
	}
	return out[:min(len(out), maxParallel)]
}

// stopped reports whether there is more to look up than could be: the calls so far made it possible, and none are left.
func (p *planner) stopped() bool {
	return p.c.rounds > 0 && p.c.rounds < maxRounds && len(p.followUps()) > 0
}

// due reports whether it is t's turn.
func (p *planner) due(t *profile, clause text, fromResults bool) bool {
	if p.onlyContents(clause) || !fromResults && p.preparedNothing() {
		return false
	}
	fit := p.fitting(clause)
	at := slices.IndexFunc(fit, func(s scored) bool { return s.tool == t })
	waited := slices.ContainsFunc(t.after, func(name string) bool { return p.c.calls(name) > 0 })
	if fromResults && (waited || finishRE.MatchString(t.text)) {
		return true
	}
	if at < 0 {
		return false
	}
	// It is what the question wants most, unless a tool like it was called already; or it needed the results.
	if at == 0 && (fromResults || waited || p.onlyPreparation(fit)) {
		return true
	}
	answered := fit[0].tool.free && p.c.calls(fit[0].tool.name) > 0 && len(t.schema.Required) == 0 // t can do without the results of a search
	if fromResults && !answered && fit[at].score >= 0.5*fit[0].score {
		return true
	}
	// The best tool asked to come first and has been called: now the next best has its turn.
	return at > 0 && fit[0].tool.first && p.c.calls(fit[0].tool.name) > 0 && p.firstUncalled(fit) == t
}

// preparedNothing reports whether all calls so far prepared for others and came back with nothing to go on.
func (p *planner) preparedNothing() bool {
	return !slices.ContainsFunc(p.c.turn.results, func(r result) bool { return !p.find(r.tool).prepares || !isEmpty(r.value) })
}

// onlyContents reports whether a clause asks what is in one of the shopper's own things, and nothing else of it.
func (p *planner) onlyContents(clause text) bool {
	called := slices.ContainsFunc(p.c.turn.results, func(r result) bool { t := p.find(r.tool); return t.prepares && t.concerns(clause) })
	return called && !slices.ContainsFunc(clause.words, func(w word) bool {
		return pairing[w.norm] || seeking[w.norm] || slices.ContainsFunc(w.gloss, func(g string) bool { return pairing[g] || seeking[g] || len(wishes([]string{g})) > 0 })
	})
}

// seeking are words that ask for more than to read something out.
var seeking = set("something anything with recommend suggest recommendation recommendations suggestion suggestions idea ideas need missing con combina combine va mit passt dazu passen avec vont aller algo etwas quelque")

// onlyPreparation reports whether nothing but tools that come first, or that provide for others, has been called.
func (p *planner) onlyPreparation(fit []scored) bool {
	for _, r := range p.c.turn.results {
		t := p.find(r.tool)
		if !t.first && !t.prepares && p.provider(fit[0].tool) != t && !slices.Contains(fit[0].tool.after, t.name) {
			return false
		}
	}
	return true
}

func (p *planner) firstUncalled(fit []scored) *profile {
	for _, s := range fit {
		if p.c.calls(s.tool.name) == 0 {
			return s.tool
		}
	}
	return nil
}

// note is the sentence that a result asks to relay.
func note(v any) string {
	if o, ok := v.(object); ok {
		return scalarField(o, "note", "notice", "message")
	}
	return ""
}
