package anyjson

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

func packed(t *testing.T, m proto.Message) *anypb.Any {
	t.Helper()
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestWhatCannotBeWrittenIsAStruct(t *testing.T) {
	seats, err := structpb.NewStruct(map[string]any{"seats": 4})
	if err != nil {
		t.Fatal(err)
	}
	unknown := &anypb.Any{TypeUrl: "type.example/shop.Seats", Value: []byte{8, 4}}
	for name, c := range map[string]struct {
		extension *anypb.Any
		want      string
		same      bool
	}{
		"no extension":             {nil, `"specialist":"workshops"`, true},
		"a type that is known":     {packed(t, seats), `"seats":4`, true},
		"a type that is not known": {unknown, `"type_url":"type.example/shop.Seats","value":"CAQ="`, false},
		"one inside of a known":    {packed(t, unknown), `"type_url":"type.googleapis.com/google.protobuf.Any"`, false},
		"a damaged value":          {&anypb.Any{TypeUrl: "type.googleapis.com/google.protobuf.Duration", Value: []byte{8}}, `"value":"CA=="`, false},
		"a value out of range":     {packed(t, &durationpb.Duration{Seconds: 1, Nanos: -1}), `"type_url"`, false},
		"no type":                  {&anypb.Any{Value: []byte{1}}, `"value":"AQ=="`, false},
		"a type that is no text":   {&anypb.Any{TypeUrl: "\xff", Value: []byte{1}}, `"extension":{}`, false},
	} {
		reply := &gatewayv1.AskResponse{Results: []*gatewayv1.AssignmentResult{{Outcome: &gatewayv1.AssignmentResult_Answer{
			Answer: &specialistv1.Answer{Specialist: "workshops", Extension: c.extension},
		}}}}
		before := proto.CloneOf(reply)
		got := Readable(reply)
		text, err := protojson.Marshal(got)
		if err != nil || !strings.Contains(strings.ReplaceAll(string(text), " ", ""), c.want) {
			t.Errorf("%s: %s, %v", name, text, err)
		}
		if (got == reply) != c.same || !proto.Equal(reply, before) {
			t.Errorf("%s: copied %v, changed %v", name, got != reply, !proto.Equal(reply, before))
		}
	}
}
