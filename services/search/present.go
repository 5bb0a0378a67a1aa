package search

import (
	"fmt"

	"github.com/quartet-commerce/quartet/services/internal/money"
	"github.com/quartet-commerce/quartet/services/internal/productview"
)

// searchResult is what search_catalog returns.
type searchResult struct {
	Products   []productview.View `json:"products"`
	Total      int                `json:"total"`
	PriceRange string             `json:"price_range,omitempty"`
	Note       string             `json:"note,omitempty"`
}

// Summary says what the result holds, for the call log.
func (r searchResult) Summary() string {
	switch {
	case r.Total == 0:
		return "no products"
	case r.Total == 1:
		return "1 product"
	}
	return fmt.Sprintf("%d products", r.Total)
}

// rangeText says between which prices the hits are.
func rangeText(hits []hit) string {
	low, high := prices(hits)
	if low.GetAmountMinor() == high.GetAmountMinor() {
		return money.Text(low)
	}
	return money.Text(low) + " to " + money.Text(high)
}
