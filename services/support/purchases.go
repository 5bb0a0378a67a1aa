package support

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/internal/text"
	"github.com/quartet-commerce/quartet/services/support/orders"
)

// maxOrdersRead is how many orders of a customer are searched for an item.
const maxOrdersRead = 50

// terms are the words by which a shopper means an item: stems, without stop words. The titles of orders are stemmed in the same
// language, which is right for shoppers who use the store's words.
type terms struct {
	language string
	words    map[string]bool
}

// terms reads the words of the turn's shopper.
func (t *turnTools) terms(words string) terms {
	language := cmp.Or(text.Language(words), "en")
	return terms{language, stems(language, words)}
}

// stems are the stems of a text's words, without stop words of its language and of English, single letters and numbers: a size says
// nothing of what somebody bought.
func stems(language, s string) map[string]bool {
	out := make(map[string]bool)
	for _, w := range text.Words(s) {
		if len(w.Text) > 1 && strings.Trim(w.Text, "0123456789.,") != "" && !text.IsStopWord(language, w.Text) && !text.IsStopWord("en", w.Text) {
			out[text.Stem(language, w.Text)] = true
		}
	}
	return out
}

// has returns the words that are in the title or the options of an item.
func (t terms) has(item *orderv1.OrderItem) []string {
	of := item.GetTitle()
	for _, value := range item.GetOptions() {
		of += " " + value
	}
	var found []string
	for stem := range stems(t.language, of) {
		if t.words[stem] {
			found = append(found, stem)
		}
	}
	return found
}

// bestOrder returns the position of the order whose items have the words that fewest of the orders have; of equals, the first.
// It is -1 if no order has any of the words.
func bestOrder(all []orders.WithActions, t terms) int {
	having := make(map[string]float64)
	found := make([]map[string]bool, len(all))
	for i, f := range all {
		found[i] = make(map[string]bool)
		for _, item := range f.Order.GetItems() {
			for _, stem := range t.has(item) {
				found[i][stem] = true
			}
		}
		for stem := range found[i] {
			having[stem]++
		}
	}
	best, score := -1, 0.0
	for i, stems := range found {
		var sum float64
		for _, stem := range slices.Sorted(maps.Keys(stems)) { // sorted: a sum must not depend on the map's order
			sum += math.Log(1 + float64(len(all))/having[stem])
		}
		if sum > score {
			best, score = i, sum
		}
	}
	return best
}

// meantItems returns the positions of the items that the words mean: for each word, the items with most of the words.
func meantItems(o *orderv1.Order, t terms) []int32 {
	count := make([]int, len(o.GetItems()))
	most := make(map[string]int)
	found := make([][]string, len(o.GetItems()))
	for i, item := range o.GetItems() {
		found[i] = t.has(item)
		count[i] = len(found[i])
		for _, stem := range found[i] {
			most[stem] = max(most[stem], count[i])
		}
	}
	var meant []int32
	for i := range found {
		if slices.ContainsFunc(found[i], func(stem string) bool { return most[stem] == count[i] }) {
			meant = append(meant, int32(i))
		}
	}
	return meant
}
