package suite

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// generator makes messages of any type: some that a service takes, some at its limits and beyond, some that are no messages.
type generator struct{ *rand.Rand }

func newGenerator(seed uint64) generator { return generator{rand.New(rand.NewPCG(seed, seed))} }

// chance is true once in n times.
func (g generator) chance(n int) bool { return g.IntN(n) == 0 }

// pick returns one of the values.
func pick[T any](g generator, values ...T) T { return values[g.IntN(len(values))] }

// largestRequest is the size in bytes above which a request tells nothing new: twice what any service takes. Without it, long lists
// of long lists of long texts make requests of gigabytes, and the test itself runs out of memory.
const largestRequest = 32 * mib

// request returns the bytes of a request.
func (g generator) request(d protoreflect.MessageDescriptor) []byte {
	m := dynamicpb.NewMessage(d)
	g.fill(m, 0)
	for proto.Size(m) > largestRequest {
		m = dynamicpb.NewMessage(d)
		g.fill(m, 0)
	}
	raw, err := proto.MarshalOptions{AllowPartial: true}.Marshal(m)
	if err != nil {
		raw = []byte("\x0a\x03\xff\xfe\xfd") // a text that is not UTF-8 is not marshalled
	}
	if g.chance(5) {
		raw = g.damage(raw)
	}
	return raw
}

// fill sets fields of a message. Most of the time it sets most of them to what looks right.
func (g generator) fill(m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	wild := g.chance(3) // else at most a field here and there is odd
	for i := range fields.Len() {
		f := fields.Get(i)
		required := f.Name() == "store_id" || f.Name() == "store"
		if !required && g.chance(4) || depth > 6 || f.ContainingOneof() != nil && !f.HasOptionalKeyword() && g.chance(2) {
			continue
		}
		odd := wild && g.chance(3) || g.chance(30)
		switch {
		case f.IsMap():
			entries := m.Mutable(f).Map()
			for range g.count(odd) {
				entries.Set(g.scalar(f.MapKey(), odd).MapKey(), g.value(f.MapValue(), entries.NewValue, odd, depth))
			}
		case f.IsList():
			g.fillList(m.Mutable(f).List(), f, odd, depth)
		default:
			m.Set(f, g.value(f, func() protoreflect.Value { return m.NewField(f) }, odd, depth))
		}
	}
}

// fillList adds elements, once in a while very many of them: all empty, or all the same.
func (g generator) fillList(list protoreflect.List, f protoreflect.FieldDescriptor, odd bool, depth int) {
	n := g.count(odd)
	if odd && n > 10 {
		same := list.NewElement()
		if g.chance(2) {
			same = g.value(f, list.NewElement, odd, depth)
		}
		n = min(n, largestRequest/elementSize(f, same))
		for range n {
			list.Append(same)
		}
		return
	}
	for range n {
		list.Append(g.value(f, list.NewElement, odd, depth))
	}
}

// elementSize is the size in bytes of an element, at least 1.
func elementSize(f protoreflect.FieldDescriptor, v protoreflect.Value) int {
	if f.Message() != nil {
		return 1 + proto.Size(v.Message().Interface())
	}
	return 1 + len(v.String())
}

// count returns how many elements a list gets.
func (g generator) count(odd bool) int {
	if odd {
		return pick(g, 0, 1, 2, 20, 21, 64, 65, 200, 201, 1_000, 1_001, 5_000)
	}
	return g.IntN(4)
}

func (g generator) value(f protoreflect.FieldDescriptor, empty func() protoreflect.Value, odd bool, depth int) protoreflect.Value {
	if f.Message() == nil {
		return g.scalar(f, odd)
	}
	v := empty()
	switch f.Message().FullName() {
	case "google.protobuf.Timestamp":
		g.set(v.Message(), "seconds", protoreflect.ValueOfInt64(g.integer(odd, 1_800_000_000)))
		g.set(v.Message(), "nanos", protoreflect.ValueOfInt32(int32(g.integer(odd, 0))))
	case "google.protobuf.Duration":
		g.set(v.Message(), "seconds", protoreflect.ValueOfInt64(g.integer(odd, 86_400)))
	default:
		g.fill(v.Message(), depth+1)
	}
	return v
}

func (g generator) set(m protoreflect.Message, field protoreflect.Name, v protoreflect.Value) {
	m.Set(m.Descriptor().Fields().ByName(field), v)
}

// integer returns usual, or else a number at an end or near zero.
func (g generator) integer(odd bool, usual int64) int64 {
	if !odd {
		return usual
	}
	return pick[int64](g, 0, 1, -1, 2, 100, 101, 999, 1_000, math.MaxInt32, math.MinInt32, math.MaxInt64, math.MinInt64, 1_000_000_000_001)
}

func (g generator) scalar(f protoreflect.FieldDescriptor, odd bool) protoreflect.Value {
	usual := int64(g.IntN(5) + 1)
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(g.chance(2))
	case protoreflect.EnumKind:
		if odd {
			return protoreflect.ValueOfEnum(protoreflect.EnumNumber(pick[int32](g, -1, 0, 99, math.MaxInt32)))
		}
		values := f.Enum().Values()
		return protoreflect.ValueOfEnum(values.Get(g.IntN(values.Len())).Number())
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(g.integer(odd, usual)))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(g.integer(odd, usual*100))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(g.integer(odd, usual)))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(uint64(g.integer(odd, usual)))
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(float32(g.float(odd)))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(g.float(odd))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(g.text(string(f.Name()), odd)))
	}
	return protoreflect.ValueOfString(g.text(string(f.Name()), odd))
}

func (g generator) float(odd bool) float64 {
	if !odd {
		return float64(g.IntN(5))
	}
	return pick(g, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, math.Copysign(0, -1), 1e15)
}

// odd texts: blank, hidden, in other scripts, of other languages of machines, at limits and beyond, and not UTF-8.
var oddTexts = []string{
	"", " ", "\t\n", "\x00", "a\x00b", "\u200b", "\u202e\u2066rtl", "\ufeff", "e\u0301", "İSTANBUL", "ﬀ", "½", "٣", "日本語の靴", "👟🏽‍♂️", "a/b", "../../etc",
	"*", "?", "[a-", "{{.}}", "%s%n", "'; DROP TABLE x; --", "<script>alert(1)</script>", `{"a":`, "\\", "-", ".", "NaN", "9999999999999999999999", "-1", "1e309",
	"{x}", "quartet:stores", "de-AT-x-y-z", "\xff\xfe", "ok\xc3",
}

// text returns what fits a field of that name, or an odd text.
func (g generator) text(field string, odd bool) string {
	if odd {
		if g.chance(3) {
			unit := pick(g, "a", "ä", "shoe ", "👟", "12 ", "and ", "\u0301", "(", "not ")
			return strings.Repeat(unit, pick(g, 40, 41, 64, 65, 200, 201, 1_000, 1_001, 8_000, 8_001, 50_000)/len([]rune(unit)))
		}
		return pick(g, oddTexts...)
	}
	switch {
	case field == "store_id":
		return pick(g, "demo", "demo", "demo", "other")
	case field == "customer_id":
		return pick(g, "ava", "ben", "")
	case strings.HasSuffix(field, "product_id"), strings.HasSuffix(field, "product_ids"), field == "complement_ids":
		return pick(g, "P1", "P2", "P3")
	case strings.HasSuffix(field, "_id"):
		return pick(g, "a1", "b2", "c3")
	case field == "currency_code":
		return pick(g, "EUR", "EUR", "EUR", "USD")
	case field == "code":
		return pick(g, "SAVE10", "SAVE20")
	case strings.HasSuffix(field, "codes"):
		return pick(g, "SAVE10", "SAVE20")
	case strings.HasSuffix(field, "locale"), field == "language":
		return pick(g, "en", "de-AT", "")
	case strings.HasSuffix(field, "url"), strings.HasSuffix(field, "urls"):
		return "https://shop.example/a"
	case field == "specialist", field == "name":
		return pick(g, "search", "support", "size", "color")
	}
	return pick(g, "red running shoes", "where is my order?", "return policy", "is there a coupon for my cart?", "size", "color", "shoes", "Stride")
}

// damage breaks the encoding of a message.
func (g generator) damage(raw []byte) []byte {
	raw = slices.Clone(raw)
	switch g.IntN(7) {
	case 0: // the end is missing
		return raw[:len(raw)-min(len(raw), g.IntN(9))]
	case 1: // some bytes differ
		for range 1 + g.IntN(8) {
			if len(raw) > 0 {
				raw[g.IntN(len(raw))] = byte(g.UintN(256))
			}
		}
	case 2: // twice, which merges the two
		return append(raw, raw...)
	case 3: // unknown fields, of all wire types
		raw = protowire.AppendVarint(protowire.AppendTag(raw, 500, protowire.VarintType), math.MaxUint64)
		raw = protowire.AppendFixed32(protowire.AppendTag(raw, 501, protowire.Fixed32Type), 1)
		return protowire.AppendBytes(protowire.AppendTag(raw, 502, protowire.BytesType), make([]byte, 1_000))
	case 4: // groups in groups
		for range 20_000 {
			raw = protowire.AppendTag(raw, 503, protowire.StartGroupType)
		}
	case 5: // a field of another wire type
		return protowire.AppendVarint(protowire.AppendTag(raw, protowire.Number(1+g.IntN(10)), protowire.VarintType), 7)
	case 6: // very many empty elements
		for range 100_000 {
			raw = append(raw, byte(2+g.IntN(3))<<3|2, 0)
		}
	}
	return raw
}
