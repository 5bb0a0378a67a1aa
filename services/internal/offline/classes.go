package offline

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// class is one value of an enum with what the prompt says of it.
type class struct {
	name     string
	bag      bag // all that is said, examples included
	clear    bag // what is said outside of examples
	phrases  map[string]float64
	examples []terms
	fallback int // how clearly it takes what nothing else takes
}

// classifier tells which class a clause belongs to.
type classifier struct {
	classes []*class
	bags    []bag
	other   int // index of the class for what fits nowhere
}

func newClassifier(values []string, system, description string) *classifier {
	c := &classifier{}
	paragraphs := sections(values, system)
	for _, v := range values {
		k := &class{name: v, bag: bag{}, clear: bag{}, phrases: map[string]float64{}}
		said := joinNonEmpty("\n", paragraphs[v], noteOn(v, description))
		k.learn(said)
		name := strings.Join(nameWords(v), " ")
		k.bag.addText(name, 1.6)
		k.clear.addText(name, 1.6)
		k.fallback = fallbackRank(v, said)
		c.classes = append(c.classes, k)
		c.bags = append(c.bags, k.bag)
		c.other = len(c.classes) - 1
	}
	for i, k := range c.classes {
		if k.fallback > c.classes[c.other].fallback || k.fallback == c.classes[c.other].fallback && k.fallback > 0 {
			c.other = i
		}
	}
	return c
}

var fallbackREs = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b(general|other|misc)`),
	regexp.MustCompile(`(?i)\b(anything else|everything else|fallback|when in doubt|if unsure|none of|off-topic|off topic)`),
	regexp.MustCompile(`(?i)\b(greeting|small talk|small-talk|chit-?chat|says? hello|thanks)`),
}

func fallbackRank(name, said string) int {
	if n := strings.ToLower(name); n == "other" || n == "unknown" || n == "none" {
		return len(fallbackREs) + 1
	}
	rank := 0
	for i, re := range fallbackREs {
		if re.MatchString(said) {
			rank = i + 1
		}
	}
	return rank
}

// sections cuts the system prompt into what it says of each value.
func sections(values []string, system string) map[string]string {
	out := map[string]string{}
	current := ""
	for line := range strings.Lines(system) {
		v := opensSection(line, values)
		switch {
		case v != "":
			current = v
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
			if !strings.HasPrefix(line, "#") && out[current] == "" {
				break // a blank line right under a heading
			}
			current = ""
		case current == "":
			if one := onlyMention(line, values); one != "" {
				out[one] += "\n" + line
			}
		}
		if current != "" {
			out[current] += line
		}
	}
	return out
}

func opensSection(line string, values []string) string {
	for _, v := range values {
		re, err := regexp.Compile(`(?i)^[\W_]*(?:(?:name|specialist|agent|label|category|id|option|value)\b\W*)*` + regexp.QuoteMeta(v) + `["'` + "`" + `*]*\s*(?:\([^)]*\)\s*)?(?:[:=>,—–-]|$)`)
		if err == nil && re.MatchString(strings.TrimRight(line, "\n")) {
			return v
		}
	}
	return ""
}

func onlyMention(line string, values []string) string {
	found := ""
	for _, v := range values {
		if indexName(strings.ToLower(line), v) >= 0 {
			if found != "" {
				return ""
			}
			found = v
		}
	}
	return found
}

var (
	quotedAllRE = regexp.MustCompile(`["“«]([^"”»]{2,300})["”»]`)
	keywordsRE  = regexp.MustCompile(`(?is)\b(?:key ?words|words|terms|cues|signals)\s*:(.*?)(?:\n\s*\n|\bexamples?\b\s*:|\bnot for\b|$)`)
	keywordRE   = regexp.MustCompile(`^(.*?)(?:\s*[(=:×x]\s*(-?\d+(?:\.\d+)?)\s*\)?)?$`)
)

// learn reads purpose, examples and keywords from a paragraph.
func (k *class) learn(said string) {
	rest := said
	for _, m := range keywordsRE.FindAllStringSubmatch(said, -1) {
		rest = strings.Replace(rest, m[0], "", 1)
		for item := range strings.FieldsFuncSeq(m[1], func(r rune) bool { return r == ',' || r == ';' || r == '\n' || r == '|' }) {
			k.keyword(strings.Trim(strings.TrimSpace(item), `."'`))
		}
	}
	for _, m := range quotedAllRE.FindAllStringSubmatch(rest, -1) {
		rest = strings.Replace(rest, m[0], "", 1)
		k.examples = append(k.examples, shapeOf(read(m[1])))
		k.bag.addText(m[1], 0.9)
		for _, w := range read(m[1]).words {
			for _, g := range w.gloss {
				k.bag.addText(g, 0.9)
			}
		}
	}
	for _, s := range sentences(rest) {
		if !notForRE.MatchString(s) {
			k.bag.addText(s, 1.3)
			k.clear.addText(s, 1.3)
		}
	}
}

// keyword takes "track (3)", "coupon" or "where is my=2".
func (k *class) keyword(item string) {
	m := keywordRE.FindStringSubmatch(item)
	if m == nil || m[1] == "" {
		return
	}
	weight := 2.0
	if v, err := strconv.ParseFloat(m[2], 64); err == nil {
		weight = v
	}
	term := strings.TrimSpace(flatten(text{words: split(m[1])}))
	k.phrases[term] = weight
	if !strings.Contains(term, " ") && weight > 0 {
		k.bag[stem(term)] = max(k.bag[stem(term)], 0.9*weight)
		k.clear[stem(term)] = max(k.clear[stem(term)], 0.9*weight)
	}
}

// shapeOf keeps small words too: "do you have" tells a question about goods from one about an order.
func shapeOf(t text) terms {
	out := terms{}
	for _, w := range t.words {
		if len(w.gloss) == 0 {
			out.add("~"+w.norm, 0.35)
		}
		for _, g := range w.gloss {
			out.add(stem(g), 1)
		}
	}
	return out
}

func cosine(a, b terms) float64 {
	dot, na, nb := 0.0, 0.0, 0.0
	for s, w := range a {
		dot += w * b[s]
		na += w * w
	}
	for _, w := range b {
		nb += w * w
	}
	if dot == 0 {
		return 0
	}
	return dot / math.Sqrt(na*nb)
}

// verdict is where a clause belongs.
type verdict struct {
	class      int
	score      float64
	confidence float64
	clear      float64 // evidence from purpose and keywords
}

// evidence below this is none.
const leastEvidence = 0.75

// classify scores t against every class.
func (c *classifier) classify(t text) verdict {
	speaks, shape, flat := termsOf(t), shapeOf(t), flatten(t)
	if nounsOnly(t) && c.known(speaks) < 1 {
		for _, m := range strings.Fields(seeksGoods) {
			speaks.add(stem(m), intentWeight)
		}
	}
	scores := make([]float64, len(c.classes))
	for i, k := range c.classes {
		scores[i] = speaks.overlap(k.bag, c.bags)
		for p, w := range k.phrases {
			if (strings.Contains(p, " ") || w < 0) && strings.Contains(flat, " "+p+" ") {
				scores[i] += 1.5 * w
			}
		}
		close := 0.0
		for _, e := range k.examples {
			close = max(close, cosine(shape, e))
		}
		scores[i] += 2 * close
	}
	best := 0
	for i := range scores {
		if scores[i] > scores[best] {
			best = i
		}
	}
	v := verdict{class: best, score: scores[best], clear: speaks.overlap(c.classes[best].clear, c.bags)}
	second := 0.0
	for i, s := range scores {
		if i != best {
			second = max(second, s)
		}
	}
	if v.score < leastEvidence {
		return verdict{class: c.other, confidence: 0.5}
	}
	v.confidence = math.Round(100*min(0.98, max(0.5, v.score/(v.score+second)))) / 100
	return v
}

// known is how clearly a text belongs to some class.
func (c *classifier) known(speaks terms) float64 {
	best := 0.0
	for _, k := range c.classes {
		best = max(best, speaks.overlap(k.clear, c.bags))
	}
	return best
}

// nounsOnly reports whether t is a bare phrase such as "yoga mats, blue".
func nounsOnly(t text) bool {
	if len(t.words) == 0 || len(t.words) > 6 || isSmallTalk(t) || opens(t.words, true) && !set("tell show find give get")[t.words[0].norm] {
		return false
	}
	return !slices.ContainsFunc(t.words, func(w word) bool {
		return askWords[w.norm] || helpVerbs[w.norm] || subjected[w.norm] || wishVerbs[w.norm]
	})
}
