package grounding

import "testing"

func TestMergesDeriveAsPeopleDo(t *testing.T) {
	var e MergeEvidence
	e.AddAnswer("The Varn Orb costs 199.50 EUR instead of 219.90 EUR and weighs 1940 g, the Varn Glow 1010 g. It comes in 32/34. "+
		"The warranty is 3 years, returns take 14 days. It runs for 8 h.", []string{"Varn Orb", "Varn Glow", "Varn Dusk"})
	e.AddAnswer("Order KL-501 arrives on 21 November 2026. You can pay in 3 parts.", nil)
	before := e.Read("The Varn Orb costs 199.50 EUR, the old price was 219.90 EUR.")
	for text, want := range map[string]bool{
		"It arrives on the 21st.":                          true,
		"Elle arrive le 21.":                               true,
		"It arrives on the 23rd.":                          false,
		"Size W32/L34 is there.":                           true,
		"Size W36/L34 is there.":                           false,
		"In 3 parts, that is 66.50 EUR each.":              true,
		"In 3 parts, that is 67.50 EUR each.":              false,
		"Together they are 419.40 EUR.":                    true,
		"Together they are 429.40 EUR.":                    false,
		"You save roughly 20 EUR.":                         true,
		"You save 20 EUR.":                                 false,
		"The Varn Glow is 930 g lighter.":                  true,
		"The Varn Glow is 830 g lighter.":                  false,
		"The warranty is 36 months, returns take 2 weeks.": true,
		"The warranty is 3 months.":                        false,
		"The Varn Glow weighs 1010 kg.":                    false,
		"All 3 of them are lamps.":                         true,
		"It runs for 8 days.":                              false,
		"Returns take 14 weeks.":                           false,
	} {
		if got := e.Supports(e.Read("\n"+text), before); got != want {
			t.Errorf("Supports(%q) = %v", text, got)
		}
	}
}
