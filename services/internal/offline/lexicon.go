package offline

import "strings"

// lexicon translates what shoppers write most into English, one "foreign=english" pair after the other. Keys are folded
// and singular; a phrase has its words joined by '_', a meaning of several words by '+', and an empty meaning drops the word.
var lexicon = [languages]map[string]string{
	spanish: pairs(`pesa=weight pesan=weight tetera=teapot tetero=teapot gusta=likes gustan=likes encanta=loves encantan=loves ama=loves tiempo=time precio=price mama=mom papa=dad madre=mom padre=dad novia=girlfriend novio=boyfriend hermana=sister hermano=brother persona=person
		mochila=backpack impermeable=waterproof zapatilla=shoe zapatilla_de_running=running+shoe zapatilla_de_correr=running+shoe
		zapatilla_de_trail=trail+running+shoe zapato=shoe bota=boot bota_de_montana=hiking+boot tienda_de_campana=tent carpa=tent saco_de_dormir=sleeping+bag
		saco=sleeping+bag esterilla=sleeping+mat colchoneta=mat chaqueta=jacket chubasquero=rain+jacket abrigo=coat camiseta=t-shirt camisa=shirt pantalon=trousers
		pantalon_corto=shorts calcetin=sock guante=glove gorro=hat gorra=cap bufanda=scarf sudadera=hoodie jersey=sweater vestido=dress falda=skirt
		linterna=torch linterna_frontal=headlamp frontal=headlamp bastones=poles baston=pole hornillo=stove cocina=stove cantimplora=bottle botella=bottle
		termo=flask bicicleta=bicycle bici=bike casco=helmet cuerda=rope navaja=knife reloj=watch gafas=glasses gafas_de_sol=sunglasses bolso=bag maleta=suitcase
		silla=chair mesa=table manta=blanket toalla=towel banador=swimsuit libro=book juguete=toy regalo=gift
		devolucion=return devolver=return reembolso=refund reembolsar=refund cambio=exchange cambiar=exchange cancelar=cancel pedido=order compra=purchase comprar=buy
		paquete=package envio=shipping enviar=ship entrega=delivery entregar=deliver llegar=arrive llega=arrive llegado=arrived seguimiento=tracking rastrear=track
		descuento=discount oferta=offer promocion=promotion cupon=coupon codigo=code rebaja=sale rebajado=discounted carrito=cart cesta=cart
		politica=policy garantia=warranty condiciones=terms plazo=deadline gasto=cost factura=invoice pago=payment pagar=pay tarjeta=card roto=broken rota=broken
		defectuoso=faulty danado=damaged cremallera=zipper reparar=repair reparacion=repair talla=size tamano=size color=colour precio=price cuesta=cost cuestan=cost costar=cost
		barato=cheap barata=cheap mas_barato=cheapest mas_barata=cheapest caro=expensive mas_caro=most+expensive mas_cara=most+expensive disponible=available
		existencias=stock en_stock=in+stock producto=product articulo=item marca=brand hombre=men mujer=women nino=kids nina=kids padre=dad madre=mom amigo=friend
		ligero=light ligera=light calido=warm caliente=warm comodo=comfortable resistente=durable lluvia=rain invierno=winter verano=summer montana=mountain
		senderismo=hiking acampada=camping camping=camping correr=running escalada=climbing viaje=travel playa=beach deporte=sport persona=person
		combinar=match combina=match recomendar=recommend recomienda=recommend recomendais=recommend recomendacion=recommendation parecido=similar similar=similar dia=day semana=week tienda=store
		direccion=address cuenta=account hora=hour abierto=opened abierta=opened usado=used usada=used
		azul=blue rojo=red roja=red verde=green negro=black negra=black blanco=white blanca=white amarillo=yellow amarilla=yellow gris=grey marron=brown rosa=pink naranja=orange
		tarda= tardan= tardar= tiempo=weather vuelo=flight habitacion=room manana=tomorrow hoy=today`),
	german: pairs(`wiegt=weight wiegen=weight tee=tea gruntee=green+tea schwarztee=black+tea krautertee=herbal+tea teekanne=teapot kanne=pot mag=likes liebt=loves mutter=mom vater=dad bruder=brother schwester=sister freund=friend freundin=friend preis=price
		rucksack=backpack rucksacke=backpack wasserdicht=waterproof wasserfest=waterproof laufschuh=running+shoe traillaufschuh=trail+running+shoe schuh=shoe stiefel=boot
		wanderschuh=hiking+boot wanderstiefel=hiking+boot wander=hiking lauf=running turnschuh=sneaker zelt=tent schlafsack=sleeping+bag schlafsacke=sleeping+bag isomatte=sleeping+mat matte=mat jacke=jacket
		regenjacke=rain+jacket mantel=coat hemd=shirt t-shirt=t-shirt hose=trousers socke=sock handschuh=glove mutze=hat schal=scarf pullover=sweater kleid=dress rock=skirt
		taschenlampe=torch stirnlampe=headlamp wanderstock=hiking+pole wanderstocke=hiking+poles stock=pole stocke=poles kocher=stove trinkflasche=bottle flasche=bottle fahrrad=bicycle rad=bike helm=helmet seil=rope
		messer=knife uhr=watch brille=glasses sonnenbrille=sunglasses tasche=bag koffer=suitcase stuhl=chair tisch=table decke=blanket handtuch=towel buch=book spielzeug=toy geschenk=gift
		ruckgabe=return zuruckgeben=return zurucksenden=return zuruckschicken=return rucksendung=return retoure=return erstattung=refund geld_zuruck=refund umtausch=exchange umtauschen=exchange
		stornieren=cancel bestellung=order auftrag=order kauf=purchase kaufen=buy paket=package versand=shipping versandkosten=shipping+cost kosten=cost verschicken=ship liefern=deliver
		lieferung=delivery lieferzeit=delivery+time ankommen=arrive angekommen=arrived sendung=shipment verfolgen=track sendungsverfolgung=tracking rabatt=discount angebot=offer aktion=promotion gutschein=coupon
		gutscheincode=coupon+code rabattcode=discount+code code=code warenkorb=cart einkaufswagen=cart richtlinie=policy regel=rule bedingungen=terms garantie=warranty gewahrleistung=warranty
		frist=deadline rechnung=invoice zahlung=payment bezahlen=pay zahlen=pay karte=card kaputt=broken defekt=faulty beschadigt=damaged reissverschluss=zipper reisverschluss=zipper reisverschlus=zipper reparieren=repair
		reparatur=repair grosse=size grose=size farbe=colour preis=price kostet=cost billig=cheap gunstig=cheap billigste=cheapest gunstigste=cheapest billigsten=cheapest gunstigsten=cheapest
		teuer=expensive teuerste=most+expensive teuersten=most+expensive lieferbar=available verfugbar=available vorratig=in+stock auf_lager=in+stock produkt=product artikel=item marke=brand
		herren=men manner=men damen=women frauen=women kind=kids kinder=kids vater=dad mutter=mom freund=friend leicht=light warm=warm bequem=comfortable robust=durable regen=rain winter=winter
		sommer=summer berg=mountain wandern=hiking zelten=camping camping=camping laufen=running klettern=climbing reise=travel strand=beach sport=sport person=person personen=person passen=match
		passt=match passend=match empfehlen=recommend empfehlung=recommendation empfiehlst=recommend ahnlich=similar tage=day woche=week laden=store adresse=address konto=account geoffnet=opened benutzt=used
		gebraucht=used blau=blue rot=red grun=green schwarz=black weiss=white weis=white gelb=yellow grau=grey braun=brown rosa=pink dauert= lange= wetter=weather flug=flight zimmer=room heute=today`),
	french: pairs(`pese=weight pesent=weight theiere=teapot aime=likes aiment=likes adore=loves adorent=loves maman=mom papa=dad frere=brother soeur=sister
		sac_a_dos=backpack sac=bag impermeable=waterproof etanche=waterproof chaussure=shoe chaussure_de_course=running+shoe chaussure_de_trail=trail+running+shoe basket=sneaker botte=boot
		chaussure_de_randonnee=hiking+boot tente=tent sac_de_couchage=sleeping+bag duvet=sleeping+bag matelas=mat tapis=mat veste=jacket veste_de_pluie=rain+jacket manteau=coat chemise=shirt
		tee-shirt=t-shirt t-shirt=t-shirt pantalon=trousers short=shorts chaussette=sock gant=glove bonnet=hat casquette=cap echarpe=scarf pull=sweater robe=dress jupe=skirt lampe=torch
		lampe_frontale=headlamp frontale=headlamp baton=pole rechaud=stove gourde=bottle bouteille=bottle velo=bicycle casque=helmet corde=rope couteau=knife montre=watch lunettes=glasses
		lunettes_de_soleil=sunglasses valise=suitcase chaise=chair table=table couverture=blanket serviette=towel livre=book jouet=toy cadeau=gift
		retour=return retourner=return renvoyer=return rendre=return remboursement=refund rembourser=refund echange=exchange echanger=exchange annuler=cancel commande=order achat=purchase acheter=buy
		colis=package livraison=delivery frais_de_port=shipping+cost frais_de_livraison=shipping+cost livrer=deliver livrez=deliver expedition=shipping expedier=ship arriver=arrive arrive=arrive arrivee=arrived suivi=tracking suivre=track
		reduction=discount remise=discount promotion=promotion promo=promotion code_promo=promotion+code coupon=coupon bon=voucher code=code solde=sale offre=offer panier=cart
		politique=policy garantie=warranty condition=terms delai=deadline facture=invoice paiement=payment payer=pay carte=card casse=broken cassee=broken defectueux=faulty abime=damaged
		fermeture_eclair=zipper reparer=repair reparation=repair taille=size pointure=size couleur=colour prix=price coute=cost coutent=cost moins_cher=cheapest moins_chere=cheapest moins_cheres=cheapest
		cher=expensive chere=expensive plus_cher=most+expensive plus_chere=most+expensive disponible=available en_stock=in+stock produit=product article=item marque=brand homme=men femme=women
		enfant=kids pere=dad mere=mom ami=friend leger=light legere=light chaud=warm confortable=comfortable solide=durable pluie=rain hiver=winter ete=summer montagne=mountain randonnee=hiking
		camping=camping course=running courir=running escalade=climbing voyage=travel plage=beach sport=sport personne=person assortir=match assorti=match recommander=recommend recommandez=recommend
		recommandation=recommendation similaire=similar jour=day semaine=week magasin=store boutique=store adresse=address compte=account ouvert=opened ouverte=opened utilise=used
		bleu=blue bleue=blue rouge=red vert=green verte=green noir=black noire=black blanc=white blanche=white jaune=yellow gris=grey grise=grey marron=brown rose=pink orange=orange
		prend= temps=time meteo=weather vol=flight chambre=room demain=tomorrow aujourd=today`),
}

func pairs(list string) map[string]string {
	out := map[string]string{}
	for _, p := range strings.Fields(list) {
		from, to, _ := strings.Cut(p, "=")
		out[strings.ReplaceAll(from, "_", " ")] = strings.ReplaceAll(to, "+", " ")
	}
	return out
}

// longestPhrase is how many words a key of the lexicon may have.
const longestPhrase = 4

// translate returns the English for the longest phrase that ws begins with, and how many words that is; 0 when unknown.
func translate(lang language, ws []word) (string, int) {
	if lang == english {
		return "", 0
	}
	for n := min(longestPhrase, len(ws)); n > 0; n-- {
		parts := make([]string, n)
		for i := range n {
			parts[i] = ws[i].norm
		}
		if en, ok := lookUp(lang, parts); ok {
			return en, n
		}
	}
	if lang == german {
		if en := compound(ws[0].norm); en != "" {
			return en, 1
		}
	}
	return "", 0
}

// lookUp tries the phrase as it is, then with its first word (the noun), its last, and all words in the singular.
func lookUp(lang language, parts []string) (string, bool) {
	table := lexicon[lang]
	if en, ok := table[strings.Join(parts, " ")]; ok {
		return en, true
	}
	for _, one := range singulars(parts[0]) {
		if en, ok := table[strings.Join(append([]string{one}, parts[1:]...), " ")]; ok {
			return en, true
		}
	}
	if len(parts) == 1 {
		return "", false
	}
	last := len(parts) - 1
	for _, one := range singulars(parts[last]) {
		if en, ok := table[strings.Join(append(append([]string{}, parts[:last]...), one), " ")]; ok {
			return en, true
		}
	}
	return "", false
}

// singulars returns what a folded plural or inflected word may have been.
func singulars(w string) []string {
	var out []string
	for _, end := range []string{"s", "es", "n", "en", "e", "er", "em", "x"} {
		if one, ok := strings.CutSuffix(w, end); ok && len(one) >= 3 {
			out = append(out, one)
		}
	}
	for _, end := range []string{"lo", "la", "los", "las", "le", "me"} { // "devolverlo"
		if verb, ok := strings.CutSuffix(w, end); ok && strings.HasSuffix(verb, "r") {
			out = append(out, verb)
		}
	}
	return out
}

// compound translates a German word made of two known ones, such as Rückgaberichtlinie.
func compound(w string) string {
	for i := 3; i+3 <= len(w); i++ {
		head, okHead := lookUp(german, []string{w[:i]})
		if !okHead {
			continue
		}
		tail := w[i:]
		for _, t := range []string{tail, strings.TrimPrefix(tail, "s"), strings.TrimPrefix(tail, "n")} {
			if en, ok := lookUp(german, []string{t}); ok {
				return head + " " + en
			}
		}
	}
	return ""
}
