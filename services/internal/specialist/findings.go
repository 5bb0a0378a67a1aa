package specialist

import (
	"encoding/json"
	"errors"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"
)

// findingsJSON is how findings are kept in a bundle. Messages are protojson.
type findingsJSON struct {
	Products   []json.RawMessage    `json:"products,omitempty"`
	Promotions []json.RawMessage    `json:"promotions,omitempty"`
	Orders     [][2]json.RawMessage `json:"orders,omitempty"` // with their possible actions
	Passages   []json.RawMessage    `json:"passages,omitempty"`
	Actions    []json.RawMessage    `json:"actions,omitempty"`
	Compared   []json.RawMessage    `json:"compared,omitempty"` // one or none
	Question   []json.RawMessage    `json:"question,omitempty"`
	NotMine    []json.RawMessage    `json:"not_mine,omitempty"`
	Ordered    []string             `json:"ordered,omitempty"`
	Found      int                  `json:"found,omitempty"`
	Empty      int                  `json:"empty,omitempty"`
	Near       int                  `json:"near,omitempty"`
	Absent     int                  `json:"absent,omitempty"`
}

// MarshalJSON implements [json.Marshaler].
func (f *Findings) MarshalJSON() ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	j := findingsJSON{Ordered: f.ordered, Found: f.found, Empty: f.empty, Near: f.near, Absent: f.absent}
	err := errors.Join(
		encodeAll(&j.Products, f.products...), encodeAll(&j.Promotions, f.promotions...), encodeAll(&j.Passages, f.passages...),
		encodeAll(&j.Actions, f.actions...), encodeAll(&j.Compared, present(f.compared)...),
		encodeAll(&j.Question, present(f.question)...), encodeAll(&j.NotMine, present(f.notMine)...),
	)
	for _, o := range f.orders {
		order, e1 := protojson.Marshal(o.order)
		actions, e2 := protojson.Marshal(o.actions)
		err = errors.Join(err, e1, e2)
		j.Orders = append(j.Orders, [2]json.RawMessage{order, actions})
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(j)
}

// UnmarshalJSON implements [json.Unmarshaler]. It replaces all findings.
func (f *Findings) UnmarshalJSON(raw []byte) error {
	var j findingsJSON
	if err := json.Unmarshal(raw, &j); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var compared []*specialistv1.Comparison
	var question []*specialistv1.ClarifyingQuestion
	var notMine []*specialistv1.NotMine
	err := errors.Join(
		decodeAll(&f.products, j.Products), decodeAll(&f.promotions, j.Promotions), decodeAll(&f.passages, j.Passages),
		decodeAll(&f.actions, j.Actions), decodeAll(&compared, j.Compared), decodeAll(&question, j.Question), decodeAll(&notMine, j.NotMine),
	)
	f.compared, f.question, f.notMine = last(compared), last(question), last(notMine)
	f.orders = nil
	for _, raw := range j.Orders {
		o := foundOrder{&orderv1.Order{}, &orderv1.OrderActions{}}
		err = errors.Join(err, protojson.Unmarshal(raw[0], o.order), protojson.Unmarshal(raw[1], o.actions))
		f.orders = append(f.orders, o)
	}
	f.ordered, f.found, f.empty, f.near, f.absent = j.Ordered, j.Found, j.Empty, j.Near, j.Absent
	return err
}

func encodeAll[T proto.Message](to *[]json.RawMessage, all ...T) error {
	for _, m := range all {
		raw, err := protojson.Marshal(m)
		if err != nil {
			return err
		}
		*to = append(*to, raw)
	}
	return nil
}

func decodeAll[T proto.Message](to *[]T, all []json.RawMessage) error {
	*to = nil
	for _, raw := range all {
		var zero T
		m := zero.ProtoReflect().New().Interface().(T)
		if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(raw, m); err != nil {
			return err
		}
		*to = append(*to, m)
	}
	return nil
}

// present returns a message as a list, which is empty for nil.
func present[T any](m *T) []*T {
	if m == nil {
		return nil
	}
	return []*T{m}
}

// last returns the last of a list, or nil.
func last[T any](all []*T) *T {
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}
