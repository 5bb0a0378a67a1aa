package index

// germanWords are those of a German-speaking shopper.
var germanWords = wordlist{
	fillers: `suche suchen sucht brauche brauchen braucht möchte möchten hätte gern gerne bitte zeig zeige zeigen zeigt finde finden
kaufe kaufen gibt gebt habt haben führt verkauft verkaufen etwas was welche welcher welches empfehlen empfiehl empfehlung ding sache
sachen produkt produkte artikel gut gute guten guter gutes beste besten bester bestes schön schöne schönen schöner schönes
günstig günstige günstigen günstiger günstigste billig billige billigste teuer teure teuerste preis preise kostet kosten
höchstens maximal mindestens unter über bis rund etwa ungefähr zwischen weniger mehr als euro eur größe größen farbe lager
vorrätig lieferbar verfügbar laden shop katalog hallo danke passt passend`,
	vague: wordSet(`leicht leichte leichten leichter leichtes warm warme warmen warmer warmes bequem bequeme bequemer bequemes robust
robuste robuster groß große großer großes klein kleine kleiner kleines kompakt kompakte neu neue neuer neues`),
	prepositions: wordSet(`für mit ohne von vom zum zur aus bei beim auf an am im in unter über ab bis gegen um zu`),
	qualifiers: wordSet(`herren damen kinder männer frauen jungen mädchen unisex wasserdicht wasserdichte wasserdichter winddicht schwarz
schwarze schwarzer weiß weiße rot rote roter blau blaue blauer grün grüne grüner grau graue grauer winter sommer`),
	beforeAmount: wordSet(`unter über bis ab maximal höchstens mindestens größe größen etwa rund zwischen um eu`),
	afterAmount:  wordSet(`euro euros eur`),
	implications: map[string][]string{
		"regen": {"wasserdicht", "regenjacke", "regendicht"},
		"kälte": {"warm", "gefüttert", "winter"},
		"wind":  {"winddicht"},
	},
}
