package e2e

import (
	"slices"
	"strings"
	"testing"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

// TestTheLocaleIsTheLanguageOfTheReply asks in English from shops in other languages.
func TestTheLocaleIsTheLanguageOfTheReply(t *testing.T) {
	h := newSystem(t)
	for locale, phrases := range map[string][]string{ // that begin a reason
		"en-GB": {"goes with", "often bought with", "shares", "same kind as"},
		"de-AT": {"passt zu", "oft gekauft mit", "für denselben Zweck wie", "gleiche Art wie"},
		"es":    {"combina con", "se compra a menudo con", "para el mismo uso que", "del mismo tipo que"},
		"fr-CA": {"va avec", "souvent acheté avec", "pour le même usage que", "du même type que"},
		"it":    nil, // code writes no Italian, and the offline model answers in English
	} {
		t.Run(locale, func(t *testing.T) {
			reply, err := h.gateway.Ask(t.Context(), &gatewayv1.AskRequest{
				StoreId: "demo", CustomerId: "ava", Locale: locale,
				Message: "What would go well with the shoes in my cart? And where is my order QT-10029?",
			})
			if err != nil {
				t.Fatal(err)
			}
			if len(reply.GetProducts()) == 0 || len(reply.GetOrders()) == 0 {
				t.Fatalf("no products or no order: %s", reply.GetText())
			}
			reasons := 0
			for _, p := range reply.GetProducts() {
				if p.GetReason() == "" { // it matches the shopper's words
					continue
				}
				reasons++
				if !slices.ContainsFunc(phrases, func(phrase string) bool { return strings.HasPrefix(p.GetReason(), phrase) }) {
					t.Errorf("%s: reason %q is not in the language", p.GetTitle(), p.GetReason())
				}
			}
			if reasons == 0 && phrases != nil {
				t.Error("no product has a reason")
			}
			if base, own := text.Written(locale); own {
				for paragraph := range strings.SplitSeq(reply.GetText(), "\n\n") {
					lead, _, _ := strings.Cut(paragraph, "\n")
					if got := text.Language(lead); got != base {
						t.Errorf("a part is in %q: %s", got, lead)
					}
				}
			}
		})
	}
}

// Tools word offers in English.
func TestOffersOfTheOfflineModelAreInTheLanguageOfTheReply(t *testing.T) {
	h := newSystem(t)
	for locale, message := range map[string]string{
		"de": "welche Gutscheincodes gibt es?", "fr": "quelles sont vos promotions en ce moment ?", "es": "¿qué códigos de descuento hay?",
	} {
		reply, err := h.gateway.Ask(t.Context(), &gatewayv1.AskRequest{StoreId: "demo", CustomerId: "ava", Locale: locale, Message: message})
		if err != nil {
			t.Fatal(err)
		}
		if s := reply.GetText(); !strings.Contains(s, "SAVE20") || strings.Contains(s, "free shipping") || strings.Contains(s, " off ") || strings.Contains(s, "(from ") {
			t.Errorf("%s: %s", locale, s)
		}
	}
}
