package grounding

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/gateway/merge"
	"github.com/quartet-commerce/quartet/services/internal/eval"
	"github.com/quartet-commerce/quartet/services/internal/grounding"
	"github.com/quartet-commerce/quartet/services/internal/judge"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

// reserve is more time than a merge without a remote model needs.
const reserve = time.Minute

// Figures count cases of one kind, of one language, or all.
type Figures struct {
	// Caught are the corrupted texts whose wrong fact does not reach the shopper.
	Caught eval.Share `json:"caught"`
	// Flagged are the honest answers with a claim that the check finds unsupported.
	Flagged eval.Share `json:"flagged"`
	// Harmed are the honest merges that the shopper does not get as written: those that are Withheld, Cut or Doubled.
	Harmed eval.Share `json:"harmed"`
	// FlaggedSentences are the sentences of honest texts that are flagged, or do not reach the shopper from the model.
	FlaggedSentences eval.Share `json:"flagged_sentences"`
	// Withheld are the honest merges of which no sentence is used, Cut those that lack some, and Doubled those that are whole and
	// followed by an answer that they hold already.
	Withheld int `json:"withheld"`
	Cut      int `json:"cut"`
	Doubled  int `json:"doubled"`
}

// Report holds the figures of some cases.
type Report struct {
	Cases int `json:"cases"`
	// Judged are the cases that a model has judged after the checks.
	Judged int `json:"judged,omitzero"`
	Figures
	ByKind     map[string]*Figures `json:"by_kind"`
	ByLanguage map[string]*Figures `json:"by_language"`
	// MeanMicros is the mean time of the checks of one case, in microseconds. A merge has its scripted model in it.
	MeanMicros float64 `json:"mean_us"`
	// EvidenceMicros and TextMicros are those of one answer: for reading its evidence, which services do while the model writes, and for
	// checking its text.
	EvidenceMicros float64 `json:"evidence_us"`
	TextMicros     float64 `json:"text_us"`
	// Misses are the cases that the checks decide wrong, in order. Nil leaves them out of the JSON.
	Misses []Miss `json:"misses,omitzero"`
}

// Miss is a case that the checks decide wrong.
type Miss struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	Language string `json:"language"`
	Text     string `json:"text"`
	// Wrong is the fact that reaches the shopper. Empty: the text is honest.
	Wrong string `json:"wrong,omitempty"`
	// Flagged are the claims of an honest answer that were found unsupported.
	Flagged []string `json:"flagged,omitempty"`
	// Shown is what the shopper gets instead of an honest merge.
	Shown string `json:"shown,omitempty"`
}

// Measure puts cases to the checks, and to what a model has said of them as their judge. Outputs may be nil: none.
func Measure(ctx context.Context, cases []Case, outputs Outputs) *Report {
	r := &Report{Cases: len(cases), ByKind: map[string]*Figures{}, ByLanguage: map[string]*Figures{}, Misses: []Miss{}}
	if len(cases) > 0 {
		check(ctx, cases[0], nil, "") // tables that a process reads once are no part of the time
	}
	answers := 0
	var took, evidence, texts time.Duration
	for _, c := range cases {
		verdict := outputs.verdict(ctx, c)
		if verdict != nil {
			r.Judged++
		}
		begun := time.Now()
		o := check(ctx, c, verdict, outputs[c.ID])
		took += time.Since(begun)
		if c.Text != "" {
			answers, evidence, texts = answers+1, evidence+o.evidence, texts+o.text
		}
		for _, f := range []*Figures{&r.Figures, group(r.ByKind, c.Kind), group(r.ByLanguage, c.Language)} {
			f.count(c, o)
		}
		if o.caught != c.corrupted() {
			r.Misses = append(r.Misses, Miss{
				ID: c.ID, Kind: c.Kind, Language: c.Language, Text: c.text(), Wrong: c.Wrong, Flagged: o.flagged, Shown: o.shown,
			})
		}
	}
	if len(cases) > 0 {
		r.MeanMicros = float64(took.Microseconds()) / float64(len(cases))
	}
	if answers > 0 {
		r.EvidenceMicros, r.TextMicros = float64(evidence.Microseconds())/float64(answers), float64(texts.Microseconds())/float64(answers)
	}
	return r
}

func group(groups map[string]*Figures, name string) *Figures {
	if groups[name] == nil {
		groups[name] = &Figures{}
	}
	return groups[name]
}

// outcome is what the checks make of a case.
type outcome struct {
	caught                  bool // the text is not shown as it is; of a corrupted one, not its wrong fact
	withheld, cut           bool
	flagged                 []string
	shown                   string
	sentences, lostSentence int
	evidence, text          time.Duration // of an answer
}

func (f *Figures) count(c Case, o outcome) {
	switch {
	case c.corrupted():
		f.Caught.Count(o.caught)
		return
	case c.Text != "":
		f.Flagged.Count(o.caught)
	default:
		f.Harmed.Count(o.caught)
		switch {
		case o.withheld:
			f.Withheld++
		case o.cut:
			f.Cut++
		case o.caught:
			f.Doubled++
		}
	}
	f.FlaggedSentences.N += o.lostSentence
	f.FlaggedSentences.Of += o.sentences
}

// check puts a case to the checks, and to a judge's verdict. Nil: it was not judged; output is what the verdict was read from.
func check(ctx context.Context, c Case, verdict *judge.Verdict, output string) outcome {
	if c.Text != "" {
		return checkAnswer(c, verdict)
	}
	return checkMerge(ctx, c, verdict, output)
}

// checkAnswer checks an answer against its tool results. A wrong fact is caught by a claim that overlaps it.
func checkAnswer(c Case, verdict *judge.Verdict) outcome {
	e := grounding.Evidence{Language: c.Language}
	for _, p := range c.Payloads {
		e.AddResult("", string(p.Result))
	}
	e.AddText(c.Message)
	for _, t := range c.Given {
		e.AddText(t)
	}
	begun := time.Now()
	e.Read()
	read := time.Now()
	claims := e.Check(c.Text)
	o := outcome{evidence: read.Sub(begun), text: time.Since(read), flagged: verdict.Decide(c.Text, claims).Rejected().Texts(grounding.MaxChecked)}
	o.caught = len(o.flagged) > 0
	if c.corrupted() {
		o.caught = slices.ContainsFunc(o.flagged, func(claim string) bool { return overlap(c.Text, claim, c.Wrong) })
	}
	for _, sentence := range sentencesOf(c.Text) {
		o.sentences++
		if slices.ContainsFunc(o.flagged, func(claim string) bool { return strings.Contains(sentence, claim) }) {
			o.lostSentence++
		}
	}
	return o
}

// overlap reports whether two parts of a text share a byte somewhere.
func overlap(text, a, b string) bool {
	start := strings.Index(text, b)
	for from := 0; start >= 0; {
		i := strings.Index(text[from:], a)
		if i < 0 {
			return false
		}
		if i += from; i < start+len(b) && start < i+len(a) {
			return true
		}
		from = i + 1
	}
	return false
}

// checkMerge merges the sections with a model that writes the text of the case.
func checkMerge(ctx context.Context, c Case, verdict *judge.Verdict, output string) outcome {
	in := merge.Input{
		Message: c.Message, Language: c.Language, Due: time.Now().Add(reserve),
		Check: func(s string) string { return s }, Say: func(string) {},
	}
	for _, s := range c.Sections {
		a := &specialistv1.Answer{Text: s.Text}
		for _, title := range s.Titles {
			a.Products = append(a.Products, &specialistv1.ProductChoice{Title: title})
		}
		in.Parts = append(in.Parts, merge.Part{Query: s.Query, Answer: a})
	}
	step := scripted.Step{Text: c.text(), ChunkSize: 5}
	steps := []scripted.Step{step, step}
	if verdict != nil {
		in.Judge, steps[1] = true, scripted.Step{Text: output}
	}
	merger := merge.New(merge.Config{Model: scripted.New(steps...), Reserve: reserve, Logger: slog.New(slog.DiscardHandler)})
	result := merger.Merge(ctx, in)
	o := outcome{shown: result.Text, caught: result.Text != strings.TrimSpace(c.text())}
	if n, ok := c.dropped(); ok {
		o.caught = strings.Contains(result.Text, strings.TrimSpace(c.Sections[n].Text))
		return o
	}
	if c.corrupted() {
		o.caught = !strings.Contains(result.Text, c.Wrong)
		return o
	}
	o.withheld = result.Method == gatewayv1.MergeMethod_MERGE_METHOD_JOINED
	for _, sentence := range sentencesOf(c.text()) {
		o.sentences++
		if o.withheld || !strings.Contains(result.Text, sentence) {
			o.lostSentence++
		}
	}
	o.cut = !strings.HasPrefix(result.Text, strings.TrimSpace(c.text()))
	return o
}

// sentencesOf returns the sentences of a text without the space around them.
func sentencesOf(s string) []string {
	all := judge.Sentences(s)
	for i, sentence := range all {
		all[i] = strings.TrimSpace(sentence)
	}
	return all
}

// Print writes the figures for a person.
func (r *Report) Print(w io.Writer) {
	fmt.Fprintf(w, "%s, checked in %.0f µs each; 95 %% intervals in brackets\n", text.Count(r.Cases, "case"), r.MeanMicros)
	if r.TextMicros > 0 {
		fmt.Fprintf(w, "an answer: %.0f µs for its evidence, which services read while the model writes, and %.0f µs for its text\n", r.EvidenceMicros, r.TextMicros)
	}
	if r.Judged > 0 {
		fmt.Fprintf(w, "a model has judged %d of them\n", r.Judged)
	}
	eval.Table(w, [][]string{
		{"figure", "cases", "share"},
		row("corrupted texts caught", r.Caught),
		row("honest answers flagged", r.Flagged),
		row("honest merges harmed", r.Harmed),
		row("honest sentences flagged", r.FlaggedSentences),
	})
	fmt.Fprintf(w, "\nhonest merges: %d withheld, %d cut, %d with an answer twice\n", r.Withheld, r.Cut, r.Doubled)
	printGroups(w, "kind", r.ByKind)
	printGroups(w, "language", r.ByLanguage)
	for _, m := range r.Misses {
		what := "honest"
		if m.Wrong != "" {
			what = fmt.Sprintf("passed: %q", m.Wrong)
		}
		fmt.Fprintf(w, "\n%s  %s %s  %s\n  %q\n", m.ID, m.Kind, m.Language, what, m.Text)
		if m.Wrong == "" && m.Shown != "" {
			fmt.Fprintf(w, "  shown: %q\n", m.Shown)
		}
		if len(m.Flagged) > 0 {
			fmt.Fprintf(w, "  flagged: %q\n", m.Flagged)
		}
	}
}

func row(name string, s eval.Share) []string {
	return []string{name, fmt.Sprintf("%d of %d", s.N, s.Of), s.String()}
}

func printGroups(w io.Writer, by string, groups map[string]*Figures) {
	rows := [][]string{{by, "caught", "", "flagged", "harmed", "sentences"}}
	of := func(s eval.Share) string {
		if s.Of == 0 {
			return "-"
		}
		return fmt.Sprintf("%d of %d", s.N, s.Of)
	}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		f := groups[name]
		rows = append(rows, []string{name, of(f.Caught), f.Caught.String(), of(f.Flagged), of(f.Harmed), of(f.FlaggedSentences)})
	}
	eval.Table(w, rows)
}
