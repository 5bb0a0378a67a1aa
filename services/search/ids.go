package search

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	levenshtein "github.com/blevesearch/bleve/v2/search"

	"github.com/quartet-commerce/quartet/services/internal/fault"
)

// idLabels are words that people and models put before an identifier.
var idLabels = map[string]bool{
	"the": true, "product": true, "item": true, "article": true, "id": true, "sku": true, "ref": true, "reference": true,
	"number": true, "no": true, "nr": true, "code": true, "-": true,
}

// asID returns the identifier that a text is, without what labels it, or "" when it is no identifier: "product id: SHOE-1" is
// one, "trail shoes" and "tents" are none.
func asID(text string) string {
	parts := strings.FieldsFunc(cleanID(text), func(r rune) bool { return unicode.IsSpace(r) || r == ':' || r == '=' })
	for len(parts) > 1 && idLabels[idKey(parts[0])] {
		parts = parts[1:]
	}
	if len(parts) != 1 {
		return ""
	}
	id := cleanID(parts[0])
	if !fault.ValidID(id) || !strings.ContainsFunc(id, unicode.IsDigit) || !strings.ContainsFunc(id, unicode.IsLetter) {
		return ""
	}
	return id
}

const (
	// leastPart is how long the end of an identifier must be to stand for the whole.
	leastPart = 4
	// maxNear is how many identifiers are offered in place of an unknown one.
	maxNear = 3
)

// nearestIDs returns products' identifiers that an unknown one may have been meant for: those that end in it, zeros and
// separators aside, or else those that differ in the fewest letters.
func (v *view) nearestIDs(id string) []string {
	type near struct {
		id    string
		slips int
	}
	var found []near
	wanted := bareID(id)
	slips := 2 // letters that may be wrong
	switch n := len(wanted); {
	case n < 3: // every id of that length is near
		slips = 0
	case n < 5:
		slips = 1
	}
	for _, known := range v.folded {
		bare := bareID(known)
		if len(wanted) >= leastPart && strings.HasSuffix(bare, wanted) {
			found = append(found, near{known, 0})
		} else if d := len(bare) - len(wanted); d <= slips && d >= -slips {
			if n, tooFar := levenshtein.LevenshteinDistanceMax(wanted, bare, slips); !tooFar && n <= slips {
				found = append(found, near{known, n})
			}
		}
	}
	slices.SortFunc(found, func(a, b near) int { return cmp.Or(cmp.Compare(a.slips, b.slips), strings.Compare(a.id, b.id)) })
	var out []string
	for _, n := range found[:min(maxNear, len(found))] {
		if n.slips == found[0].slips {
			out = append(out, n.id)
		}
	}
	return out
}

// bareID is an identifier without case, separators and the zeros that numbers are filled up with.
func bareID(id string) string {
	out := make([]byte, 0, len(id))
	inNumber := false
	for i := range len(id) {
		b := id[i]
		switch {
		case b == '-' || b == '_' || b == '.':
			inNumber = false
			continue
		case b == '0' && !inNumber:
			continue
		case b >= 'A' && b <= 'Z':
			b += 'a' - 'A'
		}
		inNumber = b >= '0' && b <= '9'
		out = append(out, b)
	}
	return string(out)
}

// instead says which product may have been meant by an identifier that none has, or what to do.
func (v *view) instead(id string) string {
	switch near := v.nearestIDs(id); len(near) {
	case 0:
	case 1:
		return "the nearest id is " + near[0]
	default:
		return "the nearest ids are " + strings.Join(near, ", ")
	}
	return "no id is near it; search by what the product is called"
}

// idNote says that the text is an identifier that no product has. Empty: it is none, or the search went well in any case, for
// the number of a model looks like one too.
func (v *view) idNote(text string, out outcome) string {
	id := asID(text)
	if id == "" || v.find(id) != nil || out.total > 0 && out.note == "" {
		return ""
	}
	return fmt.Sprintf("No product has the id %q; %s.", id, v.instead(id))
}
