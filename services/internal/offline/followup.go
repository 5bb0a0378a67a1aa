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
		if t.name != r.tool || !ok || p.c.calls(r.tool) > len(p.clauses) || !isEmpty(r.value) || failure(r.value) != "" || note(r.value) != "" {
			continue
		}
		if again := loosen(t, args); again != nil && !p.c.called(t.name, again) {
			out = addPick(out, pick{t, again})
		}
	}
	return out
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

// due reports whether it is t's turn.
func (p *planner) due(t *profile, clause text, fromResults bool) bool {
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
	if fromResults && fit[at].score >= 0.5*fit[0].score {
		return true
	}
	// The best tool asked to come first and has been called: now the next best has its turn.
	return at > 0 && fit[0].tool.first && p.c.calls(fit[0].tool.name) > 0 && p.firstUncalled(fit) == t
}

// onlyPreparation reports whether nothing but tools that come first, or that provide for others, has been called.
func (p *planner) onlyPreparation(fit []scored) bool {
	for _, r := range p.c.turn.results {
		t := p.find(r.tool)
		if !t.first && p.provider(fit[0].tool) != t && !slices.Contains(fit[0].tool.after, t.name) {
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
