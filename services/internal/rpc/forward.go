package rpc

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// Forward registers a service on r whose calls conn answers. Requests are decoded, because the server's rules and limits look at
// them. conn must be dialled with ForwardCaller, so that its peer checks the caller, too. Methods may stream requests, not responses.
func Forward(r grpc.ServiceRegistrar, service protoreflect.FullName, conn grpc.ClientConnInterface) error {
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(service)
	if err != nil {
		return err
	}
	methods := found.(protoreflect.ServiceDescriptor).Methods()
	desc := &grpc.ServiceDesc{ServiceName: string(service), HandlerType: (*any)(nil), Metadata: found.ParentFile().Path()}
	for i := range methods.Len() {
		m := methods.Get(i)
		in, err1 := protoregistry.GlobalTypes.FindMessageByName(m.Input().FullName())
		out, err2 := protoregistry.GlobalTypes.FindMessageByName(m.Output().FullName())
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		if m.IsStreamingServer() {
			return errors.New(string(m.FullName()) + " streams responses, which Forward does not pass on")
		}
		f := forwarded{conn: conn, method: "/" + string(service) + "/" + string(m.Name()), in: in, out: out}
		if m.IsStreamingClient() {
			desc.Streams = append(desc.Streams, grpc.StreamDesc{StreamName: string(m.Name()), Handler: f.stream, ClientStreams: true})
		} else {
			desc.Methods = append(desc.Methods, grpc.MethodDesc{MethodName: string(m.Name()), Handler: f.unary})
		}
	}
	r.RegisterService(desc, nil)
	return nil
}

// forwarded is one method of a service that another server answers.
type forwarded struct {
	conn    grpc.ClientConnInterface
	method  string // full name
	in, out protoreflect.MessageType
}

// unary is a handler of gRPC's.
func (f forwarded) unary(_ any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
	request := f.in.New().Interface()
	if err := decode(request); err != nil {
		return nil, err
	}
	return intercept(ctx, request, &grpc.UnaryServerInfo{FullMethod: f.method}, func(ctx context.Context, request any) (any, error) {
		response := f.out.New().Interface()
		if err := f.conn.Invoke(ctx, f.method, request, response); err != nil {
			return nil, err
		}
		return response, nil
	})
}

// stream is a handler of gRPC's. It opens the peer's stream with the first request, which is checked then.
func (f forwarded) stream(_ any, from grpc.ServerStream) error {
	ctx, cancel := context.WithCancel(from.Context())
	defer cancel()
	var to grpc.ClientStream
	for {
		request := f.in.New().Interface()
		received := from.RecvMsg(request)
		if received != nil && !errors.Is(received, io.EOF) {
			return received
		}
		if to == nil {
			var err error
			if to, err = f.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, f.method); err != nil {
				return err
			}
		}
		if received != nil {
			break
		}
		if err := to.SendMsg(request); errors.Is(err, io.EOF) {
			break // RecvMsg says why the peer has ended the call
		} else if err != nil {
			return err
		}
	}
	response := f.out.New().Interface()
	if err := errors.Join(to.CloseSend(), to.RecvMsg(response)); err != nil {
		return err
	}
	return from.SendMsg(response)
}
