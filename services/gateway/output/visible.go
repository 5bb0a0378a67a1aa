package output

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// Visible returns a text without characters that have no shape, such as bidirectional marks and tag characters, by the same rule as
// for tool results. Joiners and selectors stay where a script or an emoji needs them: one at a time, they carry no text.
func Visible(s string) string {
	if isPlainASCII(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	last := rune(0) // written last
	for i, r := range s {
		n := utf8.RuneLen(r)
		if agentloop.Invisible(r) && !(n > 0 && joins(r, last, s[i+n:])) {
			continue
		}
		b.WriteRune(r) // U+FFFD for a byte that is not UTF-8
		last = r
	}
	return b.String()
}

func isPlainASCII(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= 0x7f || c < ' ' && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

const (
	zeroWidthNonJoiner = '\u200c'
	zeroWidthJoiner    = '\u200d'
	emojiSelector      = '\ufe0f'
)

// joins reports whether a character without a shape belongs between last and rest.
func joins(r, last rune, rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	switch r {
	case emojiSelector:
		return isPictograph(last) || next == '\u20e3' && strings.ContainsRune("0123456789#*", last)
	case zeroWidthJoiner:
		return (isPictograph(last) || last == emojiSelector) && isPictograph(next) || unicode.In(last, joiningScripts...) && unicode.In(next, joiningScripts...)
	case zeroWidthNonJoiner:
		return unicode.In(last, joiningScripts...) && unicode.In(next, joiningScripts...)
	}
	return false
}

// isPictograph reports whether a character may be an emoji.
func isPictograph(r rune) bool {
	return unicode.In(r, unicode.So, unicode.Sk) || 0x2190 <= r && r <= 0x2BFF
}

// joiningScripts are the scripts in which joiners change the shape of words.
var joiningScripts = []*unicode.RangeTable{
	unicode.Arabic, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil,
	unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Syriac, unicode.Mongolian, unicode.Khmer,
}

// Clean makes Visible all strings of a message, in place.
func Clean(m proto.Message) {
	if m != nil {
		clean(m.ProtoReflect())
	}
}

func clean(m protoreflect.Message) {
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.IsMap():
			cleanMap(f, v.Map())
		case f.IsList():
			cleanList(f, v.List())
		case f.Message() != nil:
			clean(v.Message())
		case f.Kind() == protoreflect.StringKind:
			if s := v.String(); !isPlainASCII(s) {
				m.Set(f, protoreflect.ValueOfString(Visible(s)))
			}
		}
		return true
	})
}

func cleanList(f protoreflect.FieldDescriptor, list protoreflect.List) {
	for i := range list.Len() {
		switch {
		case f.Message() != nil:
			clean(list.Get(i).Message())
		case f.Kind() == protoreflect.StringKind:
			list.Set(i, protoreflect.ValueOfString(Visible(list.Get(i).String())))
		}
	}
}

func cleanMap(f protoreflect.FieldDescriptor, entries protoreflect.Map) {
	type entry struct {
		key   protoreflect.MapKey
		value protoreflect.Value
	}
	var changed []entry
	entries.Range(func(k protoreflect.MapKey, v protoreflect.Value) bool {
		value := v
		switch {
		case f.MapValue().Message() != nil:
			clean(v.Message())
		case f.MapValue().Kind() == protoreflect.StringKind:
			value = protoreflect.ValueOfString(Visible(v.String()))
		}
		key := k
		if f.MapKey().Kind() == protoreflect.StringKind {
			key = protoreflect.ValueOfString(Visible(k.String())).MapKey()
		}
		if key.String() != k.String() || f.MapValue().Kind() == protoreflect.StringKind && value.String() != v.String() {
			entries.Clear(k) // allowed while ranging
			changed = append(changed, entry{key, value})
		}
		return true
	})
	for _, e := range changed {
		entries.Set(e.key, e.value)
	}
}
