package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"
)

func TestBestCombination(t *testing.T) {
	onSocks := categories("Socks") // 29.85 EUR of the cart's 338.65
	tests := []struct {
		name       string
		promotions []*promotionv1.Promotion
		want       []string
		saving     int64
	}{
		{"stackable ones add up, each on the cart's own prices",
			[]*promotionv1.Promotion{promo("FIVE", percent(500), stacks), promo("TEN", percent(1000), stacks)}, []string{"TEN", "FIVE"}, 3386 + 1693},
		{"one that cannot be combined, when it saves more", []*promotionv1.Promotion{
			promo("ALONE", percent(2000)), promo("FIVE", percent(500), stacks), promo("TEN", percent(1000), stacks)}, []string{"ALONE"}, 6773},
		{"one code when several save no more", []*promotionv1.Promotion{
			promo("ALONE", amountOff(eur(1000))), promo("A", amountOff(eur(500)), stacks), promo("B", amountOff(eur(500)), stacks)}, []string{"ALONE"}, 1000},
		{"an exclusion works both ways", []*promotionv1.Promotion{
			promo("A", amountOff(eur(300)), stacks), promo("B", amountOff(eur(500)), stacks, excludes("a")), promo("C", amountOff(eur(100)), stacks)},
			[]string{"B", "C"}, 600},
		{"two small ones beat the large one that excludes both", []*promotionv1.Promotion{
			promo("A", amountOff(eur(300)), stacks), promo("B", amountOff(eur(500)), stacks, excludes("A", "C")), promo("C", amountOff(eur(300)), stacks)},
			[]string{"A", "C"}, 600},
		{"equal combinations: the one with the more valuable code", []*promotionv1.Promotion{
			promo("A", amountOff(eur(200)), stacks), promo("B", amountOff(eur(500)), stacks, excludes("A", "C")), promo("C", amountOff(eur(300)), stacks)},
			[]string{"B"}, 500},
		{"equal in all: the earlier end, then the code", []*promotionv1.Promotion{
			promo("A", amountOff(eur(500)), stacks, excludes("Z", "B")), promo("B", amountOff(eur(500)), stacks, excludes("Z"), ends(noon.Add(2*time.Hour))),
			promo("Z", amountOff(eur(500)), stacks, ends(noon.Add(time.Hour)))}, []string{"Z"}, 500},
		{"an item is never below zero, so the second code is left out", []*promotionv1.Promotion{
			promo("FREE", percent(10000), onSocks, stacks), promo("HALF", percent(5000), onSocks, stacks)}, []string{"FREE"}, 2985},
		{"part of the second saving is left", []*promotionv1.Promotion{
			promo("MOST", percent(8000), onSocks, stacks), promo("HALF", percent(5000), onSocks, stacks)}, []string{"MOST", "HALF"}, 2985},
		{"free units and a share of what they cost do not exceed it", []*promotionv1.Promotion{
			promo("TWO1", buyGet(1, 1), onSocks, stacks), promo("ALL", percent(9900), onSocks, stacks)}, []string{"ALL", "TWO1"}, 2985},
		{"shipping is waived once, at the higher fee", []*promotionv1.Promotion{
			promo("S1", freeShipping(eur(500)), stacks), promo("S2", freeShipping(eur(300)), stacks), promo("A", amountOff(eur(100)), stacks)},
			[]string{"S1", "A"}, 600},
		{"free shipping of unknown worth comes along", []*promotionv1.Promotion{
			promo("S", freeShipping(nil), stacks), promo("A", amountOff(eur(100)), stacks)}, []string{"A", "S"}, 100},
		{"what saves nothing does not", []*promotionv1.Promotion{
			promo("SET", bundle(99900, "jacket", "boots"), stacks), promo("A", amountOff(eur(100)), stacks)}, []string{"A"}, 100},
		{"nothing applies", []*promotionv1.Promotion{promo("TENTS", percent(100), categories("Tents"), stacks)}, nil, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := Evaluate(tt.promotions, NewBasket(walkCart()), Buyer{}, noon)
			if diff := cmp.Diff(tt.want, o.Combination.GetCodes()); diff != "" || o.Combination.GetSaving().GetAmountMinor() != tt.saving {
				t.Errorf("saves %v, want %d; codes (-want +got):\n%s", o.Combination.GetSaving(), tt.saving, diff)
			}
		})
	}
}

func TestMoreThanTwentyAreAddedWhileTheyFit(t *testing.T) {
	var many []*promotionv1.Promotion
	for i := range int64(maxExact + 3) {
		many = append(many, promo(fmt.Sprintf("P%02d", i), amountOff(eur(100-i)), stacks))
	}
	many[maxExact+1].ExcludedCodes = []string{"P00"}
	o := Evaluate(many, NewBasket(walkCart()), Buyer{}, noon)
	var want int64 = 100*(maxExact+3) - (maxExact+3)*(maxExact+2)/2 - (100 - maxExact - 1)
	if got := o.Combination.GetSaving().GetAmountMinor(); got != want || len(o.Combination.GetCodes()) != maxExact+2 {
		t.Errorf("%d codes save %d, want %d that save %d", len(o.Combination.GetCodes()), got, maxExact+2, want)
	}
}

func TestAppliedCodesRefuseWhatDoesNotGoWithThem(t *testing.T) {
	promotions := []*promotionv1.Promotion{
		promo("ALONE", percent(3000)), promo("A", percent(1000), stacks), promo("B", percent(500), stacks, excludes("A")),
		promo("C", percent(200), stacks), promo("OLD", percent(200), ends(noon)),
	}
	tests := []struct {
		name     string
		applied  []string
		refusals map[string][]string
		best     string
	}{
		{"nothing applied", nil, nil, "ALONE"},
		{"a stackable one, in any case", []string{"a"}, map[string][]string{"ALONE": {"A"}, "B": {"A"}}, "C"},
		{"two of them", []string{"C", "A"}, map[string][]string{"ALONE": {"A", "C"}, "B": {"A"}}, ""},
		{"one that goes with nothing", []string{"ALONE"}, map[string][]string{"A": {"ALONE"}, "B": {"ALONE"}, "C": {"ALONE"}}, ""},
		{"those that do not apply block nothing", []string{"OLD", "UNKNOWN"}, nil, "ALONE"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := Evaluate(promotions, NewBasket(walkCart()), Buyer{Applied: tt.applied}, noon)
			var refusals map[string][]string
			for _, e := range o.Evaluations {
				if e.GetRefusalReason() != promotionv1.RefusalReason_REFUSAL_REASON_NOT_COMBINABLE {
					continue
				}
				if e.GetEligible() || e.GetSaving() != nil {
					t.Errorf("refused, yet %v", e)
				}
				if refusals == nil {
					refusals = map[string][]string{}
				}
				refusals[e.GetPromotion().GetCode()] = e.GetConflictingCodes()
			}
			if diff := cmp.Diff(tt.refusals, refusals); diff != "" || o.BestCode != tt.best {
				t.Errorf("best %q, want %q; conflicts (-want +got):\n%s", o.BestCode, tt.best, diff)
			}
			want := &promotionv1.Combination{Codes: []string{"ALONE"}, Saving: eur(10159)}
			if diff := cmp.Diff(want, o.Combination, protocmp.Transform()); diff != "" {
				t.Errorf("the best combination depends on what was applied (-want +got):\n%s", diff)
			}
		})
	}
	o := Evaluate(promotions, NewBasket(walkCart()), Buyer{Applied: []string{"A", "C"}}, noon)
	for _, e := range o.Evaluations {
		if want := "ALONE does not apply: it cannot be combined with A and C."; e.GetPromotion().GetCode() == "ALONE" && e.GetExplanation() != want {
			t.Errorf("explanation = %q, want %q", e.GetExplanation(), want)
		}
	}
}
