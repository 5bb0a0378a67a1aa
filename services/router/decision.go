package router

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/prompt"
	"github.com/quartet-commerce/quartet/services/internal/text"
	"github.com/quartet-commerce/quartet/services/internal/usage"
	"github.com/quartet-commerce/quartet/services/router/classifier"
)

// routing is the routing of one message.
type routing struct {
	cfg        Config
	req        *routerv1.RouteRequest
	set        *specialistSet
	examples   *exampleIndex // nil: none
	classifier *classifier.Classifier
	classified classifier.Result
	prompt     *specialistv1.Prompt
	start      time.Time
	// provisional holds the assignments that were sent before the model was asked. Nil: none were.
	provisional []*routerv1.Assignment
	// notes are those of every decision from now on.
	notes []*routerv1.DecisionNote
}

// newRouting classifies the message of a valid request.
func newRouting(cfg Config, req *routerv1.RouteRequest, set *specialistSet) *routing {
	r := &routing{cfg: cfg, req: req, set: set, prompt: prompt.OrBuiltIn(req.GetPrompt(), builtIn), start: time.Now()}
	r.classifier = set.classifier(req.GetKeywords())
	r.classified = r.classifier.Classify(classifier.Input{
		Message: req.GetMessage(), History: classifier.ShoppersTexts(req.GetHistory()), Question: req.GetPendingQuestion(),
	})
	return r
}

// decide returns the final decision. If the classifier is not certain and somebody else can be asked, decide first calls provisional
// with the classifier's decision, then asks the examples and last the model.
func (r *routing) decide(ctx context.Context, provisional func(*routerv1.RoutingDecision) error) (*routerv1.RoutingDecision, error) {
	const final = routerv1.DecisionStage_DECISION_STAGE_FINAL
	certain := r.classified.Confidence >= classifier.Threshold
	switch {
	case certain && (r.cfg.Model == nil || !r.cfg.AlwaysAskModel):
		return r.byClassifier(final, routerv1.DecisionSource_DECISION_SOURCE_RULES)
	case r.cfg.Model == nil && r.examples == nil:
		return r.byClassifier(final, routerv1.DecisionSource_DECISION_SOURCE_FALLBACK, noModel())
	}
	d, err := r.byClassifier(routerv1.DecisionStage_DECISION_STAGE_PROVISIONAL, routerv1.DecisionSource_DECISION_SOURCE_RULES)
	if err != nil {
		return nil, err
	}
	if err := provisional(d); err != nil {
		return nil, err
	}
	r.provisional = d.GetAssignments()
	if r.cfg.Model == nil || !r.cfg.AlwaysAskModel {
		d, why, err := r.byExamples(ctx)
		if d != nil || err != nil {
			return d, err
		}
		if why != nil {
			r.notes = append(r.notes, why)
		}
	}
	if r.cfg.Model == nil {
		return r.byClassifier(final, routerv1.DecisionSource_DECISION_SOURCE_FALLBACK, noModel())
	}
	answer, result, err := r.ask(ctx)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("ask model: %w", ctx.Err())
	}
	if err == nil {
		d, err = r.byModel(answer, len(result.Steps))
	}
	if err != nil && !errors.As(err, new(*fault.Unavailable)) {
		why := modelFailure(err)
		r.cfg.Logger.WarnContext(ctx, "routing model failed; the classifier decides", slog.String("cause", why.GetText()))
		r.cfg.Logger.DebugContext(ctx, "routing model's error", slog.Any("error", err))
		d, err = r.byClassifier(final, routerv1.DecisionSource_DECISION_SOURCE_FALLBACK, why)
	}
	if err != nil {
		return nil, err
	}
	r.addUsage(d, result)
	return d, nil
}

// newDecision returns a decision without assignments, with the notes that any decision on the message has.
func (r *routing) newDecision(stage routerv1.DecisionStage, source routerv1.DecisionSource) *routerv1.RoutingDecision {
	d := &routerv1.RoutingDecision{Stage: stage, Source: source, Notes: slices.Clone(r.notes)}
	for _, name := range unknownNames(r.classifier.Specialists(), r.req.GetKeywords()) {
		d.Notes = append(d.Notes, note(routerv1.DecisionNoteKind_DECISION_NOTE_KIND_KEYWORDS_IGNORED,
			"the store's keywords for %q were ignored; there is no such specialist", text.Cut(text.OneLine(name), maxName)))
	}
	return d
}

// byClassifier returns the classifier's decision.
func (r *routing) byClassifier(
	stage routerv1.DecisionStage, source routerv1.DecisionSource, notes ...*routerv1.DecisionNote,
) (*routerv1.RoutingDecision, error) {
	d := r.newDecision(stage, source)
	d.Certainty, d.Notes = r.classified.Confidence, append(d.Notes, notes...)
	for _, what := range r.classified.Notes {
		d.Notes = append(d.Notes, note(routerv1.DecisionNoteKind_DECISION_NOTE_KIND_MERGED, "%s", what))
	}
	return d, r.assign(d, r.classified.Assignments)
}

// assign writes the assignments into the decision, each to a specialist that is available now.
func (r *routing) assign(d *routerv1.RoutingDecision, assignments []classifier.Assignment) error {
	standIn := r.standIn()
	if standIn == "" {
		return &fault.Unavailable{
			Reason: commonv1.ErrorReason_ERROR_REASON_PEER_UNAVAILABLE, What: "route message: none of the specialists is available",
		}
	}
	noted := map[string]bool{}
	for _, from := range assignments {
		a := &routerv1.Assignment{
			Specialist: from.Specialist, SubQuery: from.SubQuery, Reason: from.Reason, Confidence: rounded(from.Confidence),
			Certain: from.Confidence >= classifier.Threshold,
		}
		if s := r.specialist(a.Specialist); !s.GetAvailable() {
			a.RemappedFrom, a.Specialist, a.Reason = a.Specialist, standIn, unavailable(s)
			if !noted[a.RemappedFrom] {
				noted[a.RemappedFrom] = true
				d.Notes = append(d.Notes, note(routerv1.DecisionNoteKind_DECISION_NOTE_KIND_REMAPPED,
					"sent to %s: %s", a.Specialist, a.Reason))
			}
		}
		addOnce(d, a)
	}
	r.identify(d.GetAssignments())
	d.Certainty = rounded(d.GetCertainty())
	d.Duration = durationpb.New(time.Since(r.start))
	return nil
}

func (r *routing) specialist(name string) *specialistv1.Specialist {
	return r.set.specialists[slices.Index(r.classifier.Specialists(), name)]
}

// standIn returns the name of the specialist that answers for unavailable ones: support, or else the first one that is
// available. Empty: none is.
func (r *routing) standIn() string {
	first := ""
	for _, s := range r.set.specialists {
		if s.GetAvailable() && (first == "" || s.GetName() == classifier.CatchAllName) {
			first = s.GetName()
		}
	}
	return first
}

// unavailable says that a specialist is not available and why.
func unavailable(s *specialistv1.Specialist) string {
	what := s.GetName() + " is not available"
	if why := strings.TrimSpace(s.GetUnavailableReason()); why != "" {
		what += ": " + why
	}
	return what
}

// addOnce adds an assignment, unless its specialist has the same sub-query already. The first one then says whom the
// specialist stands in for.
func addOnce(d *routerv1.RoutingDecision, a *routerv1.Assignment) {
	for _, o := range d.GetAssignments() {
		if o.GetSpecialist() == a.GetSpecialist() && o.GetSubQuery() == a.GetSubQuery() {
			if o.GetRemappedFrom() == "" {
				o.RemappedFrom, o.Reason = a.GetRemappedFrom(), a.GetReason()
			}
			return
		}
	}
	d.Assignments = append(d.Assignments, a)
}

// identify gives each assignment its identifier. An assignment for the same work as a provisional one keeps the
// identifier and the reason of that one, which the specialist may have been told already.
func (r *routing) identify(assignments []*routerv1.Assignment) {
	kept := make(map[*routerv1.Assignment]bool)
	for _, same := range []func(known, other string) bool{func(known, other string) bool { return known == other }, covers} {
		for _, a := range assignments {
			if kept[a] {
				continue
			}
			i := slices.IndexFunc(r.provisional, func(p *routerv1.Assignment) bool {
				return !kept[p] && p.GetSpecialist() == a.GetSpecialist() && p.GetRemappedFrom() == a.GetRemappedFrom() &&
					same(p.GetSubQuery(), a.GetSubQuery())
			})
			if i >= 0 {
				p := r.provisional[i]
				a.AssignmentId, a.Reason = p.GetAssignmentId(), p.GetReason()
				kept[a], kept[p] = true, true
			}
		}
	}
	next := len(r.provisional)
	for _, a := range assignments {
		if !kept[a] {
			next++
			a.AssignmentId = fmt.Sprintf("a%d", next)
		}
	}
}

// covers reports whether an answer to one sub-query answers another: the words are the same, and the context in brackets that the other
// has, the first one has too. A model words the context in its own way, or leaves out what a pronoun did not need.
func covers(known, other string) bool {
	words, context, _ := strings.Cut(known, prompt.AboutMark)
	otherWords, otherContext, _ := strings.Cut(other, prompt.AboutMark)
	if words != otherWords {
		return false
	}
	has := classifier.ContentTerms(context)
	return !slices.ContainsFunc(classifier.ContentTerms(otherContext), func(term string) bool { return !slices.Contains(has, term) })
}

// rounded rounds to three decimals.
func rounded(f float64) float64 { return math.Round(f*1000) / 1000 }

func note(kind routerv1.DecisionNoteKind, format string, args ...any) *routerv1.DecisionNote {
	return &routerv1.DecisionNote{Kind: kind, Text: fmt.Sprintf(format, args...)}
}

func noModel() *routerv1.DecisionNote {
	return note(routerv1.DecisionNoteKind_DECISION_NOTE_KIND_NO_MODEL, "no model is configured; the classifier decided")
}

// modelFailure says why there is no answer from the model, without details of the endpoint.
func modelFailure(err error) *routerv1.DecisionNote {
	kind, cause := routerv1.DecisionNoteKind_DECISION_NOTE_KIND_MODEL_FAILED, "the model failed"
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		kind, cause = routerv1.DecisionNoteKind_DECISION_NOTE_KIND_TIMED_OUT, "the model did not answer in time"
	case errors.Is(err, agentloop.ErrBadOutput), errors.Is(err, errNothingToAnswer):
		cause = "the model's answer was not valid"
	case errors.Is(err, agentloop.ErrNoAnswer):
		cause = "the model gave no answer"
	}
	return note(kind, "%s; the classifier decided", cause)
}

// addUsage fills in what the model's calls took. The result may be nil.
func (r *routing) addUsage(d *routerv1.RoutingDecision, result *agentloop.Result) {
	d.PromptVersion = r.prompt.GetVersion()
	d.Duration = durationpb.New(time.Since(r.start))
	if result == nil {
		return
	}
	d.Model = result.Model
	d.Usage, d.Cost, d.ModelCalls = usage.Of(result.Usage), usage.CostOf(result.Cost), usage.Calls(result)
}
