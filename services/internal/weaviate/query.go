package weaviate

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/quartet-commerce/quartet/services/internal/weaviate/weaviatepb"
)

// MaxHits is how many objects a query may return, by the server's default.
const MaxHits = 10_000

// fewHits is up to how many objects a query is expected to be fast.
const fewHits = 500

// Where is a condition on objects. The zero value holds for all.
type Where struct{ filter *weaviatepb.Filter }

// None reports whether it holds for all.
func (w Where) None() bool { return w.filter == nil }

// HasAny holds for objects that have any of the words in a property. No words: for none.
func HasAny(property string, words ...string) Where {
	list := []string{"\u0001"} // is in nothing
	if len(words) > 0 {
		list = make([]string, len(words))
		for i, w := range words {
			list[i] = strings.ToValidUTF8(w, "")
		}
	}
	return on(property, &weaviatepb.Filter{
		Operator: weaviatepb.Filter_OPERATOR_CONTAINS_ANY, Value: &weaviatepb.Filter_Texts{Texts: &weaviatepb.Texts{Values: list}},
	})
}

// AtLeast holds for objects whose number is not below.
func AtLeast(property string, n float64) Where {
	return on(property, &weaviatepb.Filter{
		Operator: weaviatepb.Filter_OPERATOR_GREATER_THAN_EQUAL, Value: &weaviatepb.Filter_Number{Number: n},
	})
}

// AtMost holds for objects whose number is not above.
func AtMost(property string, n float64) Where {
	return on(property, &weaviatepb.Filter{
		Operator: weaviatepb.Filter_OPERATOR_LESS_THAN_EQUAL, Value: &weaviatepb.Filter_Number{Number: n},
	})
}

// Is holds for objects whose flag has that value.
func Is(property string, flag bool) Where {
	return on(property, &weaviatepb.Filter{Operator: weaviatepb.Filter_OPERATOR_EQUAL, Value: &weaviatepb.Filter_Flag{Flag: flag}})
}

func on(property string, f *weaviatepb.Filter) Where {
	f.Target = &weaviatepb.Target{Property: property}
	return Where{f}
}

// All holds where every condition does.
func All(ws ...Where) Where { return combine(weaviatepb.Filter_OPERATOR_AND, ws) }

// Any holds where one of the conditions does, and everywhere if one holds everywhere.
func Any(ws ...Where) Where {
	for _, w := range ws {
		if w.None() {
			return Where{}
		}
	}
	return combine(weaviatepb.Filter_OPERATOR_OR, ws)
}

func combine(operator weaviatepb.Filter_Operator, ws []Where) Where {
	var all []*weaviatepb.Filter
	for _, w := range ws {
		if !w.None() {
			all = append(all, w.filter)
		}
	}
	switch len(all) {
	case 0:
		return Where{}
	case 1:
		return Where{all[0]}
	}
	return Where{&weaviatepb.Filter{Operator: operator, Filters: all}}
}

// Count returns how many objects of a tenant meet each condition.
func (c *Client) Count(ctx context.Context, collection, tenant string, conditions ...Where) ([]int, error) {
	out := make([]int, len(conditions))
	err := atOnce(ctx, conditions, func(ctx context.Context, i int, w Where) error {
		reply := new(weaviatepb.AggregateReply)
		err := c.invoke(ctx, "count", "Aggregate", longTime, &weaviatepb.AggregateRequest{
			Collection: collection, Tenant: tenant, ObjectsCount: true, Filters: w.filter,
		}, reply)
		out[i] = int(reply.GetSingleResult().GetObjectsCount())
		return err
	})
	return out, err
}

// Any reports for each condition whether any object of a tenant meets it. That is much faster than to count them.
func (c *Client) Any(ctx context.Context, collection, tenant string, conditions ...Where) ([]bool, error) {
	out := make([]bool, len(conditions))
	err := atOnce(ctx, conditions, func(ctx context.Context, i int, w Where) error {
		reply, err := c.search(ctx, "look for any", readTime, &weaviatepb.SearchRequest{
			Collection: collection, Tenant: tenant, Limit: 1, Filters: w.filter, Properties: &weaviatepb.Properties{}, Metadata: &weaviatepb.Metadata{Uuid: true},
		})
		out[i] = len(reply.GetResults()) > 0
		return err
	})
	return out, err
}

// atOnce asks for all conditions at the same time.
func atOnce(ctx context.Context, conditions []Where, ask func(context.Context, int, Where) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for i, w := range conditions {
		group.Go(func() error { return ask(ctx, i, w) })
	}
	return group.Wait()
}

func (c *Client) search(ctx context.Context, what string, within time.Duration, q *weaviatepb.SearchRequest) (*weaviatepb.SearchReply, error) {
	q.Uses_127Api = true
	reply := new(weaviatepb.SearchReply)
	err := c.invoke(ctx, what, "Search", within, q, reply)
	return reply, err
}

// Select says which objects are wanted.
type Select struct {
	// Where they meet this.
	Where Where
	// Near orders them by the cosine with this vector, the nearest first, and leaves out those without one. Empty: no order.
	Near []float32
	// Words order them by BM25, the best first, and leave out those without any of the words. Empty: no order.
	Words []string
	// RankedBy are the properties whose scores are added up, such as "title", or "title^6" to count it six times. The server takes whole
	// numbers only, and 0 for others.
	RankedBy []string
	// Sort is a number that they are ordered by. Empty: by nothing.
	Sort       string
	Descending bool
	// Limit is how many, after Offset; both together are at most MaxHits.
	Limit, Offset int
	// Properties of text that are returned. None: the server is much faster, since it does not decode the objects.
	Properties []string
	// Vectors returns those too.
	Vectors bool
}

// Hit is an object that a query found.
type Hit struct {
	// ID is that of the object.
	ID uuid.UUID
	// Cosine with the vector that was given.
	Cosine float64
	// Vector of the object, when it was asked for and there is one.
	Vector []float32
	// Text has the properties.
	Text map[string]string
}

// Find returns the objects of a tenant that are wanted.
func (c *Client) Find(ctx context.Context, collection, tenant string, s Select) ([]Hit, error) {
	q := &weaviatepb.SearchRequest{
		Collection: collection, Tenant: tenant, Limit: uint32(s.Limit), Offset: uint32(s.Offset), Filters: s.Where.filter,
		Properties: &weaviatepb.Properties{Names: s.Properties}, Metadata: &weaviatepb.Metadata{Uuid: true, Vector: s.Vectors, Distance: len(s.Near) > 0},
	}
	if len(s.Near) > 0 {
		q.NearVector = &weaviatepb.NearVector{Vector: vectorBytes(s.Near)}
	}
	if len(s.Words) > 0 {
		q.Bm25Search = &weaviatepb.BM25{Query: strings.ToValidUTF8(strings.Join(s.Words, " "), ""), Properties: s.RankedBy}
	}
	if s.Sort != "" {
		q.SortBy = []*weaviatepb.Sort{{Ascending: !s.Descending, Path: []string{s.Sort}}}
	}
	within := readTime
	if s.Limit > fewHits {
		within = longTime
	}
	reply, err := c.search(ctx, "find", within, q)
	if err != nil {
		return nil, err
	}
	out := make([]Hit, len(reply.GetResults()))
	for i, r := range reply.GetResults() {
		m := r.GetMetadata()
		if n := len(m.GetId()); n == 0 || n > len(out[i].ID) {
			return nil, fmt.Errorf("find: invalid response: an id of %d bytes", n)
		}
		out[i] = Hit{Cosine: 1 - float64(m.GetDistance()), Vector: vectorOf(m.GetVector())}
		copy(out[i].ID[len(out[i].ID)-len(m.GetId()):], m.GetId()) // the server leaves out zeros at the beginning
		if len(s.Properties) > 0 {
			out[i].Text = make(map[string]string, len(s.Properties))
			for name, value := range r.GetProperties().GetFields().GetFields() {
				out[i].Text[name] = value.GetText()
			}
		}
	}
	return out, nil
}

func vectorBytes(v []float32) []byte {
	out := make([]byte, 0, 4*len(v))
	for _, x := range v {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
	}
	return out
}

func vectorOf(raw []byte) []float32 {
	var out []float32
	for ; len(raw) >= 4; raw = raw[4:] {
		out = append(out, math.Float32frombits(binary.LittleEndian.Uint32(raw)))
	}
	return out
}
