package promotions

import "github.com/quartet-commerce/quartet/services/promotions/engine/enginetest"

// Short names of the fixtures of tests.
var (
	noon         = enginetest.Noon
	eur          = enginetest.EUR
	item         = enginetest.Item
	cartOf       = enginetest.CartOf
	walkCart     = enginetest.WalkCart
	promo        = enginetest.Promo
	percent      = enginetest.Percent
	amountOff    = enginetest.AmountOff
	freeShipping = enginetest.FreeShipping
	bundle       = enginetest.Bundle
	categories   = enginetest.Categories
	minimum      = enginetest.Minimum
	minimumUnits = enginetest.MinimumUnits
	starts       = enginetest.Starts
	ends         = enginetest.Ends
	groups       = enginetest.Groups
	outdoors     = enginetest.Outdoors
	promos       = enginetest.Promos
	purchaseText = enginetest.PurchaseText
	limits       = enginetest.Limits
	stacks       = enginetest.Stacks
	excludes     = enginetest.Excludes
)
