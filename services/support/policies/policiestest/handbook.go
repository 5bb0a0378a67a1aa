// Package policiestest holds documents for tests of the support service.
package policiestest

import policyv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/policy/v1"

// Handbook returns the documents of the test store. The caller owns them.
func Handbook() []*policyv1.Policy {
	return []*policyv1.Policy{
		{PolicyId: "returns", Title: "Returns and refunds", Url: "https://one.example/returns", Body: "Anything can be sent back within 30 days.\n\n" +
			"## How to return\n\nAsk for a label in your account.\nDrop the parcel at any counter.\n\n" +
			"## Opened goods\n\nTents may be pitched once indoors.\n\nSocks can be returned in their packet only."},
		{PolicyId: "shipping", Title: "Delivery times and costs", Body: "Standard delivery takes 2 to 4 days and costs 4.95 EUR.\n\n" +
			"## Norway\n\nParcels to Norway take 5 to 9 days."},
		{PolicyId: "warranty", Title: "Warranty", Body: "Everything is covered for 2 years against faults in material.\n\n## Bags\n\nBags are covered for 10 years."},
		{PolicyId: "contact", Title: "Contact and opening hours", Body: "We answer on working days from 8:00 to 18:00."},
		{PolicyId: "faq", Title: "Questions", Body: "Where are you from?\n\nWe accept cards and bank transfer for payment.\n\nGift wrapping is free in December."},
		{PolicyId: "rueckgabe", Title: "Rückgabe", Language: "de-AT", Body: "Ware kann innerhalb von 30 Tagen zurückgegeben werden."},
	}
}
