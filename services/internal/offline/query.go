package offline

import (
	"slices"
	"strings"
	"time"
)

// fillers are words around the thing that is looked for. They are dropped as long as something else is left.
var fillers = set(`gift gifts present presents idea ideas item items product products thing things stuff option options kind kinds type types sort sorts suggestion suggestions recommendation recommendations
	recommend recommended suggest store shop site website range selection catalog catalogue dad daddy father mom mum mother wife husband friend friends brother sister son daughter girlfriend boyfriend
	partner uncle aunt grandma grandpa nephew niece colleague boss love loves loving like likes enjoy enjoys enjoying fan good best rated nice great perfect decent suitable buy buying bought purchase sell selling sold add put carry stock available
	birthday christmas anniversary budget euro euros eur dollar dollars usd pound pounds gbp money spend cart basket piece pieces pair pairs hear detail details information info
	colour colours color colors size sizes number customer interested happy today search list`)

// priceFillers are dropped when the question is which one is cheapest, or bounds the price.
var priceFillers = set("cheap cheapest cheaper affordable expensive inexpensive costly price prices priced pricing cost costs lowest highest least most low high total")

// superlatives rank what is found and are no part of what to look for.
var superlatives = set("lightest heaviest warmest coolest smallest biggest largest strongest toughest fastest longest shortest widest thinnest thickest softest newest quietest brightest highest lowest lighter heavier warmer cooler smaller bigger larger stronger tougher faster longer shorter")

// giftNouns make "gift" a thing of its own.
var giftNouns = set("card cards wrap wrapping voucher vouchers certificate certificates receipt bag bags box boxes set sets basket baskets")

// salient returns the English content words of t, without those under drop and without padding.
func salient(t text, drop []span) []string {
	_, _, bounds := priceBounds(t)
	sorted := direction(t) != "" || len(bounds) > 0
	var kept, all []string
	for i, w := range t.words {
		if covered(drop, w) {
			continue
		}
		for k, g := range w.gloss {
			if slices.Contains(all, g) {
				continue
			}
			all = append(all, g)
			next := ""
			if k+1 < len(w.gloss) {
				next = w.gloss[k+1]
			} else if i+1 < len(t.words) {
				next = t.words[i+1].norm
			}
			asked := i > 0 && t.words[i-1].norm == "how" // "how heavy" asks for a quality
			if asked || sorted && priceFillers[g] || superlatives[g] || fillers[g] && !(strings.HasPrefix(g, "gift") && giftNouns[next]) {
				continue
			}
			kept = append(kept, g)
		}
	}
	if len(kept) == 0 {
		kept = all
	} else if slices.ContainsFunc(all, isGift) && !slices.ContainsFunc(kept, isGift) {
		kept = append(kept, "gift")
	}
	return kept[:min(len(kept), 10)]
}

func isGift(w string) bool { return strings.HasPrefix(w, "gift") || w == "present" || w == "presents" }

// direction says whether t asks for the lowest or highest price: "asc", "desc" or "". Only clear superlatives count.
func direction(t text) string {
	flat := " "
	for _, w := range t.words {
		if len(w.gloss) > 0 {
			flat += strings.Join(w.gloss, " ") + " "
		} else {
			flat += w.norm + " "
		}
	}
	for _, p := range []string{" cheapest ", " least expensive ", " lowest price ", " lowest priced ", " most affordable ", " lowest cost ", " cheap to expensive ", " low to high ", " lowest "} {
		if strings.Contains(flat, p) {
			return "asc"
		}
	}
	for _, p := range []string{" most expensive ", " priciest ", " dearest ", " highest price ", " highest priced ", " high to low ", " costliest ", " highest "} {
		if strings.Contains(flat, p) {
			return "desc"
		}
	}
	return ""
}

// sources name where data comes from, not what to look for in it: the shopper's own cart, order and so on.
var sources = set("cart carts basket baskets trolley order orders purchase purchases account wishlist")

// isCart reports whether an English word means the shopper's cart.
func isCart(w string) bool { return w == "cart" || w == "basket" || w == "trolley" }

// namesSource reports whether t speaks of one of the shopper's own things, and so of nothing said before.
func namesSource(t text) bool {
	return slices.ContainsFunc(t.words, func(w word) bool {
		return slices.ContainsFunc(w.gloss, func(g string) bool { return sources[g] })
	})
}

// wishes are the words that say something of what is wanted: no padding, no pronouns, no sources.
func wishes(words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool {
		return strings.Trim(w, "0123456789") == "" || fillers[w] || priceFillers[w] || pronouns[w] || vague[w] || sources[w] || pairing[w]
	})
}

// pairing are words for how two things relate.
var pairing = set("match matches matching complement complements accessory accessories similar alternative alternatives pair fit fits suit suits together add complete already go goes well")

// leansOnContext reports whether t names nothing itself, such as "and in blue?" or "which one is the cheapest?".
func leansOnContext(t text) bool {
	if namesSource(t) {
		return false
	}
	drop := append(append(optionSpans(t), money(t)...), whereAndWhen(t)...)
	_, _, bounds := priceBounds(t)
	for _, w := range salient(t, append(drop, bounds...)) {
		if !fillers[w] && !priceFillers[w] && !pronouns[w] && !vague[w] {
			return false
		}
	}
	return !exchanges(t)
}

// longestAside is how many words a question such as "and in Oslo on Friday?" may have.
const longestAside = 10

// whereAndWhen returns the days and the place that a short question names, by which alone it leans on what was asked.
func whereAndWhen(t text) []span {
	if len(t.words) > longestAside {
		return nil
	}
	_, out := dates(t, time.Time{}) // where they stand depends on no clock
	if name, where, ok := place(t, inPlace); ok && isUpper(name) {
		out = append(out, where)
	}
	return out
}

var (
	pronouns = set("it them they these those this that one ones lo la los las es sie ihn die le les")
	vague    = set("first second third last another different other size colour color bigger smaller larger one cheaper lighter heavier")
)

// hasPronoun reports whether t speaks of something named before.
func hasPronoun(t text) bool {
	for i, w := range t.words {
		switch w.norm {
		case "it", "them", "they", "ones":
			return true
		case "one", "that", "those", "these", "this":
			if i+1 == len(t.words) || len(t.words[i+1].gloss) == 0 {
				return true
			}
		}
		if w.raw != w.norm && (strings.HasSuffix(w.norm, "lo") || strings.HasSuffix(w.norm, "la")) && t.lang == spanish {
			return true
		}
		if t.lang == spanish && (strings.HasSuffix(w.norm, "rlo") || strings.HasSuffix(w.norm, "rla") || strings.HasSuffix(w.norm, "rlos") || strings.HasSuffix(w.norm, "rlas")) {
			return true
		}
	}
	return false
}
