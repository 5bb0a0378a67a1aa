package gateway

import (
	"context"
	"net"
	"sync"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

// arrivals tells of the messages of answers that a client has received.
type arrivals chan struct{}

type methodKey struct{}

func (arrivals) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, methodKey{}, info.FullMethodName)
}
func (arrivals) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (arrivals) HandleConn(context.Context, stats.ConnStats)                       {}
func (a arrivals) HandleRPC(ctx context.Context, s stats.RPCStats) {
	if _, ok := s.(*stats.InPayload); ok && ctx.Value(methodKey{}) == specialistv1.SpecialistService_Answer_FullMethodName {
		a <- struct{}{}
	}
}

// replicas serves several replicas of a specialist over TCP, and returns a client for all of them. answer is given what kills its
// replica.
func (h *fixture) replicas(name string, n int, arrived arrivals, answer func(stream answerStream, kill func()) error) Peer {
	h.t.Helper()
	r := manual.NewBuilderWithScheme("replicas")
	var state resolver.State
	for range n {
		lis, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			h.t.Fatal(err)
		}
		server := grpc.NewServer()
		var running sync.WaitGroup
		specialistv1.RegisterSpecialistServiceServer(server, &fakeSpecialist{
			name: name, answer: func(_ *specialistv1.AnswerRequest, stream answerStream) error {
				return answer(stream, func() { running.Go(server.Stop) })
			},
		})
		running.Go(func() { _ = server.Serve(lis) })
		h.t.Cleanup(func() { server.Stop(); running.Wait() })
		state.Addresses = append(state.Addresses, resolver.Address{Addr: lis.Addr().String()})
	}
	r.InitialState(state)
	conn, err := grpc.NewClient("replicas:///"+name, grpc.WithResolvers(r), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithStatsHandler(arrived),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}]}`))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { conn.Close() })
	client := &primedClient{SpecialistServiceClient: specialistv1.NewSpecialistServiceClient(conn)}
	return Peer{Name: name, Client: client, Reads: reads[name]}
}

// A replica dies while it works. Another one is asked, unless a listener has heard of the work.
func TestABrokenCallIsRepeatedOnAnotherReplica(t *testing.T) {
	spent := &specialistv1.AnswerResponse{Event: &specialistv1.AnswerResponse_UsageUpdate{
		UsageUpdate: &specialistv1.UsageUpdate{Usage: &commonv1.Usage{InputTokens: 100, ModelCalls: 1}},
	}}
	started := &specialistv1.AnswerResponse{Event: &specialistv1.AnswerResponse_ToolCallStarted{
		ToolCallStarted: &specialistv1.ToolCallStarted{ToolCallId: "c1", ToolName: "look"},
	}}
	for _, tt := range []struct {
		name    string
		sends   []*specialistv1.AnswerResponse // before the replica dies
		deaths  int
		streams bool
		calls   int
		fails   bool
	}{
		{"nothing was sent", nil, 1, true, 2, false},
		{"usage was sent", []*specialistv1.AnswerResponse{spent}, 1, true, 2, false},
		{"nobody listens", []*specialistv1.AnswerResponse{spent, started}, 1, false, 2, false},
		{"a listener has heard", []*specialistv1.AnswerResponse{started}, 1, true, 1, true},
		{"both die", nil, 2, false, 2, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newFixture(t, miniredis.RunT(t))
			var mu sync.Mutex
			calls := 0
			arrived := make(arrivals, 100)
			h.config.Specialists = append(h.config.Specialists, h.replicas("support", 3, arrived, func(stream answerStream, kill func()) error {
				mu.Lock()
				calls++
				dies := calls <= tt.deaths
				mu.Unlock()
				if !dies {
					return sayAnswer(stream, &specialistv1.Answer{Text: "It is on its way.", Usage: &commonv1.Usage{InputTokens: 10, ModelCalls: 1}})
				}
				for _, ev := range tt.sends {
					if err := stream.Send(ev); err != nil {
						return err
					}
					<-arrived
				}
				kill()
				<-stream.Context().Done()
				return stream.Context().Err()
			}))
			h.start()
			ask := &gatewayv1.AskRequest{StoreId: "demo", Message: "support: my order"}
			var reply *gatewayv1.AskResponse
			var err error
			if tt.streams {
				var stream grpc.ServerStreamingClient[gatewayv1.AskStreamResponse]
				if stream, err = h.client.AskStream(t.Context(), &gatewayv1.AskStreamRequest{Ask: ask}); err != nil {
					t.Fatal(err)
				}
				for err == nil && reply == nil {
					var ev *gatewayv1.AskStreamResponse
					ev, err = stream.Recv()
					reply = ev.GetAnswer()
				}
			} else {
				reply, err = h.client.Ask(t.Context(), ask)
			}
			if (err != nil) != tt.fails || tt.fails && status.Code(err) != codes.Unavailable {
				t.Fatalf("%v, %v", reply, err)
			}
			if calls != tt.calls {
				t.Errorf("%d calls, want %d", calls, tt.calls)
			}
			if want := int64(10); len(tt.sends) > 0 && !tt.fails {
				want += 100
				if got := reply.GetResults()[0].GetAnswer().GetUsage().GetInputTokens(); got != want {
					t.Errorf("%d input tokens, want %d with those of the call that broke", got, want)
				}
			}
		})
	}
}
