package grounding

import "testing"

func TestClaimsAction(t *testing.T) {
	for sentence, want := range map[string]bool{
		"No problem! I've cancelled order AB-1 for you.":                         true,
		"I’ve just added it to your cart.":                                       true,
		"I will pass it on to the team.":                                         true,
		"I'll go ahead and apply the code.":                                      true,
		"Gern, ich habe das Paket aus AB-1 an die Packstation umgeleitet.":       true,
		"Ich werde die Adresse für dich ändern.":                                 true,
		"J’ai annulé votre commande.":                                            true,
		"Je vais transmettre votre demande.":                                     true,
		"Je viens d'annuler votre commande.":                                     true,
		"Je viens de la retrouver.":                                              false,
		"He cancelado tu pedido.":                                                true,
		"Ya he avisado al almacén.":                                              true,
		"I went ahead and called off order AB-1.":                                true,
		"The order is stopped, I took care of it.":                               true,
		"C'est annulé, je m'en suis occupé.":                                     true,
		"I have put the cancellation of AB-1 through.":                           true,
		"Ich habe die Stornierung soeben für Sie vorgenommen.":                   true,
		"J'ai procédé à l'annulation de la commande AB-1.":                       true,
		"¡Listo, acabo de cancelarte el pedido AB-1!":                            true,
		"I cancelled QT-10031; you will get a confirmation.":                     true,
		"I just refunded it.":                                                    true,
		"I added the socks to your cart.":                                        true,
		"I initiated a refund.":                                                  true,
		"I'll let the team know.":                                                true,
		"I'll get that sorted for you.":                                          true,
		"I'll follow up with the carrier.":                                       true,
		"I will have someone call you.":                                          true,
		"Ich storniere die Bestellung jetzt.":                                    true,
		"J'annule votre commande.":                                               true,
		"I've cancelled, no worries.":                                            true,
		"I never cancelled it.":                                                  false,
		"Ich storniere nicht.":                                                   false,
		"The price includes the cable I let you choose.":                         false,
		"He realizado una búsqueda.":                                             false,
		"I have put three tents into a list.":                                    false,
		"Ich habe eine Suche durchgeführt.":                                      false,
		"I took another look at it.":                                             false,
		"I called the courier's number in vain.":                                 false,
		"I can't cancel it from here.":                                           false,
		"I have not cancelled anything.":                                         false,
		"I have found three tents.":                                              false,
		"Order AB-1 was cancelled on 3 May.":                                     false,
		"We have sent your parcel.":                                              false,
		"You can confirm it below.":                                              false,
		"Ich habe nichts storniert.":                                             false,
		"Ich habe drei Zelte gefunden, die lieferbar sind.":                      false,
		"Je n'ai pas annulé la commande.":                                        false,
		"No he cancelado nada.":                                                  false,
		"Would you like to change it?":                                           false,
		"The tent I would pick has changed in price.":                            false,
		"If you like it, I can tell you how to return what you have had changed": false,
	} {
		if got := ClaimsAction(sentence); got != want {
			t.Errorf("ClaimsAction(%q) = %v", sentence, got)
		}
	}
}
