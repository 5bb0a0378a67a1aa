package index

// englishWords are those of an English-speaking shopper.
var englishWords = wordlist{
	fillers: englishFillers, vague: vague, prepositions: prepositions, qualifiers: qualifiers,
	beforeAmount: beforeAmount, afterAmount: afterAmount, implications: implications,
}

// englishFillers are words that shoppers say around what they want. They never distinguish products.
const englishFillers = `want wants need needs looking look find show see give buy buying purchase get got please some something
anything thing things stuff product products item items article articles recommend suggest suggestion best good great nice
perfect cheap cheapest affordable budget inexpensive expensive dearest priciest costliest most least lowest highest price
prices priced cost costs costing pricing much many under below over above between less than more around about maximum max
minimum min euro euros eur dollar dollars usd pound pounds gbp stock available availability sell selling sells carry store
shop catalog catalogue size sizes sized colour color option options thanks thank hello hi hey can could would like also
just really eu any kind kinds type types sort us let know tell ideas idea one ones pair pairs person persons people
somebody someone go goes going cart basket`

// vague words mean something else to every shopper. They affect the order of products and exclude none.
var vague = map[string]bool{
	"light": true, "lightweight": true, "warm": true, "cosy": true, "cozy": true, "comfortable": true, "comfy": true,
	"decent": true, "quality": true, "sturdy": true, "robust": true, "durable": true, "simple": true, "fancy": true,
	"big": true, "large": true, "small": true, "compact": true, "soft": true, "pretty": true, "beautiful": true,
	"practical": true, "useful": true, "reliable": true, "strong": true, "fine": true, "cool": true, "new": true,
	"popular": true, "favourite": true, "favorite": true, "lovely": true, "proper": true, "solid": true,
}

// nounsAtEnd are vague words that are nouns at the end of a query: a "camping light" is a lamp.
var nounsAtEnd = map[string]bool{"light": true}

// colourWords are fillers except beside a noun, on the side where the language has modifiers: a "colour printer", an "imprimante couleur". There
// they affect the order of products and exclude none.
var colourWords = wordSet("colour color couleur")

// gifts are words for anything that a shopper wants to give away.
var gifts = map[string]bool{
	"gift": true, "gifts": true, "present": true, "presents": true, "birthday": true, "christmas": true,
}

// giftNouns are nouns that make "gift" part of a product's name: a gift card is a card.
var giftNouns = map[string]bool{
	"card": true, "cards": true, "voucher": true, "vouchers": true, "certificate": true, "certificates": true,
	"wrap": true, "wrapping": true, "paper": true, "box": true, "boxes": true, "set": true, "sets": true, "bag": true,
	"bags": true, "basket": true, "baskets": true, "hamper": true, "hampers": true,
}

// peopleUnits are units that count people.
var peopleUnits = map[string]bool{
	"person": true, "persons": true, "people": true, "man": true, "men": true, "adults": true, "sleepers": true,
}

// numerals are written-out numbers.
var numerals = map[string]string{
	"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9", "ten": "10",
}

// prepositions end the noun phrase of a query: "tents for two people" are tents.
var prepositions = map[string]bool{
	"for": true, "with": true, "in": true, "under": true, "from": true, "without": true, "below": true, "over": true,
	"above": true, "to": true, "on": true, "at": true, "that": true, "which": true, "between": true, "of": true, "by": true,
	"up": true, "less": true, "around": true, "against": true,
}

// qualifiers are modifiers that stand behind the noun: "jacket men waterproof" is a jacket.
var qualifiers = map[string]bool{
	"men": true, "mens": true, "man": true, "women": true, "womens": true, "woman": true, "ladies": true, "unisex": true,
	"kids": true, "children": true, "boys": true, "girls": true, "adults": true, "waterproof": true, "windproof": true,
	"gift": true, "gifts": true, "present": true, "presents": true, "birthday": true, "christmas": true,
	"lightweight": true, "ultralight": true, "light": true, "warm": true, "insulated": true, "breathable": true,
	"winter": true, "summer": true, "black": true, "white": true, "red": true, "blue": true, "green": true, "grey": true,
	"gray": true, "small": true, "medium": true, "large": true, "colour": true, "color": true, "original": true,
	"genuine": true, "wireless": true, "new": true,
}

// beforeAmount and afterAmount are words around a number that is a price or a size.
var (
	beforeAmount = map[string]bool{
		"under": true, "below": true, "over": true, "above": true, "than": true, "max": true, "maximum": true, "min": true,
		"minimum": true, "size": true, "sizes": true, "eu": true, "around": true, "about": true, "between": true, "to": true,
	}
	afterAmount = map[string]bool{
		"euro": true, "euros": true, "eur": true, "dollar": true, "dollars": true, "usd": true, "pound": true, "pounds": true,
		"gbp": true,
	}
)

// implications name what serves a shopper who says the word. They hold one way: who asks for waterproof boots does not ask
// for rain.
var implications = map[string][]string{
	"rainy": {"rain", "waterproof", "rainproof", "raincoat"},
	"rain":  {"waterproof", "rainproof", "raincoat"},
	"wet":   {"rain", "waterproof", "rainproof"},
	"snowy": {"snow", "winter"},
	"cold":  {"warm", "insulated", "thermal", "winter"},
	"muddy": {"mud", "waterproof"},
	"sunny": {"sun", "summer"},
	"windy": {"wind", "windproof"},
}
