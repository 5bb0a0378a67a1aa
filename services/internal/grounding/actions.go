package grounding

import (
	"slices"
	"strings"
	"sync"

	"github.com/quartet-commerce/quartet/services/internal/text"
)

// firstPerson is how one language says that the speaker did something or is about to do it.
type firstPerson struct {
	starts    map[string][][]string // folded words before the verb, by the first of them
	reach     int                   // how many words may stand between the start and the verb
	verbs     map[string]bool
	light     map[string]bool // verbs that do so with a noun of changes only: "put the cancellation through"
	negations map[string]bool
}

// changes are the beginnings of nouns for what changes something in a shop, in all languages.
var changes = strings.Fields("cancel anul annul storn refund ruckerstatt erstattung reembols rembours devoluci ruckgabe umtausch exchange echange " +
	"modific anderung cambio redirect umleitung")

// firstPersons are by the base of the language, and a further word for other starts. The verbs are those that change something in a
// shop; "I found" and "I checked" are true.
var firstPersons = map[string]firstPerson{
	"en": newFirstPerson(3, "i have|ive|i just|i already|i will|ill|i am going to|im going to|i am now|im now|i went ahead and|i called|i have called|ive called|i went ahead and called|i took|i have taken|ive taken|"+
		"i ve|i have gone ahead and|ive gone ahead and|i put|i did|i made|ive just|i have just|ive now|i have now|ive already",
		"cancelled canceled changed upgraded updated added removed applied placed booked reserved refunded redirected rerouted "+
			"forwarded notified informed contacted arranged processed issued sent submitted registered requested passed escalated scheduled "+
			"extended exchanged activated stopped off care "+
			"cancel change upgrade update add remove apply place book reserve refund redirect reroute forward notify inform contact arrange "+
			"process issue send submit register request pass escalate schedule extend exchange activate voided withdrawn revoked scrapped halted reversed",
		"put made done completed carried confirmed finalized finalised started initiated triggered sorted executed handled performed filed entered logged",
		"not never no nothing"),
	"en past": newFirstPerson(1, "i", "cancelled canceled changed upgraded updated added removed applied placed booked reserved refunded redirected rerouted "+
		"forwarded notified informed contacted arranged processed issued submitted registered requested escalated scheduled extended exchanged "+
		"activated initiated voided withdrew revoked", "made completed confirmed finalized finalised started triggered sorted",
		"not never no nothing havent didnt couldnt wasnt cannot cant wont if when what which that how whether"), // before it, it is told and not claimed
	"en promise": newFirstPerson(1, "i will|ill|i shall", "let get follow have ask raise flag", "", "not never no nothing"),
	"de now": newFirstPerson(0, "ich", "storniere andere fuge buche reserviere erstatte leite benachrichtige veranlasse beauftrage sende schicke "+
		"verlangere beantrage annulliere", "", "nicht"),
	"fr now": newFirstPerson(0, "j annule|j ajoute|j applique|j envoie|je rembourse|je modifie|je transmets|je reserve|je supprime",
		"votre vos ta tes ton la le les ce cette immediatement maintenant", "", "pas"),
	"de": newFirstPerson(14, "ich habe|habe ich|ich hab|hab ich|ich werde|werde ich|von mir",
		"storniert geandert geaendert hinzugefugt hinzugefuegt entfernt bestellt gebucht reserviert erstattet umgeleitet weitergeleitet "+
			"benachrichtigt informiert veranlasst beauftragt eingelost eingeloest angewendet angewandt gelegt ubermittelt verschickt versendet "+
			"gesendet verlangert beantragt weitergegeben annulliert gestoppt "+
			"stornieren andern hinzufugen entfernen bestellen buchen reservieren erstatten umleiten weiterleiten benachrichtigen informieren "+
			"veranlassen beauftragen einlosen anwenden legen verschicken versenden senden verlangern beantragen weitergeben annullieren stoppen "+
			"abgebrochen zuruckgezogen aufgehoben abbestellt widerrufen",
		"vorgenommen durchgefuhrt ausgefuhrt eingeleitet erledigt abgeschlossen gemacht angestossen ausgelost eingetragen eingereicht bestatigt "+
			"durchgegeben bearbeitet vollzogen",
		"nicht nichts kein keine keinen noch weder"),
	"fr": newFirstPerson(3, "j ai|jai|je vais|je viens|j avais|je m en suis|je me suis|je vous ai|je t ai|je l ai|je vous l ai|je te l ai",
		"annule annulee modifie modifiee change changee ajoute ajoutee retire supprime applique commande reserve rembourse redirige transmis "+
			"prevenu informe contacte demande envoye enregistre prolonge echange active occupe arrete "+
			"annuler modifier changer ajouter retirer supprimer appliquer commander reserver rembourser rediriger transmettre prevenir informer "+
			"contacter demander envoyer enregistrer prolonger echanger activer interrompu stoppe resilie",
		"procede proceder effectue effectuer fait realise lance valide traite confirme finalise mis pris", "pas rien jamais"),
	"es": newFirstPerson(3, "he|voy a|acabo de",
		"cancelado anulado cambiado modificado anadido agregado quitado eliminado aplicado pedido reservado reembolsado redirigido reenviado "+
			"avisado informado contactado solicitado enviado registrado prolongado activado "+
			"cancelar anular cambiar modificar anadir agregar quitar eliminar aplicar pedir reservar reembolsar redirigir reenviar avisar "+
			"informar contactar solicitar enviar registrar prolongar activar revocado detenido parado",
		"procedido proceder efectuado efectuar realizado realizar tramitado tramitar gestionado gestionar hecho hacer completado dado dejado "+
			"lanzado confirmado finalizado ejecutado cursado iniciado", "no nada nunca"),
}

func newFirstPerson(reach int, starts, verbs, light, negations string) firstPerson {
	set := func(words string) map[string]bool {
		out := map[string]bool{}
		for _, w := range strings.Fields(words) {
			out[w] = true
		}
		return out
	}
	p := firstPerson{starts: map[string][][]string{}, reach: reach, verbs: set(verbs), light: set(light), negations: set(negations)}
	for start := range strings.SplitSeq(starts, "|") {
		words := strings.Fields(start)
		p.starts[words[0]] = append(p.starts[words[0]], words)
	}
	return p
}

// ClaimsAction reports whether a sentence says in the first person that something in the shop was changed, or will be: "I have
// cancelled your order". No tool changes anything, so no such sentence is true. It knows English, German, French and Spanish. What
// the store did, "we have cancelled your order", may be true and is left to the evidence.
func ClaimsAction(sentence string) bool { return claimAction(text.Words(sentence)) }

// claimAction reports whether the words of a sentence claim an action.
func claimAction(words []text.Word) bool {
	if !uses(famActions) {
		return false
	}
	for i := range words {
		for _, lang := range firstPersonsByWord()[words[i].Text] {
			if lang.acts(words[i:]) && (i == 0 || !lang.negations[words[i-1].Text]) {
				return true
			}
		}
	}
	return false
}

// firstPersonsByWord are by the first words of their starts.
var firstPersonsByWord = sync.OnceValue(func() map[string][]firstPerson {
	out := map[string][]firstPerson{}
	for _, p := range firstPersons {
		for first := range p.starts {
			out[first] = append(out[first], p)
		}
	}
	return out
})

// acts reports whether words begin with a claim of an action.
func (p firstPerson) acts(words []text.Word) bool {
	for _, first := range p.starts[words[0].Text] {
		if len(words) <= len(first) || !slices.EqualFunc(words[:len(first)], first, isWord) {
			continue
		}
		for i := len(first); i < min(len(words), len(first)+p.reach+1); i++ {
			w := words[i].Text
			isDenied := p.reach == 0 && i+1 < len(words) && p.negations[words[i+1].Text] // "ich storniere nicht"
			if p.negations[w] || isDenied {
				break
			}
			if p.verbs[w] || p.verbs[withoutPronoun(w)] || p.light[w] && slices.ContainsFunc(words, isChange) {
				return true
			}
		}
	}
	return false
}

func isWord(w text.Word, s string) bool { return w.Text == s }

// isChange reports whether a word names a change.
func isChange(w text.Word) bool {
	return slices.ContainsFunc(changes, func(begin string) bool { return strings.HasPrefix(w.Text, begin) })
}

// withoutPronoun returns a Spanish infinitive without the pronoun at its end: cancelar for cancelarte.
func withoutPronoun(w string) string {
	if i := strings.LastIndex(w, "ar"); i > 0 && len(w)-i > 2 && len(w)-i <= 6 {
		return w[:i+2]
	}
	return w
}

// actionsOf returns the sentences that claim an action, at most limit.
func actionsOf(s string, limit int) Claims {
	var out Claims
	start := 0
	for _, sentence := range text.SplitSentences(s) {
		if len(out) < limit && ClaimsAction(sentence) {
			out = append(out, SentenceClaim(sentence, start, Action, Unsupported))
		}
		start += len(sentence)
	}
	return out
}

// SentenceClaim returns a sentence at a byte of its text as a claim, without the space around it.
func SentenceClaim(sentence string, start int, kind Kind, v Verdict) Claim {
	bare := strings.TrimSpace(sentence)
	start += strings.Index(sentence, bare)
	return Claim{Start: start, End: start + len(bare), Text: bare, Kind: kind, Verdict: v}
}
