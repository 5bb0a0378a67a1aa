package bulk_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/bulk"
	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// message is a request with words to keep.
type message struct {
	store string
	words []string
}

func (m message) GetStoreId() string    { return m.store }
func (m message) GetValidateOnly() bool { return m.store == "dry" }

// wordStore keeps words by store, but for "late". Each message is one entry.
type wordStore struct {
	kept map[string][][]string
	err  error
}

func (s *wordStore) put(_ context.Context, storeID string, words []string) error {
	if s.err != nil {
		return s.err
	}
	if s.kept == nil {
		s.kept = make(map[string][][]string)
	}
	s.kept[storeID] = append(s.kept[storeID], words)
	refused := make(bulk.Refused)
	for i, word := range words {
		if word == "late" {
			refused[i] = &fault.Invalid{Violations: []fault.Violation{{Field: "word", Description: "is late"}}}
		}
	}
	if len(refused) > 0 {
		return fmt.Errorf("keep: %w", refused)
	}
	return nil
}

// checkWord refuses an empty word, for two reasons, and "bad".
func checkWord(word string) error {
	var c fault.Checker
	switch word {
	case "":
		c.Addf("word", "is required")
		c.Addf("letters[0]", "is not there")
	case "bad":
		c.Addf("word", "is bad")
	}
	return c.Err()
}

// run sends messages and then end, which is io.EOF for a stream that its caller closes.
func run(t *testing.T, s *wordStore, end error, messages ...message) (bulk.Report, error) {
	return bulk.Upsert[message, string]{
		Field:    "words",
		MaxItems: 3,
		Items:    func(m message) []string { return m.words },
		ID:       func(word string) string { return "id-" + word },
		Check:    checkWord,
		Put:      s.put,
	}.Run(t.Context(), func() (message, error) {
		if len(messages) == 0 {
			return message{}, end
		}
		m := messages[0]
		messages = messages[1:]
		return m, nil
	})
}

func TestGoodItemsAreKeptAndTheOthersNamed(t *testing.T) {
	for name, c := range map[string]struct {
		messages []message
		want     bulk.Report
		kept     map[string][][]string
	}{
		"no message": {},
		"a message without items": {
			[]message{{store: "one"}}, bulk.Report{StoreID: "one"}, nil,
		},
		"later messages may name the store or not": {
			[]message{{"one", []string{"a", "b"}}, {"", []string{"c"}}, {"one", []string{"d"}}},
			bulk.Report{StoreID: "one", Upserted: 4},
			map[string][][]string{"one": {{"a", "b"}, {"c"}, {"d"}}},
		},
		"positions count over the whole stream": {
			[]message{{"one", []string{"a", "bad"}}, {"one", []string{"", "b"}}},
			bulk.Report{StoreID: "one", Upserted: 2, ErrorCount: 2, Errors: []*commonv1.ItemError{
				{Index: 1, ItemId: "id-bad", Field: "word", Description: "is bad"},
				{Index: 2, ItemId: "id-", Field: "word", Description: "is required; letters[0]: is not there"},
			}},
			map[string][][]string{"one": {{"a"}, {"b"}}},
		},
		"what only the writing refuses is named in its place": {
			[]message{{"one", []string{"a", "bad", "late"}}, {"one", []string{"late", "bad", "b"}}},
			bulk.Report{StoreID: "one", Upserted: 2, ErrorCount: 4, Errors: []*commonv1.ItemError{
				{Index: 1, ItemId: "id-bad", Field: "word", Description: "is bad"},
				{Index: 2, ItemId: "id-late", Field: "word", Description: "is late"},
				{Index: 3, ItemId: "id-late", Field: "word", Description: "is late"},
				{Index: 4, ItemId: "id-bad", Field: "word", Description: "is bad"},
			}},
			map[string][][]string{"one": {{"a", "late"}, {"late", "b"}}},
		},
		"nothing is written where the first message says so": {
			[]message{{"dry", []string{"a", "bad"}}, {"", []string{"b"}}},
			bulk.Report{StoreID: "dry", Upserted: 2, ErrorCount: 1, Errors: []*commonv1.ItemError{
				{Index: 1, ItemId: "id-bad", Field: "word", Description: "is bad"},
			}}, nil,
		},
		"a message without a good item is not written": {
			[]message{{"one", []string{"bad"}}},
			bulk.Report{StoreID: "one", ErrorCount: 1, Errors: []*commonv1.ItemError{
				{ItemId: "id-bad", Field: "word", Description: "is bad"},
			}}, nil,
		},
	} {
		var s wordStore
		got, err := run(t, &s, io.EOF, c.messages...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, got, protocmp.Transform(), cmpopts.IgnoreUnexported(bulk.Report{})); diff != "" {
			t.Errorf("%s: report (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(c.kept, s.kept); diff != "" {
			t.Errorf("%s: kept (-want +got):\n%s", name, diff)
		}
	}
}

func TestRefusalsAreShortHoweverMuchIsWrong(t *testing.T) {
	long := strings.Repeat("ä", 10_000)
	report, err := bulk.Upsert[message, string]{
		Field: "words", MaxItems: 1, Items: func(m message) []string { return m.words }, ID: func(word string) string { return word },
		Check: func(string) error {
			var c fault.Checker
			for i := range 100 {
				c.Addf(fmt.Sprint(i, long), "is %s", long)
			}
			return c.Err()
		},
	}.Run(t.Context(), once(message{"one", []string{long}}))
	if err != nil {
		t.Fatal(err)
	}
	got := report.Errors[0]
	if n := proto.Size(got); n > 10_000 || !strings.HasSuffix(got.GetDescription(), "; and 95 more") {
		t.Errorf("%d bytes, ending in %q", n, got.GetDescription()[max(0, len(got.GetDescription())-20):])
	}
	if !utf8.ValidString(got.GetItemId()) || !utf8.ValidString(got.GetField()) || !utf8.ValidString(got.GetDescription()) {
		t.Error("a character was cut in two")
	}
}

// once returns a stream of one message.
func once(m message) func() (message, error) {
	sent := false
	return func() (message, error) {
		if sent {
			return message{}, io.EOF
		}
		sent = true
		return m, nil
	}
}

func TestMessagesThatAreWrongEndTheStream(t *testing.T) {
	for name, c := range map[string]struct {
		messages []message
		field    string
		upserted int32
	}{
		"no store":           {[]message{{"", []string{"a"}}}, "store_id", 0},
		"a store of no form": {[]message{{"a b", []string{"a"}}}, "store_id", 0},
		"another store":      {[]message{{"one", []string{"a"}}, {"two", []string{"b"}}}, "store_id", 1},
		"too many items":     {[]message{{"one", []string{"a", "b", "c"}}, {"", []string{"a", "b", "c", "d"}}}, "words", 3},
	} {
		report, err := run(t, new(wordStore), io.EOF, c.messages...)
		var invalid *fault.Invalid
		if !errors.As(err, &invalid) || len(invalid.Violations) != 1 || invalid.Violations[0].Field != c.field {
			t.Errorf("%s: got %v, want a violation of %s", name, err, c.field)
		}
		if report.Upserted != c.upserted {
			t.Errorf("%s: %d upserted, want %d", name, report.Upserted, c.upserted)
		}
	}
}

func TestRefusalsBeyondAThousandAreCounted(t *testing.T) {
	messages := slices.Repeat([]message{{"one", []string{"bad", "bad", "bad"}}}, 400)
	report, err := run(t, new(wordStore), io.EOF, messages...)
	if err != nil || len(report.Errors) != 1_000 || report.ErrorCount != 1_200 {
		t.Fatalf("%d refusals, %d in all, %v; want 1000, 1200", len(report.Errors), report.ErrorCount, err)
	}
	if last := report.Errors[999]; last.GetIndex() != 999 {
		t.Errorf("the last refusal is at %d, want 999", last.GetIndex())
	}
}

func TestErrorsOfTheCallbacksEndTheStream(t *testing.T) {
	trouble := errors.New("trouble")
	for name, c := range map[string]struct {
		wordStore *wordStore
		end       error
	}{
		"on the wire":  {new(wordStore), fmt.Errorf("wire: %w", trouble)},
		"in the store": {&wordStore{err: trouble}, io.EOF},
	} {
		if _, err := run(t, c.wordStore, c.end, message{"one", []string{"a"}}); !errors.Is(err, trouble) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
