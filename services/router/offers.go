package router

import (
	"fmt"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	routerv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/router/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/offer"
)

// offered are the specialists of a message, with the hashes that are needed of them. It is immutable.
type offered struct {
	specialists []*specialistv1.Specialist
	lines       []string // of each, what the model is told
	prompt      string   // where a store adds nothing
	output      *agentloop.OutputSchema
	examples    uint64 // of their examples
	words       uint64 // of all that a lexicon is made of
}

// Bounds of what is remembered of offers. There is one for each set of specialists and of what is available of it; the
// suite's own take about 120 KiB encoded, and some three times that here.
const (
	maxOffers     = 32
	maxOfferBytes = 1 << 20 // encoded; a larger one is good for its message only
)

// offers remembers the offers that were asked for last, by version. The zero value is ready. It is safe for concurrent use.
type offers struct {
	mu     sync.Mutex
	recent []versioned // the one asked for last first
}

type versioned struct {
	version string
	offered *offered
}

// get returns the offer of a version, or nil.
func (o *offers) get(version string) *offered {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.IndexFunc(o.recent, func(v versioned) bool { return v.version == version })
	if i < 0 {
		return nil
	}
	found := o.recent[i]
	copy(o.recent[1:i+1], o.recent[:i])
	o.recent[0] = found
	return found.offered
}

// add remembers an offer that is not there yet.
func (o *offers) add(version string, made *offered) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if slices.ContainsFunc(o.recent, func(v versioned) bool { return v.version == version }) {
		return
	}
	o.recent = slices.Insert(o.recent, 0, versioned{version, made})
	if len(o.recent) > maxOffers {
		o.recent[maxOffers] = versioned{}
		o.recent = o.recent[:maxOffers]
	}
}

// offered returns the specialists of a checked request: those in it, or those that it names. What is remembered goes by the
// version that the specialists have, not by the one that a caller says, so that no caller can change what others mean.
func (s *Service) offered(req *routerv1.RouteRequest) (*offered, error) {
	said, specialists := req.GetSpecialistsVersion(), req.GetSpecialists()
	switch {
	case len(specialists) == 0:
		if known := s.offers.get(said); known != nil {
			return known, nil
		}
		return nil, &fault.Precondition{
			Reason: commonv1.ErrorReason_ERROR_REASON_SPECIALISTS_UNKNOWN, Subject: "specialists/" + said,
			Description: "this router does not know the specialists of that version, or not any more; send them with the request",
		}
	case said == "", proto.Size(&routerv1.RouteRequest{Specialists: specialists}) > maxOfferBytes:
		return s.lexicons.offer(specialists), nil
	}
	version, err := offer.Version(specialists)
	if err != nil {
		return nil, fmt.Errorf("remember specialists: %w", err)
	}
	if known := s.offers.get(version); known != nil {
		return known, nil
	}
	made := s.lexicons.offer(specialists)
	s.offers.add(version, made)
	return made, nil
}
