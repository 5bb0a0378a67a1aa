package router

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/embed"
	"github.com/quartet-commerce/quartet/services/internal/retrieval"
)

// Embedder turns texts into vectors of length 1 and of one dimension. It is safe for concurrent use.
type Embedder interface {
	// Queries returns the vector of each text of a message, in order, with one request.
	Queries(ctx context.Context, texts []string) ([]embed.Vector, error)
	// Documents returns the vector of each example, in order.
	Documents(ctx context.Context, texts []string) ([]embed.Vector, error)
}

const (
	// neighbours is how many of the nearest examples vote on a text, and clearVote is the share of the vote that confirms a part. With
	// these two, the nearest three examples are of one specialist, and at most one of the next three, or two of the last four, are not.
	// With vectors of letter n-grams, fewer neighbours or a lower share were right less often on messages of unseen authors.
	neighbours = 10
	clearVote  = 0.9
	// examplesTimeout bounds what a message waits for the endpoint. A model takes longer.
	examplesTimeout = 300 * time.Millisecond
	// embedTimeout bounds the embedding of one specialist's examples.
	embedTimeout = 5 * time.Minute
	// firstRetry is the pause after a failure to embed examples. It doubles with each further failure, up to maxRetry.
	firstRetry = 5 * time.Second
	maxRetry   = 5 * time.Minute
	// maxEmbedded bounds the examples of one specialist that are embedded: 4 bytes for each dimension of each.
	maxEmbedded = 2_000
	// maxPublished bounds the versions of specialists whose vectors are kept.
	maxPublished = 64
)

// exampleIndex finds the published examples that are nearest to a text. Its goroutine embeds the examples of each version of a
// specialist once, until close. Its methods may be called on nil, which has no examples.
type exampleIndex struct {
	embedder  Embedder
	endpoint  *retrieval.Endpoint
	logger    *slog.Logger
	published *cache[*examples] // by specialist and texts
	wanted    chan embedding
	cancel    context.CancelFunc
	done      chan struct{} // closed when the goroutine has ended
}

// examples are those of one version of a specialist.
type examples struct {
	specialist string
	texts      []string
	vectors    atomic.Pointer[[]embed.Vector] // nil: not embedded yet
}

// embedding asks the goroutine to embed what is not embedded yet.
type embedding struct {
	all   []*examples
	ended chan<- error // buffered, for one result; nil if no caller waits
}

// newExampleIndex starts the goroutine. It returns nil if there is no embedder.
func newExampleIndex(embedder Embedder, logger *slog.Logger) *exampleIndex {
	if embedder == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	x := &exampleIndex{
		embedder: embedder, endpoint: retrieval.NewEndpointWithTimeout("examples", examplesTimeout, logger), logger: logger,
		published: newCache[*examples](maxPublished), wanted: make(chan embedding, 1), cancel: cancel, done: make(chan struct{}),
	}
	go x.run(ctx)
	return x
}

// close ends the goroutine and waits for it.
func (x *exampleIndex) close() {
	if x != nil {
		x.cancel()
		<-x.done
	}
}

// of returns the examples of specialists. Those that were there before have their vectors.
func (x *exampleIndex) of(specialists []*specialistv1.Specialist) []*examples {
	if x == nil {
		return nil
	}
	var all []*examples
	for _, s := range specialists {
		texts := s.GetExamples()[:min(len(s.GetExamples()), maxEmbedded)]
		d := digest{sha256.New()}
		d.text(s.GetName())
		for _, t := range texts {
			d.text(t)
		}
		all = append(all, x.published.getOrBuild(string(d.Sum(nil)), func() *examples {
			return &examples{specialist: s.GetName(), texts: slices.Clone(texts)}
		}))
	}
	return all
}

// ready reports whether all have their vectors. If not, it has them embedded in the background.
func (x *exampleIndex) ready(all []*examples) bool {
	if x == nil || !slices.ContainsFunc(all, func(e *examples) bool { return e.vectors.Load() == nil }) {
		return true
	}
	select {
	case x.wanted <- embedding{all: all}:
	default: // the goroutine is busy; a later message asks again
	}
	return false
}

// embedNow has examples embedded and waits for it.
func (x *exampleIndex) embedNow(ctx context.Context, all []*examples) error {
	if x == nil {
		return nil
	}
	ended := make(chan error, 1)
	select {
	case x.wanted <- embedding{all, ended}:
	case <-x.done:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-ended:
		return err
	case <-x.done:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

var errClosed = errors.New("the router is closed")

// run embeds what is wanted until ctx ends. After a failure it tries again, or what was wanted since.
func (x *exampleIndex) run(ctx context.Context) {
	defer close(x.done)
	for {
		var w embedding
		select {
		case w = <-x.wanted:
		case <-ctx.Done():
			return
		}
		for pause := firstRetry; ; pause = min(2*pause, maxRetry) {
			err := x.embed(ctx, w.all)
			if w.ended != nil {
				w.ended <- err
				w.ended = nil
			}
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				return
			}
			x.logger.Warn("cannot embed the examples of specialists; routing goes on without them", slog.Any("error", err), slog.Duration("pause", pause))
			select {
			case <-time.After(pause):
			case <-ctx.Done():
				return
			}
			select {
			case w = <-x.wanted:
			default:
			}
		}
	}
}

// embed embeds the examples that have no vectors.
func (x *exampleIndex) embed(ctx context.Context, all []*examples) error {
	for _, e := range all {
		if e.vectors.Load() != nil {
			continue
		}
		within, cancel := context.WithTimeout(ctx, embedTimeout)
		vectors, err := x.embedder.Documents(within, e.texts)
		cancel()
		if err != nil {
			return fmt.Errorf("embed the examples of %s: %w", e.specialist, err)
		}
		e.vectors.Store(&vectors)
	}
	return nil
}

// vote is the specialist with the most weight among the nearest examples of a text, and its share of the weight.
type vote struct {
	specialist string
	share      float64
}

// votes returns the vote on each text. It is not ok if there are no vectors: the endpoint failed, was late, or rests.
func (x *exampleIndex) votes(ctx context.Context, all []*examples, texts []string) (votes []vote, ok bool) {
	ok = x.endpoint.Ask(ctx, func(ctx context.Context) error {
		queries, err := x.embedder.Queries(ctx, texts)
		if err != nil {
			return err
		}
		for _, q := range queries {
			near, err := nearest(q, all)
			if err != nil {
				return err
			}
			votes = append(votes, count(near))
		}
		return nil
	})
	return votes, ok
}

// neighbour is an example near a text.
type neighbour struct {
	specialist string
	cosine     float32
}

// nearest returns the examples with the highest cosine, highest first. All must have vectors.
func nearest(query embed.Vector, all []*examples) ([]neighbour, error) {
	near := make([]neighbour, 0, neighbours+1)
	for _, e := range all {
		for _, v := range *e.vectors.Load() {
			if len(v) != len(query) {
				return nil, errors.New("examples and messages have vectors of different dimensions")
			}
			c := query.Dot(v)
			if len(near) == neighbours && c <= near[neighbours-1].cosine {
				continue
			}
			at, _ := slices.BinarySearchFunc(near, c, func(n neighbour, c float32) int { return cmp.Compare(c, n.cosine) })
			near = slices.Insert(near, at, neighbour{e.specialist, c})[:min(len(near)+1, neighbours)]
		}
	}
	return near, nil
}

// count counts the vote of neighbours, nearest first. The weight of the n-th is 1/n, because cosines mean something else in each
// embedding model, and ranks do not.
func count(near []neighbour) (best vote) {
	weights, sum := map[string]float64{}, 0.0
	for i, n := range near {
		w := 1 / float64(i+1)
		weights[n.specialist] += w
		sum += w
	}
	for _, n := range near {
		if w := weights[n.specialist]; w/sum > best.share {
			best = vote{n.specialist, w / sum}
		}
	}
	return best
}

// byExamples returns the classifier's decision as final if the nearest examples confirm it, or else nil. The note says why they were
// not asked.
func (r *routing) byExamples(ctx context.Context) (*routerv1.RoutingDecision, *routerv1.DecisionNote, error) {
	if r.examples == nil || r.classified.Incomplete {
		return nil, nil, nil
	}
	const unavailable = routerv1.DecisionNoteKind_DECISION_NOTE_KIND_EXAMPLES_UNAVAILABLE
	all := r.set.base.examples
	if !r.examples.ready(all) {
		return nil, note(unavailable, "the specialists' examples are not embedded yet"), nil
	}
	assignments := slices.Clone(r.classified.Assignments)
	texts := []string{r.req.GetMessage()}
	for _, a := range assignments {
		texts = append(texts, a.SubQuery)
	}
	votes, ok := r.examples.votes(ctx, all, texts)
	if !ok {
		return nil, note(unavailable, "the embeddings endpoint failed or was late"), nil
	}
	whole, confirmed := votes[0], false
	for i := range assignments {
		a, v := &assignments[i], votes[i+1]
		if v.specialist != a.Specialist || v.share < clearVote {
			return nil, nil, nil
		}
		a.Confidence, a.Reason = v.share, "resembles examples"
		confirmed = confirmed || a.Specialist == whole.specialist
	}
	if !confirmed || len(assignments) == 1 && whole.share < clearVote { // it may ask for something that has no part
		return nil, nil, nil
	}
	d := r.newDecision(routerv1.DecisionStage_DECISION_STAGE_FINAL, routerv1.DecisionSource_DECISION_SOURCE_EXAMPLES)
	d.Certainty = 1
	for _, a := range assignments {
		d.Certainty = min(d.Certainty, a.Confidence)
	}
	return d, nil, r.assign(d, assignments)
}
