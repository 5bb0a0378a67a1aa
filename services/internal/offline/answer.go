package offline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// writer words an answer from what is known.
type writer struct {
	c     *conversation
	tools []tool
	say   *phrasebook
	lang  language
	// speaks is what the question is about.
	speaks terms
}

func newWriter(c *conversation, tools []tool) *writer {
	lang := c.question.lang
	if m := answerInRE.FindStringSubmatch(c.system); m != nil {
		lang = languageNames[m[1]]
	}
	return &writer{c: c, tools: tools, say: phrases[lang], lang: lang, speaks: termsOf(c.question)}
}

// answerInRE finds the language that a prompt asks for.
var answerInRE = regexp.MustCompile(`(?m)^Answer in ([A-Z]\w+)`)

// languageNames has the languages that the rules know by their names in prompts. In any other, they answer in English.
var languageNames = map[string]language{"English": english, "Spanish": spanish, "German": german, "French": french}

// answer is the text of the reply.
func (w *writer) answer() string {
	results := w.relevant()
	if len(results) == 0 {
		return w.withoutResults()
	}
	var parts, failures, empty []string
	for _, r := range results {
		if e := failure(r.value); e != "" {
			failures = appendNew(failures, w.told(e))
			continue
		}
		if isEmpty(r.value) && (note(r.value) == "" || quotesNothing(r.value)) {
			empty = appendNew(empty, w.nothing(r))
			continue
		}
		parts = appendNew(parts, w.render(r))
	}
	if len(requests(w.c.question)) == 1 {
		parts = append(failures, parts...) // what went wrong is the answer, what follows is second best
	} else {
		parts = append(parts, failures...)
	}
	if len(parts) == 0 || len(requests(w.c.question)) > 1 {
		parts = append(parts, empty...)
	}
	if len(parts) == 0 {
		return w.say.unknown // results that hold no words
	}
	return strings.Join(parts, "\n\n")
}

// quotesNothing recognises the result of a search among texts.
func quotesNothing(v any) bool {
	o, ok := v.(object)
	return ok && has(o, "passages", "policies", "articles", "documents", "answers", "faqs")
}

var (
	toolPrefixRE = regexp.MustCompile(`^[a-z]+(?:_[a-z]+)+:\s*`)
	askThemRE    = regexp.MustCompile(`(?i)[:;,.]?\s*ask (?:the |this )?(?:customer|shopper|user|them) to `)
	sayItRE      = regexp.MustCompile(`(?i)[;:,.]\s*(?:say so|tell them|do not|don't|say that|name no)\b.*$`)
)

// told is an error in words for the reader: without the tool's name and what the model is told to do. What is a sentence
// of its own stands as it is.
func (w *writer) told(e string) string {
	e = sayItRE.ReplaceAllString(toolPrefixRE.ReplaceAllString(strings.TrimSpace(e), ""), "")
	e = askThemRE.ReplaceAllString(e, ". Please ")
	if isUpper(e) && strings.Contains(e, " ") {
		return sentence(e)
	}
	return fmt.Sprintf(w.say.failed, sentence(e))
}

func appendNew(list []string, s string) []string {
	if s == "" || slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

func (w *writer) withoutResults() string {
	q := w.c.question
	flat := flatten(q)
	switch {
	case !isSmallTalk(q):
	case regexp.MustCompile(` (who are you|what are you|are you (a|an|human|real)|what can you|how can you|quien eres|que puedes|wer bist|wer sind|was kannst|qui es tu|qui etes) `).MatchString(flat + " "):
		return w.say.who
	case regexp.MustCompile(` (bye|goodbye|adios|hasta luego|tschuss|wiedersehen|au revoir) `).MatchString(flat):
		return w.say.bye
	case regexp.MustCompile(` (thanks|thank|thx|cheers|gracias|danke|dank|merci|great|perfect|cool|ok|okay) `).MatchString(flat):
		return w.say.welcome
	default:
		if name := storeName(w.c.system); name != "" {
			return fmt.Sprintf(w.say.helloStore, name)
		}
		return w.say.hello
	}
	if item, _ := w.c.pointsAt(w.c.question); item != nil {
		return sentence(w.item(item))
	}
	if told := w.advice(); told != "" {
		return told
	}
	if len(w.tools) == 0 {
		return w.say.cannot
	}
	if need := w.missing(); need != "" {
		return fmt.Sprintf(w.say.missing, need)
	}
	return w.say.unknown
}

// missing names the arguments that the best tool lacks.
func (w *writer) missing() string {
	p := newPlanner(w.c, w.tools)
	fit := p.ranked(w.c.question)
	if len(fit) == 0 || fit[0].score < clearScore {
		return ""
	}
	best := fit[0].tool
	f := &filler{ask: w.c.question, context: w.c.context, found: w.c.all(), now: w.c.now}
	var out []string
	for _, prop := range best.schema.Properties {
		if best.schema.requires(prop.name) && f.property("", prop, true, len(best.schema.Required) == 1) == nil && f.fallback(prop) == nil {
			out = append(out, w.say.label(prop.name))
		}
	}
	return strings.Join(out, ", ")
}

var storeRE = regexp.MustCompile(`(?im)^[\W_]*(?:store|shop)(?: name)?\s*[:=]\s*["']?([^"'\n.,;(]{1,60})`)

func storeName(system string) string {
	if m := storeRE.FindStringSubmatch(system); m != nil {
		return strings.TrimSpace(m[1])
	}
	return ""
}

func (w *writer) nothing(r result) string {
	if quotesNothing(r.value) {
		return w.say.unknown
	}
	if args, ok := r.args.(object); ok {
		for _, a := range args {
			if roleOf("", property{a.name, &schema{Type: "string"}}) == roleQuery && scalar(a.value) != "" {
				return fmt.Sprintf(w.say.none, "\""+scalar(a.value)+"\"")
			}
		}
	}
	return w.say.nonePlain
}

// relevant leaves out results that later ones replace: empty searches that were repeated, and lists from which a later call
// took its arguments.
func (w *writer) relevant() []result {
	all := w.c.turn.results
	var out []result
	for i, r := range all {
		replaced := w.repeatsNothing(r, all[:i])
		for _, later := range all[i+1:] {
			if failure(later.value) != "" || isEmpty(later.value) {
				continue
			}
			if later.tool == r.tool && (isEmpty(r.value) || failure(r.value) != "") {
				replaced = true
			}
			if chosen := consumed(r, later); chosen != nil {
				replaced = true
			}
		}
		if !replaced {
			out = append(out, w.enriched(r, all[:i]))
		}
	}
	return out
}

// repeatsNothing reports whether a search that found nothing came after another that said as much.
func (w *writer) repeatsNothing(r result, before []result) bool {
	return isEmpty(r.value) && slices.ContainsFunc(before, func(b result) bool {
		said := note(b.value) != "" && len(requests(w.c.question)) == 1
		return b.tool == r.tool && isEmpty(b.value) && (note(r.value) == "" || said)
	})
}

// enriched adds the facts of a chosen item to the result of the call that chose it.
func (w *writer) enriched(r result, before []result) result {
	own, ok := r.value.(object)
	if !ok || len(lists(own)) > 0 || failure(own) != "" {
		return r
	}
	for _, b := range before {
		item := consumed(b, r)
		if item == nil {
			continue
		}
		merged := slices.Clone(item)
		for _, m := range own { // the later fact is the true one
			at := slices.IndexFunc(merged, func(f field) bool { return f.name == m.name })
			switch {
			case m.name == "ok":
			case at >= 0:
				merged[at] = m
			default:
				merged = append(merged, m)
			}
		}
		r.value = merged
	}
	return r
}

// consumed returns the item of r that a later call took an argument from, nil if it took none. Arguments that hold free
// text do not count.
func consumed(r, later result) object {
	args, ok := later.args.(object)
	if !ok {
		return nil
	}
	for _, a := range args {
		switch roleOf("", property{a.name, &schema{Type: "string"}}) {
		case roleQuery, roleReason, roleOther, roleName, rolePlace:
			continue
		}
		from := findings{results: []result{r}}
		for _, c := range from.named(a.name) {
			if slices.Contains(scalars(a.value), c.value) {
				return c.item
			}
		}
	}
	return nil
}
