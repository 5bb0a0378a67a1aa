package demo

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"
)

var codeForm = regexp.MustCompile(`^[A-Za-z0-9_-]{2,40}$`)

func TestPromotionsCoverEveryBenefitAndState(t *testing.T) {
	for _, d := range datasets(t) {
		seen := make(map[string]int)
		for _, p := range d.Promotions {
			seen[fmt.Sprintf("%T", p.GetBenefit())]++
			switch {
			case p.GetEndTime() != nil && !p.GetEndTime().AsTime().After(testNow):
				seen["expired"]++
			case p.GetStartTime() != nil && p.GetStartTime().AsTime().After(testNow):
				seen["not started"]++
			default:
				seen["running"]++
			}
			if slices.Contains(p.GetCustomerGroups(), "members") {
				seen["members"]++
			}
			if p.GetMinimumSubtotal() != nil {
				seen["minimum"]++
			}
			if p.GetStackable() {
				seen["stackable"]++
			}
			if p.GetUsageLimit() > 0 {
				seen["limited"]++
			}
			if p.GetUsageLimitPerCustomer() > 0 {
				seen["limited for each customer"]++
			}
			if len(p.GetExcludedCodes()) > 0 {
				seen["excluding"]++
			}
		}
		want := []string{"expired", "running", "members", "minimum", "stackable",
			fmt.Sprintf("%T", &promotionv1.Promotion_PercentOff{}), fmt.Sprintf("%T", &promotionv1.Promotion_AmountOff{}),
			fmt.Sprintf("%T", &promotionv1.Promotion_BuyXGetY{}), fmt.Sprintf("%T", &promotionv1.Promotion_FreeShipping{}),
			fmt.Sprintf("%T", &promotionv1.Promotion_Tiered{}), fmt.Sprintf("%T", &promotionv1.Promotion_Bundle{})}
		if d.Store.GetStoreId() == "demo" {
			want = append(want, "not started", "limited", "limited for each customer", "excluding")
		}
		for _, kind := range want {
			if seen[kind] == 0 {
				t.Errorf("store %s has no promotion of the kind %s", d.Store.GetStoreId(), kind)
			}
		}
	}
}

func TestPromotionsNameWhatTheStoreHas(t *testing.T) {
	for _, d := range datasets(t) {
		products := catalogOf(d)
		names, codes := make(map[string]bool), make(map[string]bool)
		for _, p := range d.Products {
			names[p.GetBrand()] = true
			for _, c := range p.GetCategoryPath() {
				names[c] = true
			}
		}
		for _, p := range d.Promotions {
			for _, code := range p.GetExcludedCodes() {
				if !slices.ContainsFunc(d.Promotions, func(q *promotionv1.Promotion) bool { return q.GetCode() == code }) {
					t.Errorf("%s excludes %s, which is not there", p.GetCode(), code)
				}
			}
			if !codeForm.MatchString(p.GetCode()) || codes[strings.ToUpper(p.GetCode())] || p.GetTitle() == "" {
				t.Errorf("code %q is bad or not the only one", p.GetCode())
			}
			codes[strings.ToUpper(p.GetCode())] = true
			if p.GetStartTime() != nil && p.GetEndTime() != nil && !p.GetStartTime().AsTime().Before(p.GetEndTime().AsTime()) {
				t.Errorf("%s ends before it starts", p.GetCode())
			}
			s := p.GetScope()
			for _, name := range slices.Concat(s.GetCategories(), s.GetBrands()) {
				if !names[name] {
					t.Errorf("%s: scope names %q, which no product has", p.GetCode(), name)
				}
			}
			for _, id := range slices.Concat(s.GetProductIds(), s.GetExcludeProductIds(), p.GetBundle().GetProductIds()) {
				if products[id] == nil {
					t.Errorf("%s: no product %s", p.GetCode(), id)
				}
			}
			checkBenefit(t, p, products)
		}
	}
}

func checkBenefit(t *testing.T, p *promotionv1.Promotion, products catalog) {
	t.Helper()
	ok := false
	switch b := p.GetBenefit().(type) {
	case *promotionv1.Promotion_PercentOff:
		ok = share(b.PercentOff.GetBasisPoints())
	case *promotionv1.Promotion_AmountOff:
		ok = b.AmountOff.GetAmount().GetAmountMinor() > 0
	case *promotionv1.Promotion_BuyXGetY:
		ok = b.BuyXGetY.GetBuyQuantity() > 0 && b.BuyXGetY.GetGetQuantity() > 0
	case *promotionv1.Promotion_FreeShipping:
		ok = b.FreeShipping.GetFee().GetAmountMinor() > 0
	case *promotionv1.Promotion_Tiered:
		var last *commonv1.Money
		ok = len(b.Tiered.GetTiers()) > 0
		for _, tier := range b.Tiered.GetTiers() {
			ok = ok && share(tier.GetBasisPoints()) && tier.GetSubtotal().GetAmountMinor() > last.GetAmountMinor()
			last = tier.GetSubtotal()
		}
	case *promotionv1.Promotion_Bundle:
		var apart int64
		for _, id := range b.Bundle.GetProductIds() {
			apart += products[id].GetVariants()[0].GetPrice().GetAmountMinor()
		}
		ok = len(b.Bundle.GetProductIds()) > 1 && b.Bundle.GetPrice().GetAmountMinor() < apart
	}
	if !ok {
		t.Errorf("%s: benefit %v", p.GetCode(), p.GetBenefit())
	}
}

func share(basisPoints int32) bool { return basisPoints >= 1 && basisPoints <= 10_000 }

func TestPoliciesCanBeQuoted(t *testing.T) {
	for _, d := range datasets(t) {
		ids := make(map[string]bool)
		for _, p := range d.Policies {
			if !idForm.MatchString(p.GetPolicyId()) || ids[p.GetPolicyId()] || p.GetTitle() == "" || p.GetLanguage() == "" {
				t.Errorf("policy %q is incomplete or not the only one", p.GetPolicyId())
			}
			ids[p.GetPolicyId()] = true
			sections := 0
			for passage := range strings.SplitSeq(p.GetBody(), "\n\n") {
				if strings.HasPrefix(passage, "## ") {
					sections++
				}
				if n := len(passage); n == 0 || n > 400 || strings.TrimSpace(passage) != passage {
					t.Errorf("policy %s: passage of %d bytes: %q", p.GetPolicyId(), n, passage)
				}
			}
			if sections == 0 {
				t.Errorf("policy %s has no sections", p.GetPolicyId())
			}
		}
		if d.Store.GetStoreId() == "demo" && len(ids) < 8 {
			t.Errorf("%d policies; want at least 8", len(ids))
		}
	}
}
