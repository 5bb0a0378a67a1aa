package agentloop

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// hostileOutputs are texts of about a megabyte in which many objects seem to start and none is complete.
func hostileOutputs() map[string]string {
	const size = 1 << 20
	fill := func(piece, end string) string { return strings.Repeat(piece, size/len(piece)) + end }
	return map[string]string{
		"opening braces":              fill("{", ""),
		"braces and space":            fill("{ ", ""),
		"nested objects, then broken": fill(`{"a":`, "]"),
		"nested lists, then broken":   fill(`{"a":[`, "}"),
		"objects in prose":            fill(`{"a":1 `, ""),
		"braces in strings":           fill(`{"{`, ""),
		"a long string, then broken":  `{"a":"` + fill(`{\"a\":`, `" oops`),
		"keys without values":         fill(`{"a" {`, ""),
		"comments without an end":     fill(`{/*`, ""),
		"single quotes":               fill(`{'`, ""),
	}
}

func TestFindObjectTakesLinearTime(t *testing.T) {
	for name, text := range hostileOutputs() {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // generous: each takes a fraction of a second
			defer cancel()
			_, work, err := findObject(ctx, text)
			if err != nil || work > maxFindWork(text)+len(text) {
				t.Errorf("%d bytes of work for a text of %d bytes, error %v", work, len(text), err)
			}
		})
	}
}

func TestFindObjectSkipsOtherBraces(t *testing.T) {
	const object = `{"agent":"search"}`
	for name, c := range map[string]struct{ text, want string }{
		"many words in braces":        {strings.Repeat("{word} ", 60) + object, object},
		"a statement before it":       {"if (a) { return 1; }\n" + object, object},
		"an object inside braces":     {`{oops ` + object + ` }`, object},
		"a broken object before it":   {`{"agent":} ` + object, object},
		"two objects":                 {object + ` {"agent":"support"}`, object},
		"an object that does not end": {`so: {"x":` + object, `{"x":` + object},
		"no object":                   {"search, I think", "search, I think"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _, err := findObject(t.Context(), c.text); err != nil || string(got) != c.want {
				t.Errorf("found %s, error %v", got, err)
			}
		})
	}
}

func TestFindObjectStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, text := range hostileOutputs() {
		if _, work, err := findObject(ctx, text); !errors.Is(err, context.Canceled) || work != 0 {
			t.Errorf("%s: %d bytes of work, error %v", name, work, err)
		}
	}
}
