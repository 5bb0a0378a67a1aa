package suite

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// limitBases are good requests, one for each method of the table, which a test brings to a limit.
var limitBases = map[string]string{
	"Ask":                 `{"message":"hi"}`,
	"ListThreads":         `{"customer_id":"ava"}`,
	"PutStore":            `{"store":{"store_id":"demo","name":"Demo","currency_code":"EUR","voice":{"tone":"t","glossary":[{"use":"a","avoid":["b"]}]},"routing_keywords":[{"specialist":"search","keyword":{"term":"a","weight":1}}]}}`,
	"UpsertProducts":      `{"products":[{"product_id":"P1","title":"t","category_path":["a"],"tags":["a"],"attributes":[{"name":"a","text":"a"}],"variants":[{"variant_id":"v","price":{"amount_minor":1,"currency_code":"EUR"}}],"translations":[{"language":"de","title":"t"}]}]}`,
	"RecordFeedback":      `{"turn_id":"t","feedback":{"rating":"RATING_HELPFUL"}}`,
	"PostAgentMessage":    `{"thread_id":"t","person":"Mia","text":"a"}`,
	"ListTurns":           `{}`,
	"CreatePromptVersion": `{"agent":"search","version":{"text":"a"}}`,
	"UpdateVariants":      `{"updates":[{"product_id":"P1","variant_id":"v","stock":1}]}`,
	"BatchGetProducts":    `{}`,
	"ListProducts":        `{}`,
	"SearchProducts":      `{"filter":{"attribute_ranges":[{"name":"a","min":1}]}}`,
	"FindSimilarProducts": `{"product_ids":["P1"],"known_complements":[{"product_id":"P1","with_product_id":"P2","relation":"a"}]}`,
	"SetCart":             `{"cart_id":"c","items":[{"product_id":"P1","quantity":1}]}`,
	"UpsertPromotions":    `{"promotions":[{"code":"AB","title":"t","scope":{},"tiered":{"tiers":[{"subtotal":{"amount_minor":1,"currency_code":"EUR"},"basis_points":1}]}}]}`,
	"EvaluateCart":        `{"signed_in":true,"cart":{"items":[{"product_id":"P1","quantity":1}]},"changes":[{"product_id":"P1","set_quantity":0}]}`,
	"RecordUsage":         `{"order_id":"o","codes":["AB"]}`,
	"UpsertOrders":        `{"orders":[{"order_id":"o","customer_id":"c","status":"ORDER_STATUS_PROCESSING","create_time":"2026-01-01T00:00:00Z","subtotal":{"currency_code":"EUR"},"total":{"currency_code":"EUR"},"items":[{"product_id":"P1","title":"t","quantity":1,"unit_price":{"currency_code":"EUR"}}]}]}`,
	"ListOrders":          `{"customer_id":"c"}`,
	"ListCoPurchases":     `{"product_ids":["P1"]}`,
	"PutOrderSettings":    `{"settings":{"rules":[{"kind":"ORDER_ACTION_KIND_CANCEL","reasons":["a"]}]}}`,
	"ListPolicies":        `{}`,
	"ListPromotions":      `{}`,
	"UpsertPolicies":      `{"policies":[{"policy_id":"p","title":"t","body":"b"}]}`,
	"SearchPolicies":      `{"query":"q"}`,
}

var (
	limitRow   = regexp.MustCompile("(?m)^\\| (\\w+) \\| `([\\w.\\[\\]]+)` \\| ([\\d,]+)( characters| entries)? \\|$")
	messageRow = regexp.MustCompile(`(?m)^\| ([\w, ]+) \| ([\d,]+) KiB \|$`)
	pathStep   = regexp.MustCompile(`^(\w+)(\[0\])?$`)
)

// limitsTable reads a page with a table of limits.
func limitsTable(t *testing.T, path string) string {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

func number(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(strings.ReplaceAll(s, ",", ""), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestLimitsOfFields sends each field of the table with as much as it takes, and with one more.
func TestLimitsOfFields(t *testing.T) {
	f := newFuzzed(t)
	rows := limitRow.FindAllStringSubmatch(limitsTable(t, "testdata/limits.md"), -1)
	if len(rows) < 60 {
		t.Fatalf("only %d rows", len(rows))
	}
	for _, row := range rows {
		method, path, most, unit := row[1], row[2], number(t, row[3]), strings.TrimSpace(row[4])
		t.Run(method+" "+path, func(t *testing.T) {
			m := f.method(t, method)
			if f.refuses(t, m, path, unit, most) {
				t.Errorf("%d %s are refused", most, unit)
			}
			if !f.refuses(t, m, path, unit, most+1) {
				t.Errorf("%d %s are not refused", most+1, unit)
			}
		})
	}
}

func (f *fuzzed) method(t *testing.T, name string) protoreflect.MethodDescriptor {
	t.Helper()
	for _, m := range f.methods {
		if string(m.Name()) == name {
			return m
		}
	}
	t.Fatalf("there is no method %s", name)
	return nil
}

// refuses reports whether a method names a field as wrong that has n of the unit.
func (f *fuzzed) refuses(t *testing.T, m protoreflect.MethodDescriptor, path, unit string, n int64) bool {
	t.Helper()
	req := dynamicpb.NewMessage(m.Input())
	if err := protojson.Unmarshal([]byte(limitBases[string(m.Name())]), req); err != nil {
		t.Fatalf("%s: %v", m.Name(), err)
	}
	if store := m.Input().Fields().ByName("store_id"); store != nil {
		req.Set(store, protoreflect.ValueOfString("demo"))
	}
	grow(t, req, strings.Split(path, "."), unit, n)
	raw, err := proto.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	service := string(m.Parent().FullName())
	stream, err := f.conns[service].NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/"+service+"/"+string(m.Name()), grpc.ForceCodecV2(rawCodec{}))
	if err == nil {
		err = errors.Join(stream.SendMsg(&raw), stream.CloseSend())
	}
	if err != nil {
		t.Fatal(err)
	}
	var reply []byte
	if err := stream.RecvMsg(&reply); err != nil && !errors.Is(err, io.EOF) {
		return refusedBy(t, err, path)
	}
	answer := dynamicpb.NewMessage(m.Output())
	if err := proto.Unmarshal(reply, answer); err != nil {
		t.Fatal(err)
	}
	field := answer.Descriptor().Fields().ByName("errors")
	if field == nil || !m.IsStreamingClient() {
		return false
	}
	_, ofItem, _ := strings.Cut(path, "].")
	for i := range answer.Get(field).List().Len() {
		e := answer.Get(field).List().Get(i).Message()
		get := func(name protoreflect.Name) string { return e.Get(e.Descriptor().Fields().ByName(name)).String() }
		if get("field") == ofItem || strings.Contains(get("description"), "; "+ofItem+": ") {
			return true
		}
	}
	return false
}

// refusedBy reports whether an error is about a field.
func refusedBy(t *testing.T, err error, path string) bool {
	t.Helper()
	st := status.Convert(err)
	switch st.Code() {
	case codes.InvalidArgument:
	case codes.NotFound:
		return false
	default:
		t.Errorf("%s: %v", path, st)
	}
	for _, d := range st.Details() {
		if bad, ok := d.(*errdetails.BadRequest); ok {
			return slices.ContainsFunc(bad.GetFieldViolations(), func(v *errdetails.BadRequest_FieldViolation) bool { return v.GetField() == path })
		}
	}
	return false
}

// grow gives the field at a path n characters or entries, or the value n.
func grow(t *testing.T, m protoreflect.Message, path []string, unit string, n int64) {
	t.Helper()
	step := pathStep.FindStringSubmatch(path[0])
	field := m.Descriptor().Fields().ByName(protoreflect.Name(step[1]))
	if field == nil {
		t.Fatalf("%s has no field %s", m.Descriptor().FullName(), step[1])
	}
	first := step[2] != ""
	switch {
	case len(path) > 1 && first:
		grow(t, m.Mutable(field).List().Get(0).Message(), path[1:], unit, n)
	case len(path) > 1:
		grow(t, m.Mutable(field).Message(), path[1:], unit, n)
	case unit == "characters" && first:
		m.Mutable(field).List().Set(0, protoreflect.ValueOfString(strings.Repeat("a", int(n))))
	case unit == "characters":
		m.Set(field, protoreflect.ValueOfString(strings.Repeat("a", int(n))))
	case unit == "entries" && field.IsMap():
		for i := range n {
			key := protoreflect.ValueOfString(fmt.Sprintf("k%d", i)).MapKey()
			m.Mutable(field).Map().Set(key, protoreflect.ValueOfString("v"))
		}
	case unit == "entries":
		growList(m.Mutable(field).List(), field, n)
	case field.Kind() == protoreflect.Int32Kind:
		m.Set(field, protoreflect.ValueOfInt32(int32(min(n, math.MaxInt32))))
	default:
		m.Set(field, protoreflect.ValueOfInt64(n))
	}
}

// growList adds copies of the first entry, or of an empty one, until there are n.
func growList(list protoreflect.List, field protoreflect.FieldDescriptor, n int64) {
	for int64(list.Len()) < n {
		switch {
		case field.Message() == nil:
			list.Append(protoreflect.ValueOfString(fmt.Sprintf("a%d", list.Len())))
		case list.Len() > 0:
			list.Append(protoreflect.ValueOfMessage(proto.Clone(list.Get(0).Message().Interface()).ProtoReflect()))
		default:
			list.Append(list.NewElement())
		}
	}
}

func TestLimitsOfMessages(t *testing.T) {
	documented := make(map[string]int)
	for _, row := range messageRow.FindAllStringSubmatch(limitsTable(t, "../../docs/limits.md"), -1) {
		for name := range strings.SplitSeq(row[1], ", ") {
			documented[name] = int(number(t, row[2])) * kib
		}
	}
	for name := range contractMethods() {
		short := name[strings.LastIndex(name, "/")+1:]
		want, ok := documented[short]
		if !ok {
			want = documented["all others"]
		}
		if requestBytes[name] != want {
			t.Errorf("%s takes %d bytes, the page says %d", name, requestBytes[name], want)
		}
	}
}
