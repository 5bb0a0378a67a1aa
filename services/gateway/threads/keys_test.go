package threads

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
)

// tagOf returns the hash tag of a key, which determines its slot.
func tagOf(key string) string {
	_, rest, _ := strings.Cut(key, "{")
	tag, _, _ := strings.Cut(rest, "}")
	return tag
}

func TestKeysOfAThreadShareASlotAndThreadsSpread(t *testing.T) {
	tags := map[string]bool{}
	for i := range 1000 {
		id := fmt.Sprintf("thr_%d", i)
		tag := tagOf(threadKey("demo", id))
		for _, key := range []string{
			messagesKey("demo", id), turnsKey("demo", id), requestsKey("demo", id), threadQueue("demo", id),
			journalKey("demo", id, "r1"), requestQueue("demo", id, "r1"), turnKey("demo", turnID(id, fmt.Sprint("x", i))),
		} {
			if tagOf(key) != tag {
				t.Errorf("%s is not in the slot of thread %s, {%s}", key, id, tag)
			}
		}
		tags[tag] = true
	}
	if len(tags) < 500 {
		t.Errorf("1000 threads are in %d slots", len(tags))
	}
	for _, key := range []func(storeID, id string) string{claimKey, customerKey, turnKey} {
		a, b := key("demo", "a"), key("demo", "b")
		if a == b || tagOf(a) == tagOf(key("other", "a")) {
			t.Errorf("keys %s and %s", a, b)
		}
	}
}

// A field that is added to AskRequest must be added to Hash, or else a reused request id goes unnoticed.
func TestHashCoversEveryFieldButTheRequestID(t *testing.T) {
	req := &gatewayv1.AskRequest{
		StoreId: "demo", Message: "shoes?", CustomerId: "ann", CustomerGroups: []string{"vip", "staff"}, CartId: "c1",
		ThreadId: "t1", RequestId: "r1", Locale: "en",
	}
	base, fields := Hash(req), req.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		changed := proto.CloneOf(req)
		switch {
		case field.IsList() && field.Kind() == protoreflect.StringKind:
			changed.ProtoReflect().Mutable(field).List().Append(protoreflect.ValueOfString("x"))
		case field.Kind() == protoreflect.StringKind:
			changed.ProtoReflect().Set(field, protoreflect.ValueOfString("x"))
		default:
			t.Fatalf("%s: extend this test for fields of kind %s", field.Name(), field.Kind())
		}
		if covered := Hash(changed) != base; covered != (field.Name() != "request_id") {
			t.Errorf("%s: covered is %v", field.Name(), covered)
		}
	}
}

func TestHashTellsValuesApart(t *testing.T) {
	seen := map[string]*gatewayv1.AskRequest{}
	for _, req := range []*gatewayv1.AskRequest{
		{}, {StoreId: "ab"}, {StoreId: "a", Message: "b"}, {Message: "ab"}, {CustomerGroups: []string{"ab"}},
		{CustomerGroups: []string{"a", "b"}}, {CustomerGroups: []string{"b", "a"}}, {CustomerGroups: []string{"a"}, CartId: "b"},
		{CustomerGroups: []string{""}},
	} {
		if other := seen[Hash(req)]; other != nil {
			t.Errorf("%v and %v have one hash", req, other)
		}
		seen[Hash(req)] = req
	}
}

// The hash must never change: gateways of different releases share a Redis.
func TestHashIsStable(t *testing.T) {
	got := Hash(&gatewayv1.AskRequest{StoreId: "demo", Message: "shoes?", CustomerGroups: []string{"vip"}, ThreadId: "t1"})
	if want := "eb3b7adc2a9dba525139f98d5e25a7c0d83083c0cb8e01c548ee1e21ec870936"; got != want {
		t.Errorf("hash %s, want %s", got, want)
	}
}

func TestBucketsAreNames(t *testing.T) {
	var all []string
	for i := range 20_000 {
		if b := bucketOf(fmt.Sprint(i)); !slices.Contains(all, b) {
			all = append(all, b)
		}
	}
	if len(all) != 1024 {
		t.Errorf("%d buckets", len(all))
	}
}
