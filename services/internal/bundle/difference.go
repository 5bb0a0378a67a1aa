package bundle

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
)

// perRun are fields that differ from run to run, beside all durations.
var perRun = map[protoreflect.Name]bool{"turn_id": true, "thread_id": true, "trace_id": true, "start_time": true, "create_time": true}

// Difference returns the first field in which two replies differ, with both values, or "". The text is compared first. Durations, times of calls, and the ids of trace,
// turn and thread do not count, and neither do fields with the names in except.
func Difference(recorded, now *gatewayv1.AskResponse, except ...string) (string, error) {
	var sides [2]any
	for i, reply := range []*gatewayv1.AskResponse{recorded, now} {
		reply = proto.CloneOf(reply)
		clearFields(reply.ProtoReflect(), except)
		raw, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(reply)
		if err == nil {
			err = json.Unmarshal(raw, &sides[i])
		}
		if err != nil {
			return "", fmt.Errorf("compare replies: %w", err)
		}
	}
	if d := difference("reply.text", textOf(sides[0]), textOf(sides[1])); d != "" {
		return d, nil
	}
	return difference("reply", sides[0], sides[1]), nil
}

func textOf(reply any) any {
	fields, _ := reply.(map[string]any)
	return fields["text"]
}

// clearFields clears the fields of perRun, those in except and all durations.
func clearFields(m protoreflect.Message, except []string) {
	duration := (*durationpb.Duration)(nil).ProtoReflect().Descriptor().FullName()
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case perRun[f.Name()], slices.Contains(except, string(f.Name())), f.Message() != nil && f.Message().FullName() == duration:
			m.Clear(f)
		case f.IsMap() || f.Message() == nil:
		case f.IsList():
			for i := range v.List().Len() {
				clearFields(v.List().Get(i).Message(), except)
			}
		default:
			clearFields(v.Message(), except)
		}
		return true
	})
}

// difference compares two JSON values, objects by their keys in order.
func difference(at string, a, b any) string {
	x, isObject := a.(map[string]any)
	y, bothObjects := b.(map[string]any)
	if isObject && bothObjects {
		keys := maps.Clone(x)
		maps.Copy(keys, y)
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			if d := difference(at+"."+k, x[k], y[k]); d != "" {
				return d
			}
		}
		return ""
	}
	p, isList := a.([]any)
	q, bothLists := b.([]any)
	if (isList || bothLists) && (isList || a == nil) && (bothLists || b == nil) {
		for i := range max(len(p), len(q)) {
			if d := difference(fmt.Sprintf("%s[%d]", at, i), element(p, i), element(q, i)); d != "" {
				return d
			}
		}
		return ""
	}
	first, second := shown(a), shown(b)
	if first == second {
		return ""
	}
	return fmt.Sprintf("%s\n  recorded %s\n  now      %s", at, first, second)
}

// element returns an element of a list, or nil behind its end.
func element(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// shown returns a value as text. Nil is a field that is not set.
func shown(v any) string {
	if v == nil {
		return "nothing"
	}
	raw, err := encode(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(raw)
}
