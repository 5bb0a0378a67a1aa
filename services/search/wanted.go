package search

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

// wantedText returns what a model gave as the value of an option or an attribute, and false for what is not one value. Null and
// a text of spaces are no wish: they are empty.
func wantedText(value any) (string, bool) {
	switch v := value.(type) {
	case nil:
		return "", true
	case string:
		return tidied(v), true
	case bool:
		return strconv.FormatBool(v), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	case []any:
		switch len(v) {
		case 0:
			return "", true
		case 1:
			return wantedText(v[0])
		}
	}
	return "", false
}

// checkWanted refuses options or attributes that no search can be made of, in words that tell the model what to do.
func checkWanted(argument string, values map[string]any) error {
	if len(values) > maxOptions {
		return fmt.Errorf("%s has %d entries; give at most %d, those that matter most", argument, len(values), maxOptions)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		text, ok := wantedText(values[name])
		switch {
		case !ok:
			return fmt.Errorf("%s: %q is not one text or number; give one value a call, such as {\"size\": \"42\"}", argument, short(name))
		case utf8.RuneCountInString(name) > maxName || utf8.RuneCountInString(text) > maxName:
			return fmt.Errorf("%s: %q is too long; give a name and a value of at most %d characters", argument, short(name), maxName)
		}
	}
	return nil
}
