package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jhump/protoreflect/v2/protoprint"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/quartet-commerce/quartet/proto/descriptors"

	"github.com/quartet-commerce/quartet/services/internal/anyjson"
	"github.com/quartet-commerce/quartet/services/suite"
)

const callAbout = `Calls a method of a running service, with requests and responses in JSON. The contracts are part of this program, so
servers need no reflection.

  quartet call list                           the services
  quartet call describe GatewayService.Ask    a service, method, message or enum, as in the .proto files
  quartet call GatewayService/Ask '{"store_id": "demo", "message": "Do you have tents?"}'

A request of "-" is read from stdin. A method that takes a stream takes several requests, one after the other.`

// owner is the role of the packages of the contracts that the gateway does not serve. All specialists serve quartet.specialist.v1.
var owner = map[protoreflect.FullName]string{"quartet.router.v1": suite.Router, "quartet.specialist.v1": ""}

func runCall(ctx context.Context, args []string, env environment) error {
	fs := newFlags("call", "list|describe NAME|METHOD [JSON|-]", callAbout, env)
	addr := fs.String("addr", "", "`target` of the service, such as 127.0.0.1:7300 (default: where 'quartet up' serves the method)")
	role := fs.String("role", "", "`role` of the service: "+strings.Join(suite.Roles(), ", ")+" (default: the gateway, if it serves the method)")
	timeout := fs.Duration("timeout", time.Minute, "deadline of the call")
	headers := metadata.MD{}
	fs.Func("header", "metadata of the call as `NAME:VALUE`; may be given several times", func(s string) error {
		name, value, ok := strings.Cut(s, ":")
		if !ok {
			return errors.New("must be NAME:VALUE")
		}
		headers.Append(strings.TrimSpace(name), strings.TrimSpace(value))
		return nil
	})
	var token string
	tokenFlag(fs, &token)
	tls := addTLSFlags(fs, tlsUsageClient)
	rest, err := parse(fs, args, env)
	switch {
	case err != nil:
		return err
	case len(rest) == 0:
		return usagef("give list, describe or a method")
	case rest[0] == "list":
		return listServices(env.out)
	case rest[0] == "describe" && len(rest) == 2:
		return describe(env.out, rest[1])
	case rest[0] == "describe" || len(rest) > 2:
		return usagef("takes one name after describe, and one request after a method; put JSON in quotes")
	}
	method, err := methodOf(rest[0])
	if err != nil {
		return err
	}
	if *role == "" {
		var other bool
		if *role, other = owner[method.Parent().ParentFile().Package()]; !other {
			*role = suite.Gateway
		}
	}
	if !slices.Contains(suite.Roles(), *role) {
		return usagef("%s is served by several roles: give --role, one of %s", method.Parent().Name(), strings.Join(suite.Specialists(), ", "))
	}
	if *addr == "" {
		*addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(suite.Port(*role)))
	}
	cfg := suite.Config{Peers: map[string]string{*role: *addr}, Token: token}
	if err := tls.applyClient(&cfg, env); err != nil {
		return err
	}
	conn, err := dial(ctx, *role, cfg, env)
	if err != nil {
		return err
	}
	defer conn.Close()
	var requests io.Reader = strings.NewReader("{}")
	if len(rest) == 2 {
		requests = strings.NewReader(rest[1])
		if rest[1] == "-" {
			requests = env.in
		}
	}
	ctx, cancel := context.WithTimeout(metadata.NewOutgoingContext(ctx, headers), *timeout)
	defer cancel()
	err = invoke(ctx, conn, method, requests, env.out)
	if usage := (usageError{}); err == nil || errors.As(err, &usage) {
		return err
	}
	return told(err)
}

// services returns the services of the contracts, by name.
func services() []protoreflect.ServiceDescriptor {
	var all []protoreflect.ServiceDescriptor
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			if strings.HasPrefix(string(f.Package()), "quartet.") {
				all = append(all, f.Services().Get(i))
			}
		}
		return true
	})
	slices.SortFunc(all, func(a, b protoreflect.ServiceDescriptor) int {
		return strings.Compare(string(a.FullName()), string(b.FullName()))
	})
	return all
}

func listServices(w io.Writer) error {
	for _, s := range services() {
		fmt.Fprintln(w, s.FullName())
		for i := range s.Methods().Len() {
			fmt.Fprintf(w, "  %s/%s\n", s.Name(), s.Methods().Get(i).Name())
		}
	}
	return nil
}

// methodOf returns the method of a name such as GatewayService/Ask, with the package or without.
func methodOf(name string) (protoreflect.MethodDescriptor, error) {
	service, method, ok := cutLast(strings.ReplaceAll(name, "/", "."))
	if !ok {
		return nil, usagef("%q is no method: want SERVICE/METHOD, such as GatewayService/Ask; 'quartet call list' lists them", name)
	}
	for _, s := range services() {
		if string(s.FullName()) != service && string(s.Name()) != service {
			continue
		}
		if m := s.Methods().ByName(protoreflect.Name(method)); m != nil {
			return m, nil
		}
		return nil, usagef("%s has no method %q; 'quartet call describe %[1]s' shows what it has", s.Name(), method)
	}
	return nil, usagef("there is no service %q; 'quartet call list' lists them", service)
}

func cutLast(name string) (before, after string, ok bool) {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return "", "", false
	}
	return name[:i], name[i+1:], true
}

// describe prints a service, method, message or enum as it stands in its .proto file.
func describe(w io.Writer, name string) error {
	files, err := descriptors.Files()
	if err != nil {
		return err
	}
	d := find(files, protoreflect.FullName(strings.ReplaceAll(name, "/", ".")))
	if d == nil {
		return usagef("there is no %q; 'quartet call list' lists the services", name)
	}
	text, err := (&protoprint.Printer{Compact: true}).PrintProtoToString(d)
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	return err
}

// find returns what has a name, with the package or without, or nil.
func find(files *protoregistry.Files, name protoreflect.FullName) protoreflect.Descriptor {
	found, _ := files.FindDescriptorByName(name) // nil: there is none
	files.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		if found == nil && strings.HasPrefix(string(f.Package()), "quartet.") {
			found, _ = files.FindDescriptorByName(f.Package() + "." + name)
		}
		return found == nil
	})
	return found
}

// invoke calls a method with the requests that it reads, and prints each response.
func invoke(ctx context.Context, conn *grpc.ClientConn, method protoreflect.MethodDescriptor, requests io.Reader, out io.Writer) error {
	input, err := protoregistry.GlobalTypes.FindMessageByName(method.Input().FullName())
	if err != nil {
		return err
	}
	output, err := protoregistry.GlobalTypes.FindMessageByName(method.Output().FullName())
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(requests)
	next := func(n int) (proto.Message, error) {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			return nil, nil
		} else if err != nil {
			return nil, usagef("request %d is no JSON: %w", n, err)
		}
		message := input.New().Interface()
		if err := protojson.Unmarshal(raw, message); err != nil {
			return nil, usagef("request %d: %w; 'quartet call describe %s' shows its fields", n, err, method.Input().FullName())
		}
		return message, nil
	}
	request, err := next(1)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("/%s/%s", method.Parent().FullName(), method.Name())
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: method.IsStreamingClient(), ServerStreams: true}, name)
	if err != nil {
		return err
	}
	for n := 1; request != nil; n++ {
		if n > 1 && !method.IsStreamingClient() {
			return usagef("%s takes one request", method.Name())
		}
		if err := stream.SendMsg(request); err != nil {
			break // RecvMsg says why
		}
		if request, err = next(n + 1); err != nil {
			return err
		}
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	for {
		message := output.New().Interface()
		switch err := stream.RecvMsg(message); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := printMessage(out, message); err != nil {
			return err
		}
	}
}

// printMessage prints a message as JSON. protojson varies its white space on purpose, so that of encoding/json is used.
func printMessage(w io.Writer, message proto.Message) error {
	raw, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(anyjson.Readable(message))
	if err != nil {
		return err
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, raw, "", "  "); err != nil {
		return err
	}
	_, err = fmt.Fprintln(w, indented.String())
	return err
}
