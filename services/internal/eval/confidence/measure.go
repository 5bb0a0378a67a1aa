// Package confidence measures what the confidence of replies says about their quality, on replies that people judged.
package confidence

import (
	"fmt"
	"io"
	"slices"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/confidence"
	"github.com/quartet-commerce/quartet/services/internal/eval"
)

const (
	// bins is the number of rows of the reliability curve, each as wide as the others.
	bins = 5
	// labelBad is the label of replies that a shop would not put before its customers.
	labelBad = "bad"
)

// quality is how much of a reply with a label is right.
var quality = map[string]float64{"good": 1, "flawed": 0.5, labelBad: 0}

// thresholds are those for which Measure counts what a human would get.
var thresholds = []float64{0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8}

// Reply is a judged reply.
type Reply struct {
	// Confidence of the reply, 0 to 1.
	Confidence float64
	// HandedOff reports whether the reply recommends a human, for whatever reason.
	HandedOff bool
	// Label is "good", "flawed" or "bad".
	Label string
	// Source says where the reply is from, such as the name of a recording.
	Source string
	// Answers are the features of the reply's answers.
	Answers []confidence.Features
	// Failed reports whether a part of the reply has no answer. Its confidence is then 0.
	Failed bool
}

// Judged returns a reply with its label and its confidence by today's weights.
func Judged(source, label string, reply *gatewayv1.AskResponse) Reply {
	r := Reply{Source: source, Label: label}
	var all []float64
	for _, result := range reply.GetResults() {
		a := result.GetAnswer()
		if a == nil {
			r.Failed = true
			all = append(all, 0)
			continue
		}
		asked := result.GetAssignment().GetSubQuery()
		r.Answers = append(r.Answers, confidence.FeaturesOf(asked, a))
		all = append(all, confidence.Of(asked, a))
	}
	r.Confidence = confidence.OfReply(all...)
	r.HandedOff = r.Failed || r.Confidence < confidence.HandoffBelow ||
		slices.ContainsFunc(reply.GetSuggestedActions(), func(a *specialistv1.SuggestedAction) bool { return a.GetHandOff() != nil })
	return r
}

// Report is what Measure found. A nil figure has nothing to count.
type Report struct {
	Replies int            `json:"replies"`
	Failed  int            `json:"failed"` // messages without a reply; no other figure counts them
	Missed  int            `json:"missed"` // model calls that the recording has no answer to
	Labels  map[string]int `json:"labels"`
	// Brier is the mean squared difference of confidence and quality.
	Brier *float64 `json:"brier"`
	// BrierOfMean is Brier if each reply had the mean quality as its confidence.
	BrierOfMean *float64 `json:"brier_of_mean"`
	// AUC is the probability that a good reply has a higher confidence than a bad one. Equal ones count half.
	AUC *float64 `json:"auc"`
	// Handoff counts the replies that recommend a human, for whatever reason.
	Handoff    Handoff   `json:"handoff"`
	Curve      []Bin     `json:"curve"`
	Thresholds []Handoff `json:"thresholds"`
}

// Bin is a row of the reliability curve: the replies with a confidence of at least From and below To.
type Bin struct {
	From       float64  `json:"from"`
	To         float64  `json:"to"`
	Replies    int      `json:"replies"`
	Confidence *float64 `json:"confidence"` // mean
	Quality    *float64 `json:"quality"`    // mean
}

// Handoff counts how well recommending a human finds bad replies.
type Handoff struct {
	// Below is the confidence below which a human is recommended. Zero: what the replies themselves recommend.
	Below     float64  `json:"below,omitempty"`
	Replies   int      `json:"replies"`
	Precision *float64 `json:"precision"` // bad ones of these replies
	Recall    *float64 `json:"recall"`    // these of the bad replies
}

// Measure compares confidence with labels. An unknown label is an error.
func Measure(replies []Reply) (*Report, error) {
	r := &Report{Replies: len(replies), Labels: make(map[string]int)}
	var sum float64
	for _, reply := range replies {
		q, ok := quality[reply.Label]
		if !ok {
			return nil, fmt.Errorf("unknown label %q; the labels are: good, flawed, bad", reply.Label)
		}
		r.Labels[reply.Label]++
		sum += q
	}
	n := len(replies)
	mean := 0.0
	if n > 0 {
		mean = sum / float64(n)
	}
	var square, squareOfMean, wins float64
	var confidence, judged [bins]float64
	r.Curve = make([]Bin, bins)
	for _, reply := range replies {
		c, q := reply.Confidence, quality[reply.Label]
		square += (c - q) * (c - q)
		squareOfMean += (mean - q) * (mean - q)
		i := min(int(c*bins), bins-1)
		r.Curve[i].Replies++
		confidence[i] += c
		judged[i] += q
		if q != 1 {
			continue
		}
		for _, other := range replies {
			switch {
			case other.Label != labelBad || other.Confidence > c:
			case other.Confidence == c:
				wins += 0.5
			default:
				wins++
			}
		}
	}
	r.Brier, r.BrierOfMean = ratio(square, n), ratio(squareOfMean, n)
	r.AUC = ratio(wins, r.Labels["good"]*r.Labels[labelBad])
	for i := range r.Curve {
		b := &r.Curve[i]
		b.From, b.To = float64(i)/bins, float64(i+1)/bins
		b.Confidence, b.Quality = ratio(confidence[i], b.Replies), ratio(judged[i], b.Replies)
	}
	r.Handoff = handoff(replies, r.Labels[labelBad], func(reply Reply) bool { return reply.HandedOff })
	for _, below := range thresholds {
		h := handoff(replies, r.Labels[labelBad], func(reply Reply) bool { return reply.Confidence < below })
		h.Below = below
		r.Thresholds = append(r.Thresholds, h)
	}
	return r, nil
}

func handoff(replies []Reply, bad int, recommended func(Reply) bool) Handoff {
	var h Handoff
	right := 0
	for _, reply := range replies {
		if recommended(reply) {
			h.Replies++
			if reply.Label == labelBad {
				right++
			}
		}
	}
	h.Precision, h.Recall = ratio(float64(right), h.Replies), ratio(float64(right), bad)
	return h
}

// ratio is nil if there is nothing to count.
func ratio(sum float64, of int) *float64 {
	if of == 0 {
		return nil
	}
	q := sum / float64(of)
	return &q
}

// Print writes the report for people.
func (r *Report) Print(w io.Writer) {
	fmt.Fprintf(w, "%d judged replies: %d good, %d flawed, %d bad; %d messages failed, %d model calls are not in the recording\n",
		r.Replies, r.Labels["good"], r.Labels["flawed"], r.Labels[labelBad], r.Failed, r.Missed)
	eval.Table(w, [][]string{
		{"figure", "value"},
		{"Brier score", show(r.Brier)},
		{"Brier score of the mean quality", show(r.BrierOfMean)},
		{"AUC, good against bad", show(r.AUC)},
	})
	rows := [][]string{{"confidence", "replies", "mean", "quality"}}
	for _, b := range r.Curve {
		rows = append(rows, []string{fmt.Sprintf("%.1f to %.1f", b.From, b.To), fmt.Sprint(b.Replies), show(b.Confidence), show(b.Quality)})
	}
	eval.Table(w, rows)
	rows = [][]string{{"handoff", "replies", "precision", "recall"}}
	for _, h := range append([]Handoff{r.Handoff}, r.Thresholds...) {
		name := fmt.Sprintf("confidence below %.2f", h.Below)
		if h.Below == 0 {
			name = "recommended"
		}
		rows = append(rows, []string{name, fmt.Sprint(h.Replies), show(h.Precision), show(h.Recall)})
	}
	eval.Table(w, rows)
}

func show(figure *float64) string {
	if figure == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f", *figure)
}
