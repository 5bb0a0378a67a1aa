package grounding_test

import (
	"testing"

	"github.com/quartet-commerce/quartet/services/internal/grounding"
)

const headphones = `{"products":[` +
	`{"product_id":"K1","title":"Murmel Ruhe 700 Kopfhörer","category":"Kopfhörer","price":"249.00 EUR","stock":6,"details":"Gewicht 254 g; Akkulaufzeit 30 h; wasserdicht nein; Intensität 4"},` +
	`{"product_id":"K2","title":"Murmel Ruhe 500 Kopfhörer","category":"Kopfhörer","price":"179.00 EUR","stock":0,"details":"Gewicht 239 g; Akkulaufzeit 24 h; wasserdicht nein; Intensität 6"},` +
	`{"product_id":"K4","title":"Fjell Go On-Ear","category":"Kopfhörer","price":"59.90 EUR","stock":21,"details":"Gewicht 165 g; Akkulaufzeit 40 h; wasserdicht nein; Intensität 9"},` +
	`{"product_id":"K7","title":"Fjell Sport","category":"Kopfhörer","price":"89.95 EUR","stock":13,"details":"Gewicht 32 g; Akkulaufzeit 8 h; wasserdicht ja; Intensität 2"},` +
	`{"product_id":"K8","title":"Brell Akku 7","category":"Akkus","price":"39.00 EUR","stock":2,"details":"Länge 60 mm; Laufzeit 30 h"},` +
	`{"product_id":"K6","title":"Brell Akku 12","category":"Akkus","price":"59.00 EUR","stock":2,"details":"Länge 50 mm; Laufzeit 40 h"},` +
	`{"product_id":"K9","title":"Tube and case, red","category":"Zubehör","price":"19.90 EUR","stock":2}]}`

func TestComparisons(t *testing.T) {
	const none = grounding.Undecided
	for _, tt := range []struct {
		name, message, text string
		want                grounding.Verdict // of the statement that has one
	}{
		{"the longest", "Welcher hält am längsten?", "Am längsten hält der Murmel Ruhe 700 durch.", grounding.Contradicted},
		{"by a time beside a length", "Akku?", "Der Akku 12 hält länger als der Akku 7.", grounding.Supported},
		{"by a length beside a time", "Akku?", "Der Akku 12 ist länger als der Akku 7.", grounding.Contradicted},
		{"by a length that is none", "headphones?", "The Fjell Go has a longer warranty than the Fjell Sport.", none},
		{"in truth", "Welcher hält am längsten?", "Am längsten hält der Fjell Go durch.", grounding.Supported},
		{"it", "Welcher hält am längsten?", "Der Fjell Go hat 40 Stunden, und er ist auch der günstigste.", grounding.Supported},
		{"the cheapest", "headphones?", "The cheapest one is the Fjell Sport at 89.95 EUR.", grounding.Contradicted},
		{"of those that are as asked for", "wasserdichte Kopfhörer?", "Der günstigste ist der Fjell Sport.", none},
		{"of those in stock", "headphones?", "The most expensive are the Murmel Ruhe 700.", grounding.Supported},
		{"the least", "headphones?", "The least expensive is the Murmel Ruhe 700.", grounding.Contradicted},
		{"one of them", "headphones?", "One of the lightest is the Fjell Go.", none},
		{"French", "un casque ?", "Le Fjell Sport est le plus lourd.", grounding.Contradicted},
		{"French, of the least", "un casque ?", "Le moins cher est le Fjell Go.", grounding.Supported},
		{"Spanish", "¿auriculares?", "Los Fjell Go son los más ligeros.", grounding.Contradicted},
		{"by the name of a property", "un casque ?", "Le plus intense est le Murmel Ruhe 700.", grounding.Contradicted},
		{"than another", "headphones?", "The Fjell Go is lighter than the Fjell Sport.", grounding.Contradicted},
		{"than another, in truth", "headphones?", "The Fjell Go is lighter than the Murmel Ruhe 700.", grounding.Supported},
		{"German", "Kopfhörer?", "Der Fjell Sport ist schwerer als der Fjell Go.", grounding.Contradicted},
		{"Spanish, than another", "¿auriculares?", "El Fjell Go es más caro que el Fjell Sport.", grounding.Contradicted},
		{"than one before", "headphones?", "The Fjell Sport costs 89.95 EUR. The Murmel Ruhe 700 is cheaper.", grounding.Contradicted},
		{"than one before, in truth", "headphones?", "The Murmel Ruhe 700 costs 249.00 EUR. The cheaper Fjell Go is 59.90 EUR.", grounding.Supported},
		{"in a list", "headphones?", "- **Fjell Sport** - 89.95 EUR\n- **Murmel Ruhe 700** - lighter at 254 g", grounding.Contradicted},
		{"an alternative to it", "headphones?", "The Fjell Go is 59.90 EUR. A cheaper alternative to the Murmel Ruhe 700 is there too.", none},
		{"by a verb", "headphones?", "The Fjell Sport costs less than the Fjell Go.", grounding.Contradicted},
		{"by a verb, in truth", "Kopfhörer?", "Der Fjell Go wiegt mehr als der Fjell Sport.", grounding.Supported},
		{"by a noun", "headphones?", "The Fjell Sport has a lower price than the Fjell Go.", grounding.Contradicted},
		{"the most by a verb", "¿auriculares?", "El que menos cuesta es el Fjell Go.", grounding.Supported},
		{"the most by a noun", "un casque ?", "Le poids le plus bas est celui du Murmel Ruhe 700.", grounding.Contradicted},
		{"by a noun of nothing", "headphones?", "The Fjell Sport has a lower tone than the Fjell Go.", none},
		{"a title denies nothing", "un casque ?", "Nous n'avons plus Murmel Ruhe 500 Kopfhörer.", grounding.Supported},
		{"a title with a comma", "headphones?", "The Tube and case, red costs more than the Fjell Go.", grounding.Contradicted},
		{"than something else", "headphones?", "The Murmel Ruhe 700 is lighter than your current ones.", none},
		{"by an inferior price", "un casque ?", "Le Fjell Sport est à un prix inférieur à celui du Fjell Go.", grounding.Contradicted},
		{"by an inferior price, Spanish", "¿auriculares?", "El Fjell Go tiene un precio inferior al del Fjell Sport.", grounding.Supported},
		{"before its product", "un casque ?", "Le moins cher du lot, c'est Fjell Sport.", grounding.Contradicted},
		{"among the listed", "headphones?", "Among those listed, the Fjell Sport is the cheapest.", grounding.Contradicted},
		{"among the cheapest", "headphones?", "The Fjell Sport is among the cheapest.", none},
		{"no degree", "Kopfhörer?", "Fjell Go für 59,90 EUR. Der Murmel Ruhe 700 ist ein leichter Kopfhörer.", none},
		{"denied", "headphones?", "The Fjell Sport is not the cheapest.", none},
		{"a question", "headphones?", "Is the Murmel Ruhe 700 the cheapest?", none},
		{"on a condition", "headphones?", "If the Fjell Sport is the cheapest, take it.", none},
		{"what is not typed", "headphones?", "The most comfortable is the Fjell Sport.", none},
		{"no longer", "headphones?", "The Fjell Go has 40 hours. The Fjell Sport is no longer made.", none},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := none
			claims := check(tt.message, []string{headphones}, tt.text)
			for _, c := range claims {
				if c.Kind == grounding.Statement && c.Verdict != none {
					got = c.Verdict
				}
			}
			if got != tt.want {
				t.Errorf("%q: %v, want %v; %+v", tt.text, got, tt.want, claims)
			}
		})
	}
}
