package auth

import "testing"

func TestMay(t *testing.T) {
	c := Caller{Name: "shop", Grants: []Grant{
		{Store: "a", Rights: []Right{RightAsk, RightOrders}}, {Store: AnyStore, Rights: []Right{RightUsage}},
	}}
	for _, test := range []struct {
		caller Caller
		store  string
		right  Right
		want   bool
	}{
		{c, "a", RightAsk, true},
		{c, "a", RightOrders, true},
		{c, "a", RightErase, false},
		{c, "b", RightAsk, false},
		{c, "b", RightUsage, true},
		{c, AnyStore, RightAsk, false},
		{Caller{}, "a", RightAsk, false},
		{FromContext(t.Context()), "a", RightAsk, false},
		{FromContext(NewContext(t.Context(), c)), "a", RightAsk, true},
		{Caller{Name: "local", Local: true}, "b", RightErase, true},
	} {
		if got := test.caller.May(test.store, test.right); got != test.want {
			t.Errorf("%+v: May(%q, %q) is %v", test.caller, test.store, test.right, got)
		}
	}
}
