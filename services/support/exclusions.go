package support

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"

	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"

	"github.com/quartet-commerce/quartet/services/internal/text"
	"github.com/quartet-commerce/quartet/services/support/policies"
)

// maxExcludable is how many items of an order the documents are searched for.
const maxExcludable = 5

// refusing are the folded words by which documents refuse a return. What is refused stands before them, or after them with a colon.
var refusing = []string{
	"cannot be returned", "can t be returned", "can not be returned", "may not be returned", "excluded from return", "are not returnable",
	"we do not take back", "vom umtausch ausgeschlossen", "von der ruckgabe ausgeschlossen", "nicht zuruckgegeben", "nicht zurucknehmen",
	"no se puede devolver", "no se pueden devolver", "no se admite", "excluidos de", "excluidas de", "ne peut pas etre retourn",
	"ne peuvent pas etre retourn", "ni repris ni echange", "ne sont pas repris",
}

// apostrophes parts words where folding would join them: "d'oreilles".
var apostrophes = strings.NewReplacer("'", " ", "’", " ")

// conditional are words after which a document names a condition, so that it depends on the item whether it comes back.
var conditional = strings.Fields("that which who if when once unless wenn sobald falls sofern die der das denen que si cuando qui lorsque")

// generalWords are words for goods of any kind.
var generalWords = strings.Fields("all any other goods items products articles alle waren artikel produkte todos articulos productos tous articles produits")

// excluded returns the items of an order, by their places, that the store's documents take back in no condition, and the sentence that
// says so of the first of them. What a document says only of some of them, such as opened ones, excludes none.
func (t *turnTools) excluded(ctx context.Context, o *orderv1.Order, items []*orderv1.ItemQuantity) (map[int32]bool, string) {
	query := "return"
	for _, u := range items[:min(len(items), maxExcludable)] {
		query += " " + o.GetItems()[u.GetItemIndex()].GetTitle()
	}
	passages, err := t.passages(ctx, text.Head(query, policies.MaxQuestion))
	if err != nil {
		t.service.logger.WarnContext(ctx, "no document was searched for what cannot be returned", slog.Any("error", err))
		return nil, ""
	}
	out, said := make(map[int32]bool), ""
	for _, p := range passages {
		for _, sentence := range text.SplitSentences(p.GetText()) {
			for _, words := range t.refused(sentence) {
				for _, u := range items {
					if title := stems(words.language, o.GetItems()[u.GetItemIndex()].GetTitle()); isSubset(words.words, title) {
						out[u.GetItemIndex()], said = true, cmp.Or(said, strings.TrimSpace(sentence))
					}
				}
			}
		}
	}
	return out, said
}

// refused returns the words of each kind of goods that a sentence excludes from returns.
func (t *turnTools) refused(sentence string) []terms {
	folded := text.Fold(apostrophes.Replace(sentence))
	at := -1
	for _, words := range refusing {
		if at = strings.Index(folded, words); at >= 0 {
			break
		}
	}
	if at < 0 {
		return nil
	}
	goods, rest := folded[:at], folded[at:]
	if _, after, found := strings.Cut(rest, ":"); found {
		goods = after
	}
	for _, and := range []string{" and ", " or ", " und ", " oder ", " sowie ", " y ", " o ", " et ", " ou "} {
		goods = strings.ReplaceAll(goods, and, ",")
	}
	language := cmp.Or(text.Language(sentence), "en")
	parts := strings.Split(goods, ",")
	var out []terms
	for i, part := range parts {
		if t.isConditional(part, false) || i+1 < len(parts) && t.isConditional(parts[i+1], true) {
			continue
		}
		var named []string
		for _, w := range text.Words(part) {
			if !slices.Contains(generalWords, w.Text) {
				named = append(named, w.Text)
			}
		}
		if words := stems(language, strings.Join(named, " ")); len(words) > 0 {
			out = append(out, terms{language, words})
		}
	}
	return out
}

// isConditional reports whether goods are named with a condition or, if it must begin the words, whether the words are one.
func (t *turnTools) isConditional(goods string, begins bool) bool {
	words := text.Words(goods)
	for i, w := range words {
		if slices.Contains(conditional, w.Text) && (begins && i < 2 || !begins && i > 0) {
			return true
		}
	}
	return !begins && t.service.policies.SaysUsed(goods)
}

func isSubset(words, of map[string]bool) bool {
	for w := range words {
		if !of[w] {
			return false
		}
	}
	return true
}
