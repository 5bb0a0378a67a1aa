package grounding

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	orderv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/order/v1"
	promotionv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/promotion/v1"

	"github.com/quartet-commerce/quartet/services/internal/demo"
	"github.com/quartet-commerce/quartet/services/internal/money"
)

// generatedAt is the time of the generated cases, so that equal seeds give equal cases.
var generatedAt = time.Date(2026, time.June, 15, 10, 0, 0, 0, time.UTC)

// kinds are the changes that make a true reply wrong. Generate takes them in turn.
var kinds = []string{
	"digit", "neighbour_price", "currency", "absent_product", "stock_inverted", "swapped_subject",
	"other_order_status", "off_by_one_day", "negation", "action_claimed", "expired_code", "comparison", "superlative",
}

// phrases are the sentences of generated replies in one language.
type phrases struct {
	language, message       string
	price                   string // product, price
	inStock, outOfStock     string // product
	cheaper, cheapest       string // cheaper product, the other; cheapest product
	order                   string // order, status
	arrives, notCancel      string // date; nothing
	cancel, cancelled       string // what is wrong: that it can be cancelled; that the assistant did it, order
	code                    string // code, percentage, date
	decimalComma            bool
	date                    string // day, month, year
	months                  string
	shipped, delivered      string
	processing, isCancelled string
}

var languages = []phrases{
	{
		"en", "Can you help me?", "The %s costs %s.", "The %s is in stock.", "The %s is out of stock.", "The %s is cheaper than the %s.", "The cheapest is the %s.", "Your order %s %s.",
		"The delivery date is %s.", "It can not be cancelled any more.", "It can still be cancelled.", "I have cancelled order %s for you.",
		"With the code %s you get %d%% off until %s.", false, "%d %s %d",
		"January February March April May June July August September October November December",
		"has been shipped", "has been delivered", "is being processed", "was cancelled",
	},
	{
		"de", "Können Sie mir helfen?", "%s kostet %s.", "%s ist auf Lager.", "%s ist ausverkauft.", "%s ist günstiger als %s.", "Am günstigsten ist %s.", "Ihre Bestellung %s %s.",
		"Der Liefertermin ist der %s.", "Sie kann nicht mehr storniert werden.", "Sie kann noch storniert werden.", "Ich habe die Bestellung %s für Sie storniert.",
		"Mit dem Code %s erhalten Sie %d %% Rabatt bis zum %s.", true, "%d. %s %d",
		"Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
		"wurde verschickt", "wurde zugestellt", "ist in Bearbeitung", "wurde storniert",
	},
	{
		"fr", "Pouvez-vous m'aider ?", "%s coûte %s.", "%s est en stock.", "%s est en rupture de stock.", "%s est moins cher que %s.", "Le moins cher est %s.", "Votre commande %s %s.",
		"La date de livraison est le %s.", "Elle ne peut plus être annulée.", "Elle peut encore être annulée.", "J'ai annulé la commande %s pour vous.",
		"Avec le code %s vous avez %d %% de remise jusqu'au %s.", true, "%d %s %d",
		"janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
		"a été expédiée", "a été livrée", "est en préparation", "a été annulée",
	},
	{
		"es", "¿Me puedes ayudar?", "%s cuesta %s.", "%s está disponible.", "%s está agotado.", "%s es más barato que %s.", "El más barato es %s.", "Tu pedido %s %s.",
		"La fecha de entrega es el %s.", "Ya no se puede cancelar.", "Todavía se puede cancelar.", "He cancelado el pedido %s por ti.",
		"Con el código %s tienes un %d %% de descuento hasta el %s.", true, "%d de %s de %d",
		"enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
		"ha sido enviado", "ha sido entregado", "se está preparando", "fue cancelado",
	},
}

// otherLanguages say the same in other words.
var otherLanguages = []phrases{
	{
		"en", "Hi, a quick question.", "You can get the %s for %s.", "We currently have the %s available.", "Sadly, the %s is sold out right now.",
		"The %s costs less than the %s.", "Of these, the %s has the lowest price.", "Order %s %s.",
		"You should have it by %s.", "Cancelling it is no longer possible.", "Cancelling it is still possible.", "I've just cancelled order %s.",
		"Enter %s at checkout to take %d%% off; it runs until %s.", false, "%d %s %d",
		"January February March April May June July August September October November December",
		"is on its way", "has arrived", "is still being prepared", "has been cancelled",
	},
	{
		"de", "Hallo, eine kurze Frage.", "Sie bekommen %s für %s.", "Wir haben %s derzeit vorrätig.", "Leider ist %s gerade vergriffen.",
		"%s kostet weniger als %s.", "Den niedrigsten Preis hat %s.", "Die Bestellung mit der Nummer %s %s.",
		"Rechnen Sie am %s mit dem Paket.", "Eine Stornierung ist leider nicht mehr möglich.", "Eine Stornierung ist weiterhin möglich.", "Die Bestellung %s habe ich soeben storniert.",
		"Geben Sie an der Kasse %s ein und sparen Sie %d %%, gültig bis zum %s.", true, "%d. %s %d",
		"Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
		"ist unterwegs", "ist bereits angekommen", "wird gerade vorbereitet", "ist storniert worden",
	},
	{
		"fr", "Bonjour, une petite question.", "Vous pouvez avoir %s pour %s.", "Nous avons %s en stock.", "Malheureusement, %s est épuisé pour le moment.",
		"%s coûte moins que %s.", "Le prix le plus bas est celui de %s.", "La commande %s %s.",
		"Vous devriez la recevoir le %s.", "L'annulation n'est plus possible.", "L'annulation reste possible.", "Je viens d'annuler la commande %s.",
		"Saisissez %s au moment de payer pour avoir %d %% de moins, jusqu'au %s.", true, "%d %s %d",
		"janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
		"est en route", "est bien arrivée", "est en cours de préparation", "a bien été annulée",
	},
	{
		"es", "Hola, una pregunta rápida.", "Puedes llevarte %s por %s.", "Tenemos %s en existencias.", "Por desgracia, %s no está disponible ahora.",
		"%s cuesta menos que %s.", "El precio más bajo es el de %s.", "El pedido %s %s.",
		"Deberías recibirlo el %s.", "Ya no es posible anularlo.", "Aún es posible anularlo.", "Acabo de anular el pedido %s.",
		"Usa %s al pagar y ahorra un %d %%, hasta el %s.", true, "%d de %s de %d",
		"enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
		"está en camino", "ya ha llegado", "sigue en preparación", "ha sido anulado",
	},
}

// newLanguages say it in words of two further authors, which were unseen once.
var newLanguages = []phrases{
	{
		"en", "Good evening, one thing.", "The %s is priced at %s.", "There are still some of the %s left.", "We have run out of the %s.",
		"You pay less for the %s than for the %s.", "The least expensive of them is the %s.", "As for order %s, it %s.",
		"Delivery is planned for %s.", "There is no way to cancel it now.", "You are still able to cancel it.", "All done: I went ahead and called off order %s.",
		"%s lowers the price by %d%% and ends on %s.", false, "%d %s %d",
		"January February March April May June July August September October November December",
		"is in transit", "was handed over to you", "is being packed", "has been called off",
	},
	{
		"de", "Guten Abend, eine Sache noch.", "Der Preis von %s liegt bei %s.", "%s ist sofort lieferbar.", "%s haben wir im Moment nicht mehr.",
		"Für %s zahlen Sie weniger als für %s.", "Am wenigsten zahlen Sie für %s.", "Ihr Auftrag %s %s.",
		"Die Zustellung ist für den %s geplant.", "Stornieren lässt sie sich nun nicht mehr.", "Stornieren lässt sie sich noch.", "Gerade eben habe ich den Auftrag %s annulliert.",
		"Der Gutschein %s senkt den Preis um %d %% und endet am %s.", true, "%d. %s %d",
		"Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
		"befindet sich auf dem Weg zu Ihnen", "ist bei Ihnen eingetroffen", "wird noch gepackt", "wurde annulliert",
	},
	{
		"fr", "Bonsoir, une chose encore.", "Le prix de %s est de %s.", "Il reste des exemplaires de %s.", "Nous n'avons plus %s pour l'instant.",
		"Vous payez moins pour %s que pour %s.", "C'est pour %s que vous payez le moins.", "Concernant la commande %s, elle %s.",
		"La livraison est prévue le %s.", "Il est trop tard pour l'annuler.", "Il est encore temps de l'annuler.", "C'est fait, je viens tout juste d'annuler la commande %s.",
		"Le code %s retire %d %% du prix et expire le %s.", true, "%d %s %d",
		"janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
		"est partie de chez nous", "vous a été remise", "est en train d'être préparée", "est à présent annulée",
	},
	{
		"es", "Buenas tardes, una cosa más.", "El precio de %s es de %s.", "Quedan unidades de %s.", "Nos hemos quedado sin %s.",
		"Pagas menos por %s que por %s.", "Por el que menos pagas es %s.", "En cuanto al pedido %s, %s.",
		"La entrega está prevista para el %s.", "Ya es tarde para cancelarlo.", "Todavía estás a tiempo de cancelarlo.", "Listo, ya te he anulado el pedido %s.",
		"%s te quita un %d %% y caduca el %s.", true, "%d de %s de %d",
		"enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
		"va de camino", "se ha entregado", "aún se está empaquetando", "quedó anulado",
	},
	// By another author, who did not know what the checks had come to.
	{
		"en", "Hey there!", "The %s is priced at %s.", "The %s can be ordered right away.", "The %s is currently unavailable.",
		"You pay less for the %s than for the %s.", "The most affordable one is the %s.", "The parcel for order %s %s.",
		"Delivery is expected on %s.", "Unfortunately it is too late to cancel.", "There is still time to cancel.", "Order %s is cancelled now, I took care of it.",
		"%s gives you %d%% off until %s.", false, "%d %s %d",
		"January February March April May June July August September October November December",
		"has left our warehouse", "was handed over", "is being packed", "has been called off",
	},
	{
		"de", "Guten Tag, ich habe eine Frage.", "%s gibt es für %s.", "%s ist sofort lieferbar.", "%s ist zurzeit nicht verfügbar.",
		"Für %s zahlen Sie weniger als für %s.", "Am wenigsten zahlen Sie für %s.", "Das Paket zur Bestellung %s %s.",
		"Es kommt voraussichtlich am %s.", "Für eine Stornierung ist es leider zu spät.", "Noch lässt sie sich stornieren.", "Die Stornierung von %s habe ich veranlasst.",
		"%s bringt Ihnen %d %% Nachlass bis zum %s.", true, "%d. %s %d",
		"Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
		"hat unser Lager verlassen", "wurde bei Ihnen abgegeben", "wird gerade gepackt", "wurde gestoppt",
	},
	{
		"fr", "Bonjour !", "%s est à %s.", "%s est disponible tout de suite.", "%s n'est plus disponible.",
		"Vous payez moins pour %s que pour %s.", "Le plus abordable est %s.", "Le colis de la commande %s %s.",
		"La livraison est prévue le %s.", "Il est trop tard pour annuler.", "Vous avez encore le temps d'annuler.", "La commande %s est annulée, je m'en suis occupé.",
		"%s vous donne %d %% de remise jusqu'au %s.", true, "%d %s %d",
		"janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
		"a quitté notre entrepôt", "a été remis", "est en cours d'emballage", "a été arrêté",
	},
	{
		"es", "Buenas, tengo una duda.", "%s está a %s.", "%s se puede pedir ya.", "%s no está disponible por ahora.",
		"Pagas menos por %s que por %s.", "El más asequible es %s.", "El paquete del pedido %s %s.",
		"La entrega está prevista para el %s.", "Ya es tarde para cancelar.", "Aún hay tiempo para cancelar.", "Te he anulado el pedido %s.",
		"%s te da un %d %% de descuento hasta el %s.", true, "%d de %s de %d",
		"enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
		"ha salido del almacén", "fue entregado", "se está empaquetando", "fue anulado",
	},
	// By a third author, who was asked for words as unusual as people use.
	{
		"en", "Good afternoon, I would like some information about your products.", "The %s is priced at %s.", "The %s is available for immediate dispatch.", "I regret to say that the %s is unavailable at the moment.",
		"The %s is the more affordable choice compared with the %s.", "Of the items listed, the %s carries the lowest price.", "Our records show that order %s %s.",
		"The scheduled delivery date is %s.", "Unfortunately, cancellation is no longer possible for this order.", "You remain entitled to cancel this order.", "I have processed the cancellation of order %s.",
		"The promotional code %s grants a reduction of %d%% and is valid until %s.", false, "%d %s %d",
		"January February March April May June July August September October November December",
		"has been dispatched and is now in transit", "was successfully delivered", "is being prepared for dispatch and has not yet left our warehouse", "has been cancelled",
	},
	{
		"en", "hey, can you help me pick something?", "The %s will set you back %s.", "Good news, we've got the %s on hand right now!", "Sorry, we've run out of the %s for now.",
		"You'll pay less for the %s than for the %s.", "The %s is the cheapest of the bunch.", "Just checked, and your order %s %s.",
		"The day we've got down for your delivery is %s.", "It's too late to cancel this one, sorry.", "No worries, there's still time to cancel it.", "All done, I just cancelled order %s for you!",
		"Pop in %s at checkout and you'll save %d%% through %s.", false, "%d %s %d",
		"January February March April May June July August September October November December",
		"is on its way to you", "has already been dropped off at your place", "is still being packed up", "got cancelled",
	},
	{
		"de", "Guten Tag, ich interessiere mich für Ihr Sortiment.", "Der Preis für den Artikel %s beträgt %s.", "Der Artikel %s ist derzeit verfügbar.", "Der Artikel %s ist momentan leider nicht lieferbar.",
		"Der Artikel %s ist preisgünstiger als der Artikel %s.", "Unter den gezeigten Produkten weist %s den niedrigsten Preis auf.", "Ihre Bestellung mit der Nummer %s %s.",
		"Als Liefertermin ist der %s vermerkt.", "Eine Stornierung dieser Bestellung ist leider nicht mehr möglich.", "Sie haben weiterhin die Möglichkeit, die Bestellung zu stornieren.", "Ich habe die Stornierung der Bestellung %s soeben für Sie vorgenommen.",
		"Der Aktionscode %s gewährt Ihnen einen Nachlass von %d %% und ist bis zum %s gültig.", true, "%d. %s %d",
		"Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
		"wurde versandt und befindet sich auf dem Weg zu Ihnen", "wurde bereits zugestellt", "befindet sich derzeit in Vorbereitung und wurde noch nicht versandt", "wurde storniert",
	},
	{
		"de", "hi, kannst du mir kurz weiterhelfen?", "%s gibt's bei uns für %s.", "Klar, %s haben wir gerade da!", "%s ist im Moment leider ausverkauft.",
		"Mit %s kommst du günstiger weg als mit %s.", "Am wenigsten zahlst du hier für %s.", "Also, deine Bestellung %s %s.",
		"Für die Lieferung steht bei mir der %s drin.", "Zum Stornieren ist es jetzt leider zu spät.", "Keine Sorge, stornieren geht noch.", "Erledigt, ich hab deine Bestellung %s storniert!",
		"Gib einfach %s ein, dann sparst du %d%%, und zwar noch bis zum %s.", true, "%d. %s %d",
		"Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
		"ist schon unterwegs zu dir", "ist schon bei dir angekommen", "wird gerade noch gepackt", "ist storniert",
	},
	{
		"fr", "Bonjour, je souhaiterais obtenir un renseignement sur vos produits.", "Le prix de l'article %s s'élève à %s.", "L'article %s est actuellement disponible.", "Nous regrettons de vous informer que l'article %s est momentanément indisponible.",
		"L'article %s est proposé à un prix inférieur à celui de l'article %s.", "Parmi les articles présentés, %s affiche le prix le plus bas.", "Nous vous confirmons que la commande %s %s.",
		"La date de livraison prévue est le %s.", "L'annulation de cette commande n'est malheureusement plus possible.", "Vous avez encore la possibilité d'annuler cette commande.", "J'ai procédé à l'annulation de la commande %s.",
		"Le code promotionnel %s vous accorde une remise de %d %% et reste valable jusqu'au %s.", true, "%d %s %d",
		"janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
		"a été expédiée et se trouve en cours d'acheminement", "a bien été livrée", "est en cours de préparation et n'a pas encore été expédiée", "a fait l'objet d'une annulation",
	},
	{
		"fr", "salut, tu peux m'aider deux minutes ?", "%s est à %s chez nous.", "Bonne nouvelle, on a encore %s en rayon !", "Désolé, on n'a plus %s pour l'instant.",
		"Tu paieras moins pour %s que pour %s.", "Le moins cher du lot, c'est %s.", "Alors, ta commande %s %s.",
		"Pour la livraison, la date notée, c'est le %s.", "Là, c'est trop tard pour annuler, désolé.", "Pas de souci, il est encore temps d'annuler.", "C'est bon, je viens d'annuler ta commande %s !",
		"Tape %s au moment de payer et tu économises %d%% jusqu'au %s.", true, "%d %s %d",
		"janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
		"est déjà en route", "a déjà été déposée chez toi", "est encore en train d'être emballée", "a été annulée",
	},
	{
		"es", "Buenas tardes, quisiera hacer una consulta sobre sus productos.", "El precio del artículo %s es de %s.", "El artículo %s se encuentra disponible en este momento.", "Lamentamos comunicarle que no disponemos del artículo %s en estos momentos.",
		"El artículo %s tiene un precio inferior al del artículo %s.", "Entre los productos mostrados, %s presenta el precio más bajo.", "Le informamos de que su pedido %s %s.",
		"La fecha de entrega prevista es el %s.", "Lamentablemente, ya no es posible la anulación de este pedido.", "Todavía está usted a tiempo de cancelar el pedido.", "He procedido a la anulación del pedido %s.",
		"El código promocional %s le otorga un descuento del %d %% y tiene validez hasta el %s.", true, "%d de %s de %d",
		"enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
		"ha sido expedido y se encuentra en tránsito", "ha sido entregado correctamente", "está en fase de preparación y aún no ha sido expedido", "ha sido anulado",
	},
	{
		"es", "hola, ¿me echas una mano con una cosa?", "%s te sale por %s.", "¡Sí, tenemos %s ahora mismo en la tienda!", "Uf, nos hemos quedado sin %s por ahora.",
		"Te gastas menos con %s que con %s.", "De todo esto, lo más barato es %s.", "A ver, tu pedido %s %s.",
		"El día que tengo apuntado para la entrega es el %s.", "Ya es demasiado tarde para cancelar el pedido, lo siento.", "Tranqui, el pedido se puede cancelar todavía.", "¡Listo, acabo de cancelarte el pedido %s!",
		"Mete %s al pagar y te ahorras un %d%% hasta el %s.", true, "%d de %s de %d",
		"enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
		"ya va de camino", "ya te ha llegado", "todavía se está empaquetando", "está cancelado",
	},
}

// unseenLanguages say it in other words of the third author, which were unseen until the scorer was fitted to them.
var unseenLanguages = []phrases{
	{
		"en", "Need a quick answer about a product.", "The %s sells for %s.", "Yes, the %s is in stock.", "The %s is sold out.",
		"The %s is cheaper than the %s.", "Lowest price here: the %s.", "Order %s %s.",
		"Delivery date: %s.", "This order can no longer be cancelled.", "This order can still be cancelled.", "Done, I've voided order %s.",
		"Code %s: %d%% off, ends %s.", false, "%d %s %d",
		"January February March April May June July August September October November December",
		"has shipped", "has arrived", "has not shipped yet and is being processed", "is cancelled",
	},
	{
		"en", "Hello! I'm hoping you can help me with a little shopping question.", "You can have the %s for %s.", "You're in luck, because there are still some units of the %s waiting in our warehouse.", "I'm so sorry, but there isn't a single %s left on our shelves right now.",
		"Choosing the %s would save you some money over the %s.", "Out of everything I've shown you, the %s is the most budget-friendly.", "I've had a look for you, and your order %s %s.",
		"The day set for your parcel's arrival is %s.", "I'm truly sorry, but the window for cancelling this order has closed.", "Please don't worry, you are still free to call this order off.", "As you asked, I've gone ahead and called off your order %s.",
		"As a little treat, entering %s takes %d%% off your purchase, and the offer runs until %s.", false, "%d %s %d",
		"January February March April May June July August September October November December",
		"has left our warehouse and is heading your way", "has safely reached its destination", "is still being carefully put together by our team", "was called off",
	},
	{
		"de", "Kurze Frage zu einem Produkt.", "%s kostet %s.", "%s ist auf Lager.", "%s ist zurzeit vergriffen.",
		"%s kostet weniger als %s.", "Das günstigste Produkt in dieser Auswahl ist %s.", "Bestellung %s %s.",
		"Lieferdatum: %s.", "Die Bestellung kann nicht mehr storniert werden.", "Die Bestellung ist noch stornierbar.", "Bestellung %s wurde soeben von mir annulliert.",
		"Code %s: %d %% Rabatt bis %s.", true, "%d. %s %d",
		"Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
		"ist verschickt", "wurde geliefert", "ist in Bearbeitung und noch nicht verschickt", "ist annulliert",
	},
	{
		"de", "Hallo! Ich bin auf der Suche nach etwas Schönem und brauche ein wenig Beratung.", "Für %s zahlen Sie bei uns %s.", "Sie haben Glück, von %s liegen noch einige Stück für Sie bereit.", "Es tut mir sehr leid, aber %s haben wir im Augenblick nicht vorrätig.",
		"Wenn Sie sich für %s entscheiden, sparen Sie gegenüber %s ein wenig Geld.", "Von allem, was ich Ihnen gezeigt habe, schont %s Ihren Geldbeutel am meisten.", "Ich habe gern für Sie nachgesehen: Ihre Bestellung %s %s.",
		"Der vorgesehene Tag für die Ankunft Ihres Pakets ist der %s.", "So leid es mir tut, diese Bestellung lässt sich nun nicht mehr rückgängig machen.", "Falls Sie es sich anders überlegt haben, können Sie Ihre Bestellung jetzt noch zurückziehen.", "Wie gewünscht habe ich Ihre Bestellung %s gerade rückgängig gemacht.",
		"Als kleines Dankeschön bekommen Sie mit dem Gutschein %s ganze %d %% Ermäßigung, einlösbar bis einschließlich %s.", true, "%d. %s %d",
		"Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
		"hat unser Lager verlassen und reist gerade zu Ihnen", "ist wohlbehalten bei Ihnen eingetroffen", "wird gerade sorgfältig für den Versand vorbereitet", "wurde rückgängig gemacht",
	},
	{
		"fr", "Une question rapide sur un produit.", "%s coûte %s.", "%s est en stock.", "%s est en rupture de stock.",
		"%s coûte moins cher que %s.", "Meilleur prix de la sélection : %s.", "La commande %s %s.",
		"Date de livraison : %s.", "Cette commande ne peut plus être annulée.", "Cette commande est toujours annulable.", "Fait : commande %s annulée par mes soins.",
		"Code %s : %d %% de réduction, fin le %s.", true, "%d %s %d",
		"janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
		"est partie de l'entrepôt", "a été remise au destinataire", "est en traitement et n'est pas encore partie", "est annulée",
	},
	{
		"fr", "Bonjour ! J'aurais bien besoin de vos conseils pour un achat.", "Vous pouvez vous offrir %s pour %s.", "Vous avez de la chance, il nous reste quelques exemplaires du modèle %s.", "Je suis vraiment navrée, mais le modèle %s est épuisé pour le moment.",
		"En choisissant %s, vous ferez une petite économie par rapport à %s.", "De tout ce que je vous ai montré, %s est l'option la plus économique.", "J'ai regardé pour vous avec plaisir : votre commande %s %s.",
		"Le jour fixé pour la remise de votre colis est le %s.", "Je suis sincèrement désolée, mais le délai d'annulation de cette commande est dépassé.", "Rassurez-vous, vous pouvez encore renoncer à cette commande.", "Comme vous le souhaitiez, je me suis chargée d'annuler votre commande %s.",
		"Petit cadeau : avec %s, vous profitez de %d %% de rabais sur vos achats, et ce jusqu'au %s inclus.", true, "%d %s %d",
		"janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
		"a quitté nos locaux et voyage vers vous", "est arrivée à bon port", "est préparée avec soin par notre équipe et partira bientôt", "a finalement été annulée",
	},
	{
		"es", "Una duda rápida sobre un producto.", "%s cuesta %s.", "Hay existencias de %s.", "Producto agotado: %s.",
		"%s cuesta menos que %s.", "El producto de menor precio es %s.", "El pedido %s %s.",
		"Fecha de entrega: %s.", "El pedido ya no se puede cancelar.", "El pedido aún admite cancelación.", "Hecho: he anulado el pedido %s.",
		"Código %s: %d %% menos, caduca el %s.", true, "%d de %s de %d",
		"enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
		"se ha enviado", "consta como entregado", "se está tramitando y no ha salido aún", "figura como cancelado",
	},
	{
		"es", "¡Hola! Me encantaría que me ayudaran a elegir algo bonito.", "Puede llevarse %s por %s.", "Está de suerte, porque nos quedan unidades de %s listas para enviar.", "Cuánto lo siento, pero ahora mismo no nos queda ninguna unidad de %s.",
		"Si se decide por %s, se ahorrará un poco de dinero frente a %s.", "De todo lo que le he enseñado, %s es la opción más económica.", "Lo he mirado con mucho gusto y su pedido %s %s.",
		"Su paquete tiene como fecha de llegada el %s.", "De verdad que lo lamento, pero el plazo para cancelar este pedido ya ha terminado.", "No se preocupe, si cambia de idea aún podemos anularle el pedido.", "Tal como deseaba, he dejado sin efecto su pedido %s.",
		"Tenemos un detalle para usted: con %s disfrutará de una rebaja del %d %% hasta el %s inclusive.", true, "%d de %s de %d",
		"enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
		"ha salido de nuestro almacén y viaja hacia usted", "ya está en sus manos", "se está preparando con mucho cariño en nuestro almacén", "quedó sin efecto",
	},
}

// files hold a store whose titles are in German and whose currency is neither of the demo stores', and in unseen two stores whose
// titles are in Italian and Swedish.
//
//go:embed store unseen
var files embed.FS

// Source is what replies are generated from: stores and the words of replies.
type Source struct {
	folder    string // of files
	isDemo    bool   // the demo stores, too
	languages []phrases
}

// Seen has the stores and words that the table of phrases was written with, Unseen others. If a reply of Unseen changes the table, the next figure
// needs new stores and words.
var (
	Seen   = Source{"store", true, slices.Concat(languages, otherLanguages, newLanguages)}
	Unseen = Source{"unseen", false, unseenLanguages}
)

func (s Source) stores() ([]demo.Dataset, error) {
	folder, err := fs.Sub(files, s.folder)
	if err != nil {
		return nil, err
	}
	stores, err := demo.Read(folder, generatedAt)
	if err != nil || !s.isDemo {
		return stores, err
	}
	more, err := demo.Load(generatedAt)
	return append(more, stores...), err
}

// Generate returns n true replies, each followed by the same reply with one fact changed. Languages, stores and kinds of changes come
// in turn; equal seeds give equal cases.
func Generate(n int, seed uint64, from Source) ([]Case, error) {
	stores, err := from.stores()
	if err != nil {
		return nil, err
	}
	g := generator{rand.New(rand.NewPCG(seed, 0))}
	var cases []Case
	for i := range n {
		kind, p := kinds[i%len(kinds)], from.languages[i/len(kinds)%len(from.languages)]
		store := stores[i/len(kinds)/len(from.languages)%len(stores)]
		var r reply
		switch kind {
		case "other_order_status", "off_by_one_day", "negation", "action_claimed":
			r = g.order(store.Orders, p, kind)
		case "expired_code":
			r = g.code(store.Promotions, p)
		default:
			r = g.products(store.Products, p, kind)
		}
		result, err := json.Marshal(r.result)
		if err != nil {
			return nil, err
		}
		c := Case{
			ID: fmt.Sprintf("g%04d-h", i), Kind: kind, Language: p.language, Message: p.message,
			Payloads: []Payload{{Tool: r.tool, Result: result}}, Text: r.honest, Verdict: "honest",
		}
		cases = append(cases, c)
		c.ID, c.Text, c.Verdict, c.Wrong = fmt.Sprintf("g%04d-c", i), r.corrupted, "corrupted", r.wrong
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("%s: %w", c.ID, err)
		}
		cases = append(cases, c)
	}
	return cases, nil
}

// reply is a true reply with the tool result behind it, and the same with a wrong fact.
type reply struct {
	tool                     string
	result                   any
	honest, corrupted, wrong string
}

// change sets the corrupted text: the honest one with a part replaced, of which wrong must not stand.
func (r *reply) change(part, by, wrong string) {
	r.corrupted, r.wrong = strings.Replace(r.honest, part, by, 1), wrong
}

type generator struct{ *rand.Rand }

// products returns a reply about two products, whose prices differ, out of three that were found.
func (g generator) products(all []*catalogv1.Product, p phrases, kind string) reply {
	var found []*catalogv1.Product
	prices := map[int64]bool{}
	for _, i := range g.Perm(len(all)) {
		amount := all[i].GetVariants()[0].GetPrice().GetAmountMinor()
		if len(found) < 4 && !prices[amount] {
			found, prices[amount] = append(found, all[i]), true
		}
	}
	absent := found[3].GetTitle()
	found = found[:3]
	var rows []map[string]any
	var names, amounts []string
	for _, product := range found {
		v := product.GetVariants()[0]
		rows = append(rows, map[string]any{
			"product_id": product.GetProductId(), "title": product.GetTitle(), "price": money.Text(v.GetPrice()), "stock": v.GetStock(),
		})
		names, amounts = append(names, product.GetTitle()), append(amounts, p.amount(money.Text(v.GetPrice())))
	}
	stock, inverted := p.inStock, p.outOfStock
	if found[0].GetVariants()[0].GetStock() == 0 {
		stock, inverted = inverted, stock
	}
	first, second := fmt.Sprintf(p.price, names[0], amounts[0]), fmt.Sprintf(p.price, names[1], amounts[1])
	stocked := fmt.Sprintf(stock, names[0])
	r := reply{tool: "search_catalog", result: map[string]any{"products": rows}, honest: first + " " + stocked + " " + second}
	byPrice := []int{0, 1, 2} // the numbers of the products
	slices.SortFunc(byPrice, func(i, j int) int {
		return int(found[i].GetVariants()[0].GetPrice().GetAmountMinor() - found[j].GetVariants()[0].GetPrice().GetAmountMinor())
	})
	cheapest, dearest := names[byPrice[0]], names[byPrice[2]]
	switch kind {
	case "comparison":
		r.honest = first + " " + second + " " + fmt.Sprintf(p.cheaper, cheapest, dearest)
		wrong := fmt.Sprintf(p.cheaper, dearest, cheapest)
		r.change(fmt.Sprintf(p.cheaper, cheapest, dearest), wrong, wrong)
	case "superlative":
		r.honest = first + " " + second + " " + fmt.Sprintf(p.cheapest, cheapest)
		wrong := fmt.Sprintf(p.cheapest, dearest)
		r.change(fmt.Sprintf(p.cheapest, cheapest), wrong, wrong)
	case "digit":
		at := len(amounts[0]) - len(" EUR") - 1
		changed := amounts[0][:at] + string('0'+(amounts[0][at]-'0'+3)%10) + amounts[0][at+1:]
		r.change(amounts[0], changed, changed)
	case "neighbour_price": // of a product that the reply does not name
		r.change(amounts[0], amounts[2], amounts[2])
	case "currency":
		changed := amounts[0][:len(amounts[0])-len("EUR")] + "USD"
		r.change(amounts[0], changed, changed)
	case "absent_product":
		r.change(names[1], absent, absent)
	case "stock_inverted":
		wrong := fmt.Sprintf(inverted, names[0])
		r.change(stocked, wrong, wrong)
	default: // swapped_subject
		wrong := fmt.Sprintf(p.price, names[0], amounts[1])
		r.change(first, wrong, wrong)
		r.corrupted = strings.Replace(r.corrupted, second, fmt.Sprintf(p.price, names[1], amounts[0]), 1)
	}
	return r
}

// order returns a reply about an order that has left, beside one in another state.
func (g generator) order(all []*orderv1.Order, p phrases, kind string) reply {
	statuses := map[orderv1.OrderStatus]string{
		orderv1.OrderStatus_ORDER_STATUS_SHIPPED: p.shipped, orderv1.OrderStatus_ORDER_STATUS_DELIVERED: p.delivered,
		orderv1.OrderStatus_ORDER_STATUS_PROCESSING: p.processing, orderv1.OrderStatus_ORDER_STATUS_CANCELLED: p.isCancelled,
	}
	left := slices.DeleteFunc(slices.Clone(all), func(o *orderv1.Order) bool {
		status := o.GetStatus()
		return status != orderv1.OrderStatus_ORDER_STATUS_SHIPPED && status != orderv1.OrderStatus_ORDER_STATUS_DELIVERED ||
			len(o.GetFulfilments()) == 0 || o.GetFulfilments()[0].GetEstimatedDeliveryTime() == nil
	})
	order := left[g.IntN(len(left))]
	others := slices.DeleteFunc(slices.Clone(all), func(o *orderv1.Order) bool {
		wasSo := order.GetStatus() == orderv1.OrderStatus_ORDER_STATUS_DELIVERED && o.GetStatus() == orderv1.OrderStatus_ORDER_STATUS_SHIPPED
		return wasSo || o.GetStatus() == order.GetStatus() || statuses[o.GetStatus()] == ""
	})
	other := others[g.IntN(len(others))]
	due := order.GetFulfilments()[0].GetEstimatedDeliveryTime().AsTime()
	row := func(o *orderv1.Order) map[string]any {
		name := strings.TrimPrefix(o.GetStatus().String(), "ORDER_STATUS_")
		return map[string]any{"order_id": o.GetOrderId(), "status": strings.ToLower(name), "total": money.Text(o.GetTotal())}
	}
	first := row(order)
	first["tracking"] = map[string]string{
		"tracking_number":    order.GetFulfilments()[0].GetTrackingNumber(),
		"estimated_delivery": due.Format("2 January 2006"),
	}
	first["not_possible"] = []string{"the order can not be cancelled: it has left the warehouse"}
	status, date := fmt.Sprintf(p.order, order.GetOrderId(), statuses[order.GetStatus()]), p.day(due)
	r := reply{
		tool: "list_orders", result: map[string]any{"orders": []any{first, row(other)}},
		honest: status + " " + fmt.Sprintf(p.arrives, date) + " " + p.notCancel,
	}
	switch kind {
	case "other_order_status":
		wrong := fmt.Sprintf(p.order, order.GetOrderId(), statuses[other.GetStatus()])
		r.change(status, wrong, wrong)
	case "off_by_one_day":
		wrong := p.day(due.AddDate(0, 0, 1-2*g.IntN(2)))
		r.change(date, wrong, wrong)
	case "negation":
		r.change(p.notCancel, p.cancel, p.cancel)
	default: // action_claimed
		wrong := fmt.Sprintf(p.cancelled, order.GetOrderId())
		r.change(p.notCancel, wrong, wrong)
	}
	return r
}

// code returns a reply that proposes a code, beside one that has ended.
func (g generator) code(all []*promotionv1.Promotion, p phrases) reply {
	var current, ended []*promotionv1.Promotion
	for _, promotion := range all {
		switch end := promotion.GetEndTime(); {
		case end != nil && end.AsTime().Before(generatedAt):
			ended = append(ended, promotion)
		case end != nil && promotion.GetPercentOff() != nil && promotion.GetStartTime().AsTime().Before(generatedAt):
			current = append(current, promotion)
		}
	}
	good, old := current[g.IntN(len(current))], ended[g.IntN(len(ended))]
	percent, end := good.GetPercentOff().GetBasisPoints()/100, good.GetEndTime().AsTime()
	r := reply{
		tool: "list_active_promotions",
		result: map[string]any{"promotions": []any{
			map[string]any{"code": good.GetCode(), "title": good.GetTitle(), "offer": fmt.Sprintf("%d%% off all products", percent), "eligible": true, "ends": end.Format("2 January 2006")},
			map[string]any{"code": old.GetCode(), "title": old.GetTitle(), "eligible": false, "refused": "expired", "explanation": old.GetCode() + " has ended."},
		}},
		honest: fmt.Sprintf(p.code, good.GetCode(), percent, p.day(end)),
	}
	r.change(good.GetCode(), old.GetCode(), old.GetCode())
	return r
}

// amount writes an amount as the language does.
func (p phrases) amount(s string) string {
	if p.decimalComma {
		return strings.Replace(s, ".", ",", 1)
	}
	return s
}

func (p phrases) day(t time.Time) string {
	return fmt.Sprintf(p.date, t.Day(), strings.Fields(p.months)[t.Month()-1], t.Year())
}
