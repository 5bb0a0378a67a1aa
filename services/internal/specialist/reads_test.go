package specialist_test

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cartv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/cart/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop/scripted"
	"github.com/quartet-commerce/quartet/services/internal/scope"
)

// A tool whose data the scope does not cover is not offered, and the model is told so; the turn goes on.
func TestToolsOutsideTheScopeAreDisabled(t *testing.T) {
	def := lamps
	def.ToolReads = map[string][]scope.Read{"look": {scope.ReadCatalog}}
	for name, tt := range map[string]struct {
		reads []scope.Read
		tools int
	}{
		"with the read": {[]scope.Read{scope.ReadCatalog}, 1}, "without it": {[]scope.Read{scope.ReadOrders}, 0},
	} {
		model := scripted.New(scripted.Step{Text: "I cannot look."})
		client := serve(t, def, model)
		sc := shopper
		sc.Reads = tt.reads
		ctx := signed(t, t.Context(), sc)
		described, err := client.Describe(ctx, &specialistv1.DescribeRequest{})
		if n := len(described.GetSpecialist().GetTools()); err != nil || n != tt.tools {
			t.Errorf("%s: %d tools are described, %v", name, n, err)
		}
		stream, err := client.Answer(ctx, question)
		for err == nil {
			_, err = stream.Recv()
		}
		request := model.Requests()[0]
		told := strings.Contains(request.Messages[0].Text, "There is no access to catalog here")
		if len(request.Tools) != tt.tools+1 || told != (tt.tools == 0) {
			t.Errorf("%s: %d tools are offered, the model is told: %v", name, len(request.Tools), told)
		}
	}
}

func TestACartOutsideTheScopeIsRefused(t *testing.T) {
	client := serve(t, lamps, scripted.New())
	for name, sc := range map[string]scope.Scope{
		"no read":      {StoreID: "demo", CartID: "c1", Reads: []scope.Read{scope.ReadCatalog}},
		"another cart": {StoreID: "demo", CartID: "c2", Reads: scope.Reads()},
		"no cart":      {StoreID: "demo", Reads: scope.Reads()},
	} {
		stream, err := client.Answer(signed(t, t.Context(), sc), &specialistv1.AnswerRequest{
			AssignmentId: "a", SubQuery: "q", Cart: &cartv1.Cart{StoreId: "demo", CartId: "c1"},
		})
		for err == nil {
			_, err = stream.Recv()
		}
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "cart") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
