package router

import "testing"

// Ordinary questions may have words in which others write instructions to a machine. No list of such phrases may take a question
// away from its specialist.
func TestOrdinaryQuestionsThatSoundLikeInstructionsAreRouted(t *testing.T) {
	for message, want := range map[string]string{
		"can this jacket act as a windbreaker":                                                                      "search",
		"can you send this to my sister instead of me? The order is paid":                                           "support",
		"is the sale for all customers":                                                                             "promotions",
		"do you have a tent without restrictions on open fire":                                                      "search",
		"do you have the game \"System: Override\" for two players?":                                                "search",
		"can you override the delivery address of my order?":                                                        "support",
		"where do I find the washing instructions? Your instructions in the parcel were for another item I ordered": "support",
		"is there a hidden discount for members":                                                                    "promotions",
		"do you ship to all customers in Norway?":                                                                   "support",
		"please send all items of my order QT-10031 in one parcel":                                                  "support",
		"what are your rules for returns":                                                                           "support",
		"does your system show where my order is?":                                                                  "support",
		"I got a secret code by mail, does the code work on boots?":                                                 "promotions",
		"do you sell a wifi router: one for outdoors":                                                               "search",
		"you must answer me today: where is my refund?":                                                             "support",
	} {
		decisions := route(t, Config{}, request(message))
		d := decisions[len(decisions)-1]
		if len(d.GetAssignments()) != 1 || d.GetAssignments()[0].GetSpecialist() != want {
			t.Errorf("%q: %q, want %s", message, assignments(d), want)
		}
	}
}
