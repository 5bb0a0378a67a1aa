package search

import (
	"bytes"
	"io"
	"iter"

	"google.golang.org/protobuf/types/known/structpb"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/jsonl"
)

// Products yields the products of JSON Lines, plain or gzip: lines of quartet.catalog.v1.Product as 'quartet load' takes
// them, or data sheets, as docs/evaluation.md maps them. The first line tells which. A line that can not be read is
// yielded as a *jsonl.LineError and reading goes on; any other error is the last.
func Products(r io.Reader) iter.Seq2[jsonl.Line[*catalogv1.Product], error] {
	return func(yield func(jsonl.Line[*catalogv1.Product], error) bool) {
		in, err := plain(r)
		if err != nil {
			yield(jsonl.Line[*catalogv1.Product]{}, err)
			return
		}
		start, _ := in.Peek(peeked)
		first, _, _ := bytes.Cut(bytes.TrimSpace(start), []byte("\n"))
		if bytes.Contains(first, []byte(`"product_id"`)) || bytes.Contains(first, []byte(`"productId"`)) {
			jsonl.Read(in, func() *catalogv1.Product { return new(catalogv1.Product) }, jsonl.Config{})(yield)
			return
		}
		for line, err := range jsonl.Read(in, func() *structpb.Struct { return new(structpb.Struct) }, jsonl.Config{}) {
			out := jsonl.Line[*catalogv1.Product]{Number: line.Number}
			if err == nil {
				out.Item = sheet(line.Item.GetFields()).product()
			}
			if !yield(out, err) {
				return
			}
		}
	}
}
