package index

// frenchWords are those of a French-speaking shopper.
var frenchWords = wordlist{
	fillers: `cherche cherchons chercher veux voudrais voudrait aimerais besoin faut montrez montre montrer trouver trouve acheter
vendez vendre avez svp plaît merci bonjour salut quelque quelques chose choses produit produits article articles bon bonne bons
bonnes meilleur meilleure meilleurs meilleures beau belle cher chère chers chères prix coûte coûtent coûter moins plus
maximum minimum environ entre euro euros eur taille tailles couleur stock disponible disponibles magasin boutique
conseillez recommandez quel quelle quels quelles combien est-ce avez-vous`,
	vague: wordSet(`léger légère légers légères chaud chaude chauds chaudes confortable confortables solide solides petit petite petits
petites grand grande grands grandes compact compacte nouveau nouvelle robuste pratique`),
	prepositions: wordSet(`de du des d pour avec sans en à au aux sous sur dans par contre chez`),
	qualifiers: wordSet(`homme hommes femme femmes enfant enfants garçon fille imperméable imperméables étanche étanches noir noire blanc
blanche rouge bleu bleue vert verte gris grise hiver été mixte`),
	beforeAmount: wordSet(`sous moins plus maximum minimum taille tailles pointure environ entre à eu`),
	afterAmount:  wordSet(`euro euros eur`),
	implications: map[string][]string{
		"pluie": {"imperméable", "étanche"},
		"froid": {"chaud", "isolant", "hiver"},
		"vent":  {"coupe-vent"},
	},
}
