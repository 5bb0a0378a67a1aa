package rpc

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/reflect/protoreflect"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	_ "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// refusing is a catalog that has no product, and that ends an upload with an error after its first message.
type refusing struct{ catalog }

func (*refusing) GetProduct(context.Context, *catalogv1.GetProductRequest) (*catalogv1.GetProductResponse, error) {
	return nil, &fault.NotFound{Reason: commonv1.ErrorReason_ERROR_REASON_PRODUCT_NOT_FOUND, Resource: "product", Name: "p"}
}

func (*refusing) UpsertProducts(stream grpc.ClientStreamingServer[catalogv1.UpsertProductsRequest, catalogv1.UpsertProductsResponse]) error {
	if _, err := stream.Recv(); err != nil {
		return err
	}
	return &fault.Unavailable{Reason: commonv1.ErrorReason_ERROR_REASON_STATE_UNAVAILABLE, Err: errors.New("no Redis")}
}

// serveForward serves the catalog of "behind" under the name "front".
func serveForward(t *testing.T, network *Network, cfg ServerConfig) {
	t.Helper()
	lis, err := network.Listen("front")
	if err != nil {
		t.Fatal(err)
	}
	s := NewServer(cfg)
	behind := dialCatalog(t, network, "behind", DialConfig{ForwardCaller: true})
	if err := Forward(s, "quartet.catalog.v1.CatalogService", behind); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, lis) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// upload sends products of one message for each store.
func upload(t *testing.T, conn *grpc.ClientConn, stores ...string) (*catalogv1.UpsertProductsResponse, error) {
	t.Helper()
	stream, err := catalogv1.NewCatalogServiceClient(conn).UpsertProducts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, store := range stores {
		_ = stream.Send(&catalogv1.UpsertProductsRequest{StoreId: store}) // the status comes with the response
	}
	return stream.CloseAndRecv()
}

func TestForwardedCallsKeepTheirCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network, behind := NewNetwork(), &catalog{}
		serveCatalog(t, network, "behind", ServerConfig{Authenticator: callers()}, behind)
		serveForward(t, network, ServerConfig{Authenticator: callers(), MaxRequestBytes: map[string]int{
			catalogv1.CatalogService_GetProduct_FullMethodName: 100, catalogv1.CatalogService_UpsertProducts_FullMethodName: 100,
		}})
		app := dialCatalog(t, network, "front", DialConfig{Token: "good-token"})
		is(t, "its own store", get(t.Context(), app, "a"), codes.OK, "")
		if behind.calls.Load() != 1 || behind.caller.Load().Name != "app" {
			t.Errorf("the service behind had %d calls, the last of %q", behind.calls.Load(), behind.caller.Load().Name)
		}
		is(t, "another store", get(t.Context(), app, "b"), codes.PermissionDenied, "PERMISSION_DENIED")
		is(t, "no token", get(t.Context(), dialCatalog(t, network, "front", DialConfig{}), "a"), codes.Unauthenticated, "CREDENTIALS_MISSING")
		is(t, "a large request", get(t.Context(), app, strings.Repeat("a", 100)), codes.ResourceExhausted, "MESSAGE_TOO_LARGE")
		if behind.calls.Load() != 1 {
			t.Errorf("refused calls went on: %d", behind.calls.Load()-1)
		}
		got, err := upload(t, app, "a", "", "a")
		if is(t, "an upload", err, codes.OK, ""); got.GetUpsertedCount() != 3 {
			t.Errorf("%d messages arrived, want 3", got.GetUpsertedCount())
		}
		_, err = upload(t, app, "a", "b")
		is(t, "an upload that goes on to another store", err, codes.PermissionDenied, "PERMISSION_DENIED")
		_, err = upload(t, app, "a", strings.Repeat("a", 100))
		is(t, "a large message", err, codes.ResourceExhausted, "MESSAGE_TOO_LARGE")
		got, err = upload(t, app)
		is(t, "an empty upload", err, codes.OK, "")
		if got == nil {
			t.Error("an empty upload has no response")
		}
		_, err = upload(t, dialCatalog(t, network, "front", DialConfig{Token: "other-token"}))
		is(t, "an empty upload without the right", err, codes.PermissionDenied, "PERMISSION_DENIED")
	})
}

// A front that asks for no credentials opens nothing that the service behind keeps shut.
func TestForwardingGivesNoRights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network, behind := NewNetwork(), &catalog{}
		serveCatalog(t, network, "behind", ServerConfig{Authenticator: callers()}, behind)
		serveForward(t, network, ServerConfig{})
		is(t, "a local caller", get(t.Context(), dialCatalog(t, network, "front", DialConfig{}), "a"), codes.Unauthenticated, "CREDENTIALS_MISSING")
	})
}

func TestForwardedErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := NewNetwork()
		serveForward(t, network, ServerConfig{})
		front := dialCatalog(t, network, "front", DialConfig{})
		is(t, "nobody behind", get(t.Context(), front, "a"), codes.Unavailable, "PEER_UNAVAILABLE")
		_, err := upload(t, front, "a")
		is(t, "nobody behind, an upload", err, codes.Unavailable, "PEER_UNAVAILABLE")

		lis, err := network.Listen("behind")
		if err != nil {
			t.Fatal(err)
		}
		s := NewServer(ServerConfig{})
		catalogv1.RegisterCatalogServiceServer(s, &refusing{})
		ctx, stop := context.WithCancel(context.Background())
		served := make(chan error, 1)
		go func() { served <- s.Serve(ctx, lis) }()
		defer func() { stop(); <-served }()
		<-time.After(time.Second) // the next attempt to connect
		synctest.Wait()
		err = get(t.Context(), front, "a")
		is(t, "an error", err, codes.NotFound, "PRODUCT_NOT_FOUND")
		_, err = upload(t, front, "a", "a", "a")
		is(t, "an upload that fails", err, codes.Unavailable, "STATE_UNAVAILABLE")
	})
}

func TestForwardedServicesAreListed(t *testing.T) {
	network := NewNetwork()
	serveForward(t, network, ServerConfig{Reflection: true})
	stream, err := reflectionv1.NewServerReflectionClient(dialCatalog(t, network, "front", DialConfig{})).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_FileContainingSymbol{
		FileContainingSymbol: "quartet.catalog.v1.CatalogService"}}); err != nil {
		t.Fatal(err)
	}
	if got, err := stream.Recv(); err != nil || len(got.GetFileDescriptorResponse().GetFileDescriptorProto()) == 0 {
		t.Errorf("%v, %v", got, err)
	}
	if err := stream.Send(&reflectionv1.ServerReflectionRequest{MessageRequest: &reflectionv1.ServerReflectionRequest_ListServices{}}); err != nil {
		t.Fatal(err)
	}
	got, err := stream.Recv()
	if err != nil || !slices.ContainsFunc(got.GetListServicesResponse().GetService(), func(s *reflectionv1.ServiceResponse) bool {
		return s.GetName() == "quartet.catalog.v1.CatalogService"
	}) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestForwardRefusesWhatItCannotPassOn(t *testing.T) {
	s := NewServer(ServerConfig{})
	for _, service := range []protoreflect.FullName{"quartet.nowhere.v1.NoService", "quartet.gateway.v1.GatewayService"} {
		if err := Forward(s, service, nil); err == nil {
			t.Errorf("%s is forwarded", service)
		}
	}
}
