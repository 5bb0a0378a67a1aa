package index

// spanishWords are those of a Spanish-speaking shopper.
var spanishWords = wordlist{
	fillers: `busco buscamos buscar quiero queremos quisiera necesito necesitamos muestra muéstrame enséñame dame encontrar comprar
venden vendéis tienen tenéis tienes hay algo alguna alguno algún cosa cosas producto productos artículo artículos bueno buena
buenos buenas mejor mejores bonito bonita barato barata baratos baratas caro cara caros caras precio precios cuesta cuestan
cuánto menos más máximo mínimo entre unos euro euros eur talla tallas número color disponible disponibles stock catálogo
gracias hola favor recomienda recomiendas qué cuál cuáles`,
	vague: wordSet(`ligero ligera ligeros ligeras cálido cálida cálidos cálidas cómodo cómoda cómodos cómodas resistente resistentes pequeño
pequeña pequeños pequeñas grande grandes compacto compacta nuevo nueva práctico práctica`),
	prepositions: wordSet(`de del para con sin en a al por bajo sobre contra desde hasta`),
	qualifiers: wordSet(`hombre hombres mujer mujeres niño niña niños niñas impermeable impermeables negro negra blanco blanca rojo roja azul
verde gris invierno verano unisex`),
	beforeAmount: wordSet(`menos más máximo mínimo talla tallas número entre hasta desde eu`),
	afterAmount:  wordSet(`euro euros eur`),
	implications: map[string][]string{
		"lluvia": {"impermeable", "chubasquero"},
		"frío":   {"cálido", "térmico", "invierno"},
		"viento": {"cortavientos"},
	},
}
