package weaviate

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// MaxHits is how many objects a query may return, by the server's default.
const MaxHits = 10_000

// fewHits is up to how many objects a query is expected to be fast.
const fewHits = 500

// Where is a condition on objects. The zero value holds for all.
type Where struct{ text string }

// None reports whether it holds for all.
func (w Where) None() bool { return w.text == "" }

// HasAny holds for objects that have any of the words in a property. No words: for none.
func HasAny(property string, words ...string) Where {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = quote(w)
	}
	if len(list) == 0 {
		list = []string{quote("\u0001")} // is in nothing
	}
	return Where{fmt.Sprintf("{path:[%s],operator:ContainsAny,valueText:[%s]}", quote(property), strings.Join(list, ","))}
}

// AtLeast holds for objects whose number is not below.
func AtLeast(property string, n float64) Where { return number(property, "GreaterThanEqual", n) }

// AtMost holds for objects whose number is not above.
func AtMost(property string, n float64) Where { return number(property, "LessThanEqual", n) }

func number(property, operator string, n float64) Where {
	return Where{fmt.Sprintf("{path:[%s],operator:%s,valueNumber:%s}", quote(property), operator, strconv.FormatFloat(n, 'f', -1, 64))}
}

// Is holds for objects whose flag has that value.
func Is(property string, flag bool) Where {
	return Where{fmt.Sprintf("{path:[%s],operator:Equal,valueBoolean:%t}", quote(property), flag)}
}

// All holds where every condition does.
func All(ws ...Where) Where { return combine("And", ws) }

// Any holds where one of the conditions does, and everywhere if one holds everywhere.
func Any(ws ...Where) Where {
	for _, w := range ws {
		if w.None() {
			return Where{}
		}
	}
	return combine("Or", ws)
}

func combine(operator string, ws []Where) Where {
	var texts []string
	for _, w := range ws {
		if !w.None() {
			texts = append(texts, w.text)
		}
	}
	switch len(texts) {
	case 0:
		return Where{}
	case 1:
		return Where{texts[0]}
	}
	return Where{fmt.Sprintf("{operator:%s,operands:[%s]}", operator, strings.Join(texts, ","))}
}

func (w Where) argument() string {
	if w.None() {
		return ""
	}
	return ",where:" + w.text
}

// quote writes a string as GraphQL takes it, which is as JSON does.
func quote(text string) string {
	raw, err := json.Marshal(strings.ToValidUTF8(text, ""))
	if err != nil {
		return `""` // no string fails
	}
	return string(raw)
}

// answer is that of GraphQL: by verb, and by collection or alias.
type answer struct {
	Data   map[string]map[string]json.RawMessage
	Errors failures
}

func (a *answer) verdict() error {
	if len(a.Errors) > 0 {
		return &Refused{Status: http.StatusOK, Message: a.Errors.first()}
	}
	return nil
}

func (c *Client) query(ctx context.Context, what, text string, within time.Duration) (*answer, error) {
	out := new(answer)
	err := c.do(ctx, request{what, http.MethodPost, "/v1/graphql", map[string]string{"query": text}, within}, out)
	return out, err
}

// Count returns how many objects of a tenant meet each condition.
func (c *Client) Count(ctx context.Context, collection, tenant string, conditions ...Where) ([]int, error) {
	var text strings.Builder
	text.WriteString("{Aggregate{")
	for i, w := range conditions {
		fmt.Fprintf(&text, "n%d:%s(tenant:%s%s){meta{count}}", i, collection, quote(tenant), w.argument())
	}
	text.WriteString("}}")
	a, err := c.query(ctx, "count", text.String(), longTime)
	if err != nil {
		return nil, err
	}
	out := make([]int, len(conditions))
	for i := range out {
		var groups []struct{ Meta struct{ Count int } }
		if err := json.Unmarshal(a.Data["Aggregate"]["n"+strconv.Itoa(i)], &groups); err != nil || len(groups) != 1 {
			return nil, fmt.Errorf("count: invalid response: %w", err)
		}
		out[i] = groups[0].Meta.Count
	}
	return out, nil
}

// Any reports for each condition whether any object of a tenant meets it. That is much faster than to count them.
func (c *Client) Any(ctx context.Context, collection, tenant string, conditions ...Where) ([]bool, error) {
	var text strings.Builder
	text.WriteString("{Get{")
	for i, w := range conditions {
		fmt.Fprintf(&text, "n%d:%s(tenant:%s,limit:1%s){_additional{id}}", i, collection, quote(tenant), w.argument())
	}
	text.WriteString("}}")
	a, err := c.query(ctx, "look for any", text.String(), readTime)
	if err != nil {
		return nil, err
	}
	out := make([]bool, len(conditions))
	for i := range out {
		var rows []json.RawMessage
		if err := json.Unmarshal(a.Data["Get"]["n"+strconv.Itoa(i)], &rows); err != nil {
			return nil, fmt.Errorf("look for any: invalid response: %w", err)
		}
		out[i] = len(rows) > 0
	}
	return out, nil
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
	// Properties of text that are returned.
	Properties []string
	// Vectors returns those too.
	Vectors bool
}

// Hit is an object that a query found.
type Hit struct {
	// ID is that of the object.
	ID string
	// Cosine with the vector that was given.
	Cosine float64
	// Vector of the object, when it was asked for and there is one.
	Vector []float32
	// Text has the properties.
	Text map[string]string
}

// Find returns the objects of a tenant that are wanted.
func (c *Client) Find(ctx context.Context, collection, tenant string, s Select) ([]Hit, error) {
	order, extra := "", "id"
	if len(s.Near) > 0 {
		raw, err := json.Marshal(s.Near)
		if err != nil {
			return nil, fmt.Errorf("find: %w", err)
		}
		order, extra = ",nearVector:{vector:"+string(raw)+"}", extra+" distance"
	}
	if len(s.Words) > 0 {
		properties, err := json.Marshal(s.RankedBy)
		if err != nil {
			return nil, fmt.Errorf("find: %w", err)
		}
		order += fmt.Sprintf(",bm25:{query:%s,properties:%s}", quote(strings.Join(s.Words, " ")), properties)
	}
	if s.Sort != "" {
		direction := "asc"
		if s.Descending {
			direction = "desc"
		}
		order += fmt.Sprintf(",sort:[{path:[%s],order:%s}]", quote(s.Sort), direction)
	}
	if s.Offset > 0 {
		order += fmt.Sprintf(",offset:%d", s.Offset)
	}
	if s.Vectors {
		extra += " vector"
	}
	within := readTime
	if s.Limit > fewHits {
		within = longTime
	}
	a, err := c.query(ctx, "find", fmt.Sprintf("{Get{%s(tenant:%s,limit:%d%s%s){%s _additional{%s}}}}",
		collection, quote(tenant), s.Limit, order, s.Where.argument(), strings.Join(s.Properties, " "), extra), within)
	if err != nil {
		return nil, err
	}
	var rows []map[string]json.RawMessage
	if err := json.Unmarshal(a.Data["Get"][collection], &rows); err != nil {
		return nil, fmt.Errorf("find: invalid response: %w", err)
	}
	out := make([]Hit, len(rows))
	for i, r := range rows {
		var more struct {
			ID       string
			Distance float64
			Vector   []float32
		}
		if err := json.Unmarshal(r["_additional"], &more); err != nil {
			return nil, fmt.Errorf("find: invalid response: %w", err)
		}
		out[i] = Hit{ID: more.ID, Cosine: 1 - more.Distance, Vector: more.Vector, Text: make(map[string]string, len(s.Properties))}
		for _, p := range s.Properties {
			var text string
			if json.Unmarshal(r[p], &text) == nil {
				out[i].Text[p] = text
			}
		}
	}
	return out, nil
}
