package jsonl

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
)

func newProduct() *catalogv1.Product { return new(catalogv1.Product) }

// read returns what Read yields, one string a line: "1 id" for a message, the error's text otherwise.
func read(r io.Reader, limit int) (got []string, errs []error) {
	for line, err := range Read(r, newProduct, Config{MaxLineBytes: limit}) {
		if err != nil {
			got, errs = append(got, err.Error()), append(errs, err)
			continue
		}
		got = append(got, fmt.Sprintf("%d %s", line.Number, line.Item.GetProductId()))
	}
	return got, errs
}

func TestRead(t *testing.T) {
	long := `{"product_id": "` + strings.Repeat("x", 50) + `"}`
	tests := []struct {
		name, in string
		limit    int
		want     []string
	}{
		{name: "empty input", in: ""},
		{name: "both forms of field names", in: `{"product_id":"a"}` + "\n" + `{"productId":"b"}` + "\n",
			want: []string{"1 a", "2 b"}},
		{name: "blank lines count but yield nothing", in: "\n  \t\n{\"product_id\":\"a\"}\n\n", want: []string{"3 a"}},
		{name: "last line without an end", in: `{"product_id":"a"}`, want: []string{"1 a"}},
		{name: "byte order mark and CRLF", in: "\xef\xbb\xbf{\"product_id\":\"a\"}\r\n\r\n{\"product_id\":\"b\"}\r\n",
			want: []string{"1 a", "3 b"}},
		{name: "unknown field does not stop the rest", in: `{"prize":1}` + "\n" + `{"product_id":"b"}`,
			want: []string{`line 1, column 2: unknown field "prize", in "{\"prize\":1}"`, "2 b"}},
		{name: "wrong type", in: `{"product_id":"a","tags":"x"}`,
			want: []string{`line 1, column 26: syntax error: unexpected token "x", in "{\"product_id\":\"a\",\"tags\":\"x\"}"`}},
		{name: "no object", in: "[]\nnull\n7", want: []string{
			`line 1, column 1: a list; write one object a line, as jq -c '.[]' does, in "[]"`,
			`line 2, column 1: syntax error: unexpected token null, in "null"`,
			`line 3, column 1: syntax error: unexpected token 7, in "7"`}},
		{name: "two messages on a line", in: `{"product_id":"a"} {"product_id":"b"}`, want: []string{
			`line 1, column 20: syntax error: unexpected token {, in "{\"product_id\":\"a\"} {\"product_id\":\"b\"}"`}},
		{name: "message cut short", in: `{"product_id":"a"`, want: []string{
			`line 1: the line ends before its message does, in "{\"product_id\":\"a\""`}},
		{name: "invalid UTF-8 with its place", in: "{\"title\":\"é\xff\"}\n{\"product_id\":\"b\"}", want: []string{
			`line 1, column 12: invalid UTF-8, in "{\"title\":\"é�\"}"`, "2 b"}},
		{name: "long line is passed over whole", in: long + "\n" + `{"product_id":"b"}` + "\n" + long, limit: 20,
			want: []string{
				`line 1: the line is too long: the limit is 20 bytes, in "{\"product_id\": \"xxxxxx"`,
				"2 b",
				`line 3: the line is too long: the limit is 20 bytes, in "{\"product_id\": \"xxxxxx"`}},
		{name: "line of exactly the limit", in: `{"product_id":"ab"}` + "\r\n", limit: 19, want: []string{"1 ab"}},
		{name: "line of one more", in: `{"product_id":"abc"}` + "\r\n", limit: 19, want: []string{
			`line 1: the line is too long: the limit is 19 bytes, in "{\"product_id\":\"abc\"}"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for name, r := range map[string]io.Reader{
				"at once": strings.NewReader(tt.in), "a byte at a time": iotest.OneByteReader(strings.NewReader(tt.in)),
			} {
				if got, _ := read(r, tt.limit); !cmp.Equal(tt.want, got) {
					t.Errorf("%s: %s", name, cmp.Diff(tt.want, got))
				}
			}
		})
	}
}

func TestReadEndsAtAReadError(t *testing.T) {
	broken := errors.New("the disk is gone")
	r := io.MultiReader(strings.NewReader("{\"product_id\":\"a\"}\n{\"product_id\":"), iotest.ErrReader(broken))
	got, errs := read(r, 0)
	if want := []string{"1 a", "read line 2: the disk is gone"}; !cmp.Equal(want, got) {
		t.Error(cmp.Diff(want, got))
	}
	if len(errs) != 1 || !errors.Is(errs[0], broken) || errors.As(errs[0], new(*LineError)) {
		t.Errorf("errors = %v; want the reader's own error, not a LineError", errs)
	}
}

func TestReadStopsWhenTheCallerDoes(t *testing.T) {
	seen := 0
	for range Read(strings.NewReader("{}\nbad\n{}\n{}"), newProduct, Config{}) {
		if seen++; seen == 2 {
			break
		}
	}
	if seen != 2 {
		t.Errorf("yielded %d times after a break at 2", seen)
	}
}

func TestReadWorksAcrossBufferBoundaries(t *testing.T) {
	want := make([]string, 0, 40)
	var in strings.Builder
	for i := range 40 {
		fmt.Fprintf(&in, `{"product_id":"p%d","description":%q}`+"\n", i, strings.Repeat("d", i*4001))
		want = append(want, fmt.Sprintf("%d p%d", i+1, i))
	}
	if got, _ := read(strings.NewReader(in.String()), 0); !cmp.Equal(want, got) {
		t.Error(cmp.Diff(want, got))
	}
}

func TestLineErrorShowsTheTextAroundTheFault(t *testing.T) {
	in := `{"description":"` + strings.Repeat("é", 500) + `","prize":` + strings.Repeat("1", 500) + `}`
	_, errs := read(strings.NewReader(in), 0)
	var e *LineError
	if len(errs) != 1 || !errors.As(errs[0], &e) {
		t.Fatalf("errors = %v; want one LineError", errs)
	}
	if e.Column != 519 || !strings.Contains(e.Text, `"prize":111`) || utf8.RuneCountInString(e.Text) > excerptChars+2 {
		t.Errorf("column %d, text %q", e.Column, e.Text)
	}
}

func TestLineErrorIsShortHoweverLongTheToken(t *testing.T) {
	in := `{"stock":"` + strings.Repeat("9", 1<<20) + `"}` + "\n" + `{"variants":[{"stock":"` + strings.Repeat("9", 1<<20) + `"}]}`
	_, errs := read(strings.NewReader(in), 0)
	if len(errs) != 2 {
		t.Fatalf("%d errors; want 2", len(errs))
	}
	for _, err := range errs {
		if n := len(err.Error()); n > 1000 {
			t.Errorf("error of %d bytes", n)
		}
	}
}

func TestMemoryIsBoundedByTheLimit(t *testing.T) {
	r := io.LimitReader(endless{}, 64<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, errs := read(r, 4<<10)
	runtime.ReadMemStats(&after)
	if len(errs) != 1 || !errors.Is(errs[0], ErrLineTooLong) {
		t.Fatalf("errors = %v; want one ErrLineTooLong", errs)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("allocated %d bytes for a line of 64 MiB under a limit of 4 KiB", got)
	}
}

// endless is a line that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("{\"product_id\":\"a\"}\n\n{\"prize\":1}\r\nnull"), 64)
	f.Add([]byte("\xef\xbb\xbf{}\n\xff\n{\"variants\":[{\"price\":{\"amount_minor\":\"1\"}}]}"), 16)
	f.Add([]byte("{\"title\":\"\\ud800\"}\n{\"tags\":[[[[[[\n"), 3)
	f.Fuzz(func(t *testing.T, in []byte, limit int) {
		limit = max(1, limit%256)
		total := strings.Count(string(in), "\n") + 1
		previous := 0
		for line, err := range Read(iotest.HalfReader(strings.NewReader(string(in))), newProduct, Config{MaxLineBytes: limit}) {
			if line.Number <= previous || line.Number > total {
				t.Fatalf("line %d after line %d of %d", line.Number, previous, total)
			}
			previous = line.Number
			if err == nil {
				checkRoundTrip(t, line.Item)
				continue
			}
			var e *LineError
			if !errors.As(err, &e) || e.Line != line.Number || e.Err == nil || line.Item != nil {
				t.Fatalf("line %d: error %#v, item %v", line.Number, err, line.Item)
			}
			if len(err.Error()) > 4000 || !utf8.ValidString(err.Error()) {
				t.Fatalf("line %d: error of %d bytes: %q", line.Number, len(err.Error()), err)
			}
		}
	})
}

func checkRoundTrip(t *testing.T, item *catalogv1.Product) {
	t.Helper()
	text, err := protojson.Marshal(item)
	if err != nil {
		t.Fatalf("marshal what was read: %v", err)
	}
	again := new(catalogv1.Product)
	if err := protojson.Unmarshal(text, again); err != nil {
		t.Fatalf("read again: %v", err)
	}
	if !proto.Equal(item, again) { // Unlike cmp, NaN equals NaN.
		t.Fatalf("round trip: %s", cmp.Diff(item, again, protocmp.Transform()))
	}
}
