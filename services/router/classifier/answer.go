package classifier

import (
	"slices"
	"strings"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

// maxAnswer is how many words a message that is no list of things may have to count as nothing but the answer to a question. Of a longer
// one the model decides, which knows the question.
const maxAnswer = 6

// likely is the confidence from which a short message is a request of its own and no answer.
const likely = 2.0 / 3

// answers reports whether a message only answers a question: it is one of the suggested replies, or short, asks nothing, and no other
// specialist is likely, unless only because the message names products: "the shoes, size 42".
func (c *Classifier) answers(message string, r Result, p *specialistv1.PendingQuestion) bool {
	folded := text.Fold(strings.TrimSpace(message))
	switch {
	case !slices.Contains(c.names, p.GetSpecialist()):
		return false
	case slices.ContainsFunc(p.GetQuestion().GetQuickReplies(), func(reply string) bool { return text.Fold(reply) == folded }):
		return true
	case strings.ContainsAny(message, "?？") || len(text.Words(folded)) > maxAnswer && !r.OnlyNames:
		return false
	}
	return r.OnlyNames || !slices.ContainsFunc(r.Assignments, func(a Assignment) bool {
		return a.Specialist != p.GetSpecialist() && a.Confidence >= likely
	})
}
