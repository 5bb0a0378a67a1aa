package gateway

import (
	"context"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/gateway/threads"
	"github.com/quartet-commerce/quartet/services/internal/auth"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/pagetoken"
	"github.com/quartet-commerce/quartet/services/internal/telemetry"
)

const (
	// maxReason and maxCorrection are the longest texts of feedback, in characters.
	maxReason, maxCorrection = 1_000, 8_000
	// maxTurnsRead is how many turns one ListTurns reads.
	maxTurnsRead = 1_000
)

// RecordFeedback implements GatewayService.
func (s *server) RecordFeedback(ctx context.Context, req *gatewayv1.RecordFeedbackRequest) (*gatewayv1.RecordFeedbackResponse, error) {
	var check fault.Checker
	who := checkShopper(ctx, &check, req, auth.RightThreads, "turn_id", req.GetTurnId())
	rating := req.GetFeedback().GetRating()
	if _, known := gatewayv1.Rating_name[int32(rating)]; !known || rating == gatewayv1.Rating_RATING_UNSPECIFIED {
		check.Addf("feedback.rating", "must be RATING_HELPFUL or RATING_NOT_HELPFUL")
	}
	check.Text("feedback.reason", req.GetFeedback().GetReason(), 0, maxReason)
	check.Text("feedback.corrected_answer", req.GetFeedback().GetCorrectedAnswer(), 0, maxCorrection)
	if err := check.Err(); err != nil {
		return nil, err
	}
	f := proto.CloneOf(req.GetFeedback())
	f.CreateTime = timestamppb.New(s.service.cfg.Now())
	if err := s.service.threads.PutFeedback(ctx, req.GetStoreId(), req.GetTurnId(), who, f); err != nil {
		return nil, err
	}
	s.service.metrics.feedback.Add(ctx, 1, metric.WithAttributes(attribute.String(telemetry.KeyRating, label(rating.String(), "RATING_"))))
	return &gatewayv1.RecordFeedbackResponse{Feedback: f}, nil
}

// turnServer serves TurnService.
type turnServer struct {
	gatewayv1.UnsafeTurnServiceServer
	threads *threads.Store
	stores  stores
	now     func() time.Time
	ttl     time.Duration
}

var _ gatewayv1.TurnServiceServer = (*turnServer)(nil)

// ListTurns implements TurnService.
func (s *turnServer) ListTurns(ctx context.Context, req *gatewayv1.ListTurnsRequest) (*gatewayv1.ListTurnsResponse, error) {
	var check fault.Checker
	check.ID("store_id", req.GetStoreId())
	checkFilter(&check, req.GetFilter())
	check.Range("limit", int64(req.GetLimit()), 0, 100)
	from := pagetoken.Read(&check, req.GetPageToken(), pagetoken.ParseCursor)
	if err := check.Err(); err != nil {
		return nil, err
	}
	limit := int(req.GetLimit())
	if limit == 0 {
		limit = 20
	}
	resp, read, last := &gatewayv1.ListTurnsResponse{}, 0, pagetoken.Cursor{}
	done, err := s.read(ctx, req.GetStoreId(), req.GetFilter(), from, func(t *gatewayv1.Turn, at pagetoken.Cursor) bool {
		if passes(t, req.GetFilter()) {
			resp.Turns = append(resp.Turns, t)
		}
		read, last = read+1, at
		return len(resp.Turns) < limit && read < maxTurnsRead
	})
	if err != nil {
		return nil, err
	}
	if !done {
		resp.NextPageToken = last.Token()
	}
	return resp, nil
}

// ExportTurns implements TurnService.
func (s *turnServer) ExportTurns(
	req *gatewayv1.ExportTurnsRequest, stream grpc.ServerStreamingServer[gatewayv1.ExportTurnsResponse],
) error {
	var check fault.Checker
	check.ID("store_id", req.GetStoreId())
	checkFilter(&check, req.GetFilter())
	if err := check.Err(); err != nil {
		return err
	}
	var sendErr error
	_, err := s.read(stream.Context(), req.GetStoreId(), req.GetFilter(), pagetoken.Cursor{}, func(t *gatewayv1.Turn, _ pagetoken.Cursor) bool {
		if passes(t, req.GetFilter()) {
			sendErr = stream.Send(&gatewayv1.ExportTurnsResponse{Turn: t})
		}
		return sendErr == nil
	})
	if err != nil {
		return err
	}
	return sendErr
}

// between are the times of a request.
type between interface {
	GetStartTime() *timestamppb.Timestamp
	GetEndTime() *timestamppb.Timestamp
}

// read calls visit for the turns of a store, from a cursor on, until it returns false. Done is whether all were visited. A store that does
// not exist is an error: no turns would be read as a quiet day.
func (s *turnServer) read(
	ctx context.Context, storeID string, times between, from pagetoken.Cursor, visit func(*gatewayv1.Turn, pagetoken.Cursor) bool,
) (done bool, err error) {
	if _, err := s.stores.get(ctx, storeID); err != nil {
		return false, err
	}
	first, end := s.times(times.GetStartTime(), times.GetEndTime())
	return s.threads.Turns(ctx, storeID, first, end, from, visit)
}

// times returns the first instant of a request, and the first one that is too late. No turn is older than the time to live of threads.
func (s *turnServer) times(start, late *timestamppb.Timestamp) (first, end time.Time) {
	first, end = s.now().Add(-s.ttl-24*time.Hour), s.now().Add(time.Second)
	if start != nil && start.AsTime().After(first) {
		first = start.AsTime()
	}
	if late != nil && late.AsTime().Before(end) {
		end = late.AsTime()
	}
	return first, end
}

// checkTimes checks the times of a request.
func checkTimes(check *fault.Checker, within string, start, end *timestamppb.Timestamp) {
	if start != nil && !start.IsValid() {
		check.Addf(within+"start_time", "is no valid time")
	}
	if end != nil && !end.IsValid() {
		check.Addf(within+"end_time", "is no valid time")
	}
	if start.IsValid() && end.IsValid() && !start.AsTime().Before(end.AsTime()) {
		check.Addf(within+"end_time", "must be after start_time")
	}
}

func checkFilter(check *fault.Checker, f *gatewayv1.TurnFilter) {
	checkTimes(check, "filter.", f.GetStartTime(), f.GetEndTime())
	check.OptionalID("filter.specialist", f.GetSpecialist())
	check.OptionalID("filter.prompt_version", f.GetPromptVersion())
	if c := f.GetConfidenceBelow(); !(c >= 0 && c <= 1) { // NaN too
		check.Addf("filter.confidence_below", "is %v, must be from 0 to 1", c)
	}
	if _, known := gatewayv1.Rating_name[int32(f.GetRating())]; !known {
		check.Addf("filter.rating", "is no rating")
	}
}

// passes reports whether a turn passes all conditions of a filter but its times.
func passes(t *gatewayv1.Turn, f *gatewayv1.TurnFilter) bool {
	reply := t.GetReply()
	switch {
	case f.GetSpecialist() != "" && !slices.ContainsFunc(reply.GetResults(), func(r *gatewayv1.AssignmentResult) bool {
		return r.GetAssignment().GetSpecialist() == f.GetSpecialist() || r.GetPassedOnBy() == f.GetSpecialist()
	}):
	case f.GetHandoff() && !reply.GetHandoff().GetRecommended():
	case f.GetUnanswered() && !slices.ContainsFunc(reply.GetResults(), func(r *gatewayv1.AssignmentResult) bool { return r.GetAnswer() == nil }):
	case f.GetConfidenceBelow() > 0 && reply.GetConfidence() >= f.GetConfidenceBelow():
	case f.GetUnsupportedClaims() && !slices.ContainsFunc(reply.GetClaims(), unsupported):
	case f.GetRating() != gatewayv1.Rating_RATING_UNSPECIFIED && t.GetFeedback().GetRating() != f.GetRating():
	case f.GetPromptVersion() != "" && !slices.ContainsFunc(usedBy(reply), func(part *gatewayv1.StreamUsageResponse) bool {
		return part.GetPromptVersion() == f.GetPromptVersion()
	}):
	default:
		return true
	}
	return false
}

// unsupported reports whether a claim has no evidence or contradicts it.
func unsupported(c *specialistv1.Claim) bool {
	return c.GetVerdict() == specialistv1.ClaimVerdict_CLAIM_VERDICT_UNSUPPORTED ||
		c.GetVerdict() == specialistv1.ClaimVerdict_CLAIM_VERDICT_CONTRADICTED
}
