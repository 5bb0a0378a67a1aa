package demo

import (
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
)

var (
	testNow = time.Date(2026, 3, 14, 9, 26, 53, 589_000_000, time.FixedZone("somewhere", 3600))
	idForm  = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
)

// datasets returns both stores at testNow.
func datasets(t *testing.T) []Dataset {
	t.Helper()
	sets, err := Load(testNow)
	if err != nil {
		t.Fatal(err)
	}
	return sets
}

// mainStore returns the outdoor store.
func mainStore(t *testing.T) Dataset {
	t.Helper()
	for _, d := range datasets(t) {
		if d.Store.GetStoreId() == "demo" {
			return d
		}
	}
	t.Fatal("no store demo")
	return Dataset{}
}

// messages returns everything in a data set.
func (d Dataset) messages() []proto.Message {
	all := []proto.Message{d.Store}
	all = appendAll(all, d.Products)
	all = appendAll(all, d.Carts)
	all = appendAll(all, d.Promotions)
	all = appendAll(all, d.Orders)
	return appendAll(all, d.Policies)
}

func appendAll[T proto.Message](all []proto.Message, items []T) []proto.Message {
	for _, item := range items {
		all = append(all, item)
	}
	return all
}

func TestStoresAreTwoWithTheirOwnCurrency(t *testing.T) {
	got := make(map[string]string)
	for _, d := range datasets(t) {
		got[d.Store.GetStoreId()] = d.Store.GetCurrencyCode()
		if d.Store.GetName() == "" || d.Store.GetDefaultLocale() == "" {
			t.Errorf("store without name or locale: %v", d.Store)
		}
		if len(d.Products) == 0 || len(d.Carts) == 0 || len(d.Promotions) == 0 || len(d.Orders) == 0 || len(d.Policies) == 0 {
			t.Errorf("store %s lacks something", d.Store.GetStoreId())
		}
	}
	if diff := cmp.Diff(map[string]string{"demo": "EUR", "tea": "GBP"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestEveryAmountIsInTheStoresCurrency(t *testing.T) {
	for _, d := range datasets(t) {
		walk(t, d, func(m proto.Message, in string) {
			if money, ok := m.(*commonv1.Money); ok {
				if money.GetCurrencyCode() != d.Store.GetCurrencyCode() || money.GetAmountMinor() < 0 {
					t.Errorf("%s: %v", in, money)
				}
			}
		})
	}
}

func TestEveryTimeIsWithinMonthsOfNow(t *testing.T) {
	times := 0
	for _, d := range datasets(t) {
		walk(t, d, func(m proto.Message, in string) {
			if ts, ok := m.(*timestamppb.Timestamp); ok {
				times++
				if away := ts.AsTime().Sub(testNow).Abs(); away > 100*24*time.Hour {
					t.Errorf("%s: %v is %v away from now", in, ts.AsTime(), away)
				}
			}
		})
	}
	if times < 100 {
		t.Errorf("%d times in all; want at least 100", times)
	}
}

// walk calls visit with every message inside a data set.
func walk(t *testing.T, d Dataset, visit func(m proto.Message, in string)) {
	t.Helper()
	for _, top := range d.messages() {
		in := jsonText(t, top)
		in = string(top.ProtoReflect().Descriptor().Name()) + " " + in[:min(60, len(in))]
		err := protorange.Range(top.ProtoReflect(), func(p protopath.Values) error {
			if m, ok := p.Index(-1).Value.Interface().(protoreflect.Message); ok {
				visit(m.Interface(), in)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func jsonText(t *testing.T, m proto.Message) string {
	t.Helper()
	text, err := protojson.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestNoTextIsARelativeTime(t *testing.T) {
	for _, d := range datasets(t) {
		for _, m := range d.messages() {
			if text := jsonText(t, m); strings.Contains(text, `"now`) {
				t.Errorf("a relative time is left in %s", text)
			}
		}
	}
}

func TestLoadIsDeterministicAndSharesNothing(t *testing.T) {
	first, second := datasets(t), datasets(t)
	if diff := cmp.Diff(first, second, protocmp.Transform()); diff != "" {
		t.Error(diff)
	}
	first[0].Products[0].Title = "changed"
	if second[0].Products[0].GetTitle() == "changed" {
		t.Error("two loads share a product")
	}
}

func TestTimesMoveWithNow(t *testing.T) {
	later, err := Load(testNow.Add(1000 * time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range datasets(t) {
		for j, o := range d.Orders {
			if got := later[i].Orders[j].GetCreateTime().AsTime().Sub(o.GetCreateTime().AsTime()); got != 1000*time.Hour {
				t.Errorf("order %s moved by %v; want 1000h", o.GetOrderId(), got)
			}
		}
	}
}

func TestDamagedFilesAreNamed(t *testing.T) {
	store := &fstest.MapFile{Data: []byte(`{"store_id":"s"}`)}
	empty := &fstest.MapFile{}
	tests := []struct {
		name  string
		files fstest.MapFS
		want  string
	}{
		{"missing file", fstest.MapFS{"stores.jsonl": store}, "s/products.jsonl"},
		{"unknown field", fstest.MapFS{"stores.jsonl": {Data: []byte("\n{\"nmae\":\"x\"}")}}, "stores.jsonl: line 2, column 2"},
		{"not quite a relative time", fstest.MapFS{"stores.jsonl": store, "s/products.jsonl": empty, "s/carts.jsonl": empty,
			"s/promotions.jsonl": {Data: []byte(`{"code":"X","start_time":"now-3w"}`)}}, "s/promotions.jsonl: line 1, column 26"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sets, err := Read(tt.files, testNow)
			if err == nil || !strings.Contains(err.Error(), tt.want) || sets != nil {
				t.Errorf("load = %v, %v; want nothing and an error with %q", sets, err, tt.want)
			}
		})
	}
}

func TestAbsoluteTimes(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"now, to the second and in UTC", `{"t":"now"}`, `{"t":"2026-03-14T08:26:53Z"}`},
		{"days back", `{"t": "now-3d"}`, `{"t": "2026-03-11T08:26:53Z"}`},
		{"days and hours ahead", `{"t":"now+2d12h"}`, `{"t":"2026-03-16T20:26:53Z"}`},
		{"all units, several in a line", `{"t":"now-1d1h1m","u":"now+45m"}`, `{"t":"2026-03-13T07:25:53Z","u":"2026-03-14T09:11:53Z"}`},
		{"a sign alone", `{"t":"now-"}`, `{"t":"now-"}`},
		{"units out of order", `{"t":"now-1h2d"}`, `{"t":"now-1h2d"}`},
		{"another unit", `{"t":"now-3w"}`, `{"t":"now-3w"}`},
		{"a word in a text", `{"t":"now-3d is soon"}`, `{"t":"now-3d is soon"}`},
		{"a quotation in a text", `{"t":"say: \"now-3d\""}`, `{"t":"say: \"now-3d\""}`},
		{"a key", `{"now":1}`, `{"now":1}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(AbsoluteTimes([]byte(tt.in), testNow)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// The rules of the stores are what their documents say, and name products that there are.
func TestOrderSettingsNameTheCatalogsProducts(t *testing.T) {
	for _, d := range datasets(t) {
		if len(d.OrderSettings) != 1 || len(d.OrderSettings[0].GetRules()) == 0 {
			t.Fatalf("%s: order settings %v, want one record with rules", d.Store.GetStoreId(), d.OrderSettings)
		}
		c := catalogOf(d)
		for _, rule := range d.OrderSettings[0].GetRules() {
			for _, id := range rule.GetExcludedProductIds() {
				if c[id] == nil {
					t.Errorf("%s: %v excludes %s, which is not in the catalog", d.Store.GetStoreId(), rule.GetKind(), id)
				}
			}
		}
	}
}
