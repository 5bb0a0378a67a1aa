package policies

import "testing"

func TestWhatSaysThatGoodsWereUsed(t *testing.T) {
	t.Parallel()
	r := New(nil, nil, nil)
	for message, want := range map[string]bool{
		"I wore them once, can I send them back?":                true,
		"the box was opened":                                     true,
		"It does not fit, I wore it outside":                     true,
		"I did not like it and opened a second one":              true,
		"not what I expected but I used it twice":                true,
		"not opened, not used":                                   false,
		"I have never worn the boots":                            false,
		"I haven't even opened the box":                          false,
		"They havent been worn":                                  false,
		"still in the box without being used":                    false,
		"unused, with labels on":                                 false,
		"ich habe sie einmal getragen":                           true,
		"Passt nicht, habe ich schon benutzt":                    true,
		"die Stiefel sind ungetragen":                            false,
		"ich habe die Jacke nicht ein einziges Mal getragen":     false,
		"noch nie benutzt":                                       false,
		"lo he usado una vez":                                    true,
		"no me gusta, pero lo he usado":                          true,
		"sin usar, con etiquetas":                                false,
		"no lo he usado":                                         false,
		"nunca abierto":                                          false,
		"je les ai portés deux fois":                             true,
		"je ne l'ai jamais porté":                                false,
		"sans l'avoir ouvert":                                    false,
		"elles ne vont pas, et je les ai déjà portées en ville":  true,
		"Je n’ai pas encore utilisé la tente, je peux la rendre": false,
	} {
		if got := r.SaysUsed(message); got != want {
			t.Errorf("%q: %v, want %v", message, got, want)
		}
	}
}
