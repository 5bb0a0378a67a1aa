package specialist

import (
	"strings"
	"testing"

	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// The texts are of recorded answers. A card was lost because the text left out the end of a title.
func TestAnAnswersProductsFollowItsText(t *testing.T) {
	product := func(id, variant, brand, title string) *specialistv1.ProductChoice {
		return &specialistv1.ProductChoice{ProductId: id, VariantId: variant, Brand: brand, Title: title}
	}
	for text, want := range map[string]string{
		"We have one carbon pair: the **Korvane Reed carbon folding poles** at **149.95 EUR**.":                                                        "POLE-002/",
		"I'd recommend the **Emberlock Lodestar 1000 running headlamp** (129.95 EUR). For a cheaper option, the **Emberlock Glint 500** is available.": "LAMP-003/std LAMP-002/",
	} {
		f := &Findings{}
		f.AddProducts(product("LAMP-002", "", "Emberlock", "Emberlock Glint 500 rechargeable headlamp"),
			product("LAMP-003", "", "Emberlock", "Emberlock Lodestar 1000 running headlamp"),
			product("POLE-002", "", "Korvane", "Korvane Reed carbon folding poles, pair"))
		f.AddProducts(product("LAMP-003", "std", "Emberlock", "Emberlock Lodestar 1000 running headlamp")) // a narrower look-up
		f.AddProducts(product("LAMP-003", "", "Emberlock", "Emberlock Lodestar 1000 running headlamp"))
		var got []string
		for _, p := range compose(&Turn{Findings: f}, &agentloop.Result{}, text, nil, nil).GetProducts() {
			got = append(got, p.GetProductId()+"/"+p.GetVariantId())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s\nproducts %v, want %s", text, got, want)
		}
	}
}

// An answer with a text says why it ended, whatever ended it; every reason of the contract has its own.
func TestFinishReasons(t *testing.T) {
	seen := map[specialistv1.FinishReason]bool{specialistv1.FinishReason_FINISH_REASON_UNSPECIFIED: true}
	for from, want := range map[agentloop.FinishReason]specialistv1.FinishReason{
		agentloop.FinishStop:          specialistv1.FinishReason_FINISH_REASON_STOP,
		agentloop.FinishLength:        specialistv1.FinishReason_FINISH_REASON_LENGTH,
		agentloop.FinishError:         specialistv1.FinishReason_FINISH_REASON_ERROR,
		agentloop.FinishContentFilter: specialistv1.FinishReason_FINISH_REASON_CONTENT_FILTER,
		agentloop.FinishMaxSteps:      specialistv1.FinishReason_FINISH_REASON_MAX_STEPS,
		agentloop.FinishDeadline:      specialistv1.FinishReason_FINISH_REASON_DEADLINE,
		agentloop.FinishCanceled:      specialistv1.FinishReason_FINISH_REASON_DEADLINE, // nobody is left to read it
		agentloop.FinishBudget:        specialistv1.FinishReason_FINISH_REASON_BUDGET,
	} {
		got := finishReason(from)
		if got != want {
			t.Errorf("%s becomes %v, want %v", from, got, want)
		}
		seen[got] = true
	}
	for number, name := range specialistv1.FinishReason_name {
		if !seen[specialistv1.FinishReason(number)] {
			t.Errorf("nothing becomes %s", name)
		}
	}
}
