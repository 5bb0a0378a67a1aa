package merge

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/racedetector"
)

// mergeCase is a message, the answers to its parts, and an honest text made of them. Those of recorded.json are a strong language
// model's, in the running system.
type mergeCase struct {
	Language string
	Message  string
	Sections []struct {
		Query, Text string
		Titles      []string
	}
	Honest string
}

func mergeCases(t testing.TB) []mergeCase {
	t.Helper()
	var all []mergeCase
	for _, name := range []string{"merges", "recorded"} {
		raw, err := os.ReadFile("testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var cases []mergeCase
		if err := json.Unmarshal(raw, &cases); err != nil {
			t.Fatal(err)
		}
		all = append(all, cases...)
	}
	return all
}

// input returns what the case merges.
func (c mergeCase) input() Input {
	in := Input{Message: c.Message, Language: c.Language}
	for _, s := range c.Sections {
		p := Part{Query: s.Query, Answer: &specialistv1.Answer{Text: s.Text}}
		for _, title := range s.Titles {
			p.Answer.Products = append(p.Answer.Products, &specialistv1.ProductChoice{Title: title})
		}
		in.Parts = append(in.Parts, p)
	}
	return in
}

// silent is an output that nobody listens to.
func silent() *output { return &output{check: asIs, say: func(string) {}} }

// asIs lets every text be shown.
func asIs(s string) string { return s }

// passed returns what of a text goes out when a model writes it in pieces of a few bytes, why it stopped there, and which
// sections what went out does not hold, given whether the model finished.
func (c mergeCase) passed(text string, finished bool) (string, []int, error) {
	in := c.input()
	evidence, sections := newEvidence(in)
	s := &stream{output: silent(), quotes: builtInQuotes, evidence: evidence, answers: join(in.Parts)}
	var err error
	for piece := range slices.Chunk([]byte(text), 5) {
		if err = s.add(agentloop.TextDelta{Text: string(piece)}); err != nil {
			break
		}
	}
	if err == nil {
		err = s.take(s.sentences.Rest())
	}
	said := s.output.String()
	return said, newCoverage(in.Parts, sections).missing(said, &s.merged, finished), err
}

func TestHonestMergesPassWhole(t *testing.T) {
	cases := mergeCases(t)
	withheld, incomplete := 0, 0
	for _, c := range cases {
		said, missing, err := c.passed(c.Honest, true)
		if err != nil || said != c.Honest {
			withheld++
			t.Errorf("%s\nstopped after %q: %v", c.Honest, said, err)
		}
		if len(missing) > 0 {
			incomplete++
			t.Errorf("%s\nsections %v count as missing", c.Honest, missing)
		}
	}
	t.Logf("%d honest merges: %d withheld, %d taken for incomplete", len(cases), withheld, incomplete)
}

func TestAnswersThatAreCopiedPassWhole(t *testing.T) {
	for _, c := range mergeCases(t) {
		all := join(c.input().Parts)
		for _, finished := range []bool{true, false} {
			said, missing, err := c.passed(all, finished)
			if err != nil || said != all {
				t.Errorf("%s\nstopped after %q: %v", all, said, err)
			}
			if len(missing) > 0 {
				t.Errorf("%s\nsections %v count as missing, finished: %v", all, missing, finished)
			}
		}
	}
}

func TestOneChangedFactIsCaught(t *testing.T) {
	racedetector.SkipOneGoroutine(t)
	mutants, missed := 0, 0
	for _, c := range mergeCases(t) {
		for _, m := range mutantsOf(c) {
			mutants++
			if said, _, _ := c.passed(m, true); said == strings.TrimSpace(m) {
				missed++
				t.Logf("missed: %s", m)
			}
		}
	}
	t.Logf("%d merges with one changed digit or code: %d missed", mutants, missed)
	if 100*missed > mutants {
		t.Errorf("%d of %d are missed, more than one in 100", missed, mutants)
	}
}

// BenchmarkMergeChecks is what checking one merge costs beside the model: evidence, sentences and coverage.
func BenchmarkMergeChecks(b *testing.B) {
	cases := mergeCases(b)
	for i := 0; b.Loop(); i++ {
		c := cases[i%len(cases)]
		if _, _, err := c.passed(c.Honest, true); err != nil {
			b.Fatal(err)
		}
	}
}

// capitals matches a code, in capitals.
var capitals = regexp.MustCompile(`[A-Z]{2,}-?\d+|[A-Z]{4,}`)

// mutantsOf returns the honest text once for each digit and each code, with that changed.
func mutantsOf(c mergeCase) []string {
	var out []string
	all := c.Message
	for _, s := range c.Sections {
		all += " " + s.Text
	}
	for i := 0; i < len(c.Honest); i++ {
		b := c.Honest[i]
		if b < '0' || b > '9' {
			continue
		}
		begin := i
		for begin > 0 && strings.IndexByte("0123456789.,", c.Honest[begin-1]) >= 0 {
			begin--
		}
		end := i
		for end < len(c.Honest) && strings.IndexByte("0123456789.,", c.Honest[end]) >= 0 {
			end++
		}
		changed := []byte(c.Honest)
		changed[i] = '0' + (b-'0'+3)%10
		switch {
		case strings.Contains(all, strings.Trim(string(changed[begin:end]), ".,")): // something else that the answers say
		case begin == 0 || c.Honest[begin-1] == '\n' && c.Honest[end-1] == '.': // the mark of a list
		default:
			out = append(out, string(changed))
		}
	}
	for _, at := range capitals.FindAllStringIndex(c.Honest, -1) {
		changed := []byte(c.Honest)
		changed[at[0]] = 'A' + (changed[at[0]]-'A'+7)%26
		out = append(out, string(changed))
	}
	return out
}
