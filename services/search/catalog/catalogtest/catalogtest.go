// Package catalogtest has products and updates for tests of the search service.
package catalogtest

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
)

func Eur(minor int64) *commonv1.Money {
	return &commonv1.Money{AmountMinor: minor, CurrencyCode: "EUR"}
}

func Text(name, value string) *catalogv1.Attribute {
	return &catalogv1.Attribute{Name: name, Value: &catalogv1.Attribute_Text{Text: value}}
}

func Flag(name string, value bool) *catalogv1.Attribute {
	return &catalogv1.Attribute{Name: name, Value: &catalogv1.Attribute_Flag{Flag: value}}
}

func Quantity(name string, value float64, unit string) *catalogv1.Attribute {
	return &catalogv1.Attribute{Name: name, Value: &catalogv1.Attribute_Number{Number: value}, Unit: unit}
}

func Variant(id string, price int64, stock int32, options ...string) *catalogv1.Variant {
	v := &catalogv1.Variant{VariantId: id, Price: Eur(price), Stock: stock, Options: map[string]string{}}
	for i := 0; i+1 < len(options); i += 2 {
		v.Options[options[i]] = options[i+1]
	}
	return v
}

// Sizes makes a variant for each size, all of one price. Sizes in soldOut have no stock.
func Sizes(price int64, from, to int, soldOut ...int) []*catalogv1.Variant {
	var out []*catalogv1.Variant
	for n := from; n <= to; n++ {
		stock := int32(3)
		for _, s := range soldOut {
			if s == n {
				stock = 0
			}
		}
		out = append(out, Variant(fmt.Sprintf("s%d", n), price, stock, "size", fmt.Sprint(n), "colour", "slate"))
	}
	return out
}

// Outdoor is a small catalog of invented products.
func Outdoor() []*catalogv1.Product {
	return []*catalogv1.Product{
		{
			ProductId: "SHOE-1", Title: "Kestrel Ridge trail running shoe", Brand: "Kestrel",
			CategoryPath: []string{"Footwear", "Trail running shoes"}, Tags: []string{"trail running", "cushioned"},
			Attributes: []*catalogv1.Attribute{Flag("waterproof", false), Quantity("weight", 290, "g"), Text("gender", "unisex")},
			Variants:   Sizes(11995, 38, 47, 42), ComplementIds: []string{"SOCK-1", "LAMP-1"},
			Url: "https://shop.example/SHOE-1",
		},
		{
			ProductId: "SHOE-2", Title: "Moorhen Dash trail running shoe", Brand: "Moorhen",
			CategoryPath: []string{"Footwear", "Trail running shoes"}, Tags: []string{"trail running", "light"},
			Attributes: []*catalogv1.Attribute{Flag("waterproof", true), Quantity("weight", 250, "g"), Text("gender", "women")},
			Variants:   Sizes(8995, 36, 42),
		},
		{
			ProductId: "BOOT-1", Title: "Kestrel Fell hiking boot", Brand: "Kestrel", Description: "Not a running shoe.",
			CategoryPath: []string{"Footwear", "Hiking boots"}, Tags: []string{"hiking", "waterproof"},
			Variants: Sizes(15995, 39, 46),
		},
		{
			ProductId: "SOCK-1", Title: "Moorhen trail sock", Brand: "Moorhen",
			CategoryPath: []string{"Clothing", "Socks"}, Tags: []string{"trail running"},
			Attributes: []*catalogv1.Attribute{Text("material", "merino wool")},
			Variants:   []*catalogv1.Variant{Variant("m", 1495, 20, "size", "M"), Variant("l", 1495, 0, "size", "L")},
		},
		{
			ProductId: "TENT-1", Title: "Heronry Vale 2 tent", Brand: "Heronry",
			CategoryPath: []string{"Camping", "Tents"}, Tags: []string{"camping", "hiking"},
			Attributes: []*catalogv1.Attribute{Quantity("persons", 2, "")},
			Variants:   []*catalogv1.Variant{Variant("moss", 28995, 4, "colour", "moss green")},
		},
		{
			ProductId: "TENT-2", Title: "Heronry Manor 6 tent", Brand: "Heronry",
			CategoryPath: []string{"Camping", "Tents"}, Tags: []string{"camping", "family"},
			Variants: []*catalogv1.Variant{Variant("std", 57995, 1)},
		},
		{
			ProductId: "PEG-1", Title: "Tent pegs, set of ten", Brand: "Heronry", Description: "For every tent.",
			CategoryPath: []string{"Camping", "Tent spares"}, Tags: []string{"camping"},
			Variants: []*catalogv1.Variant{Variant("std", 995, 50)},
		},
		{
			ProductId: "LAMP-1", Title: "Glowworm 300 headlamp", Brand: "Glowworm",
			CategoryPath: []string{"Equipment", "Headlamps & lanterns"}, Tags: []string{"trail running", "camping"},
			Variants: []*catalogv1.Variant{Variant("std", 3995, 0)},
		},
		{
			ProductId: "LAMP-2", Title: "Glowworm camp lantern", Brand: "Glowworm",
			CategoryPath: []string{"Equipment", "Headlamps & lanterns"}, Tags: []string{"camping"},
			Variants: []*catalogv1.Variant{Variant("std", 2995, 7)},
		},
		{
			ProductId: "PACK-1", Title: "Heronry Stile 30 backpack", Brand: "Heronry",
			CategoryPath: []string{"Bags", "Backpacks"}, Tags: []string{"hiking"},
			Attributes: []*catalogv1.Attribute{Quantity("capacity", 30, "l")},
			Variants:   []*catalogv1.Variant{Variant("std", 9995, 6)},
		},
	}
}

// Wardrobe is a catalog in which words of one query are met by products of several kinds.
func Wardrobe() []*catalogv1.Product {
	jacket := func(id, title, description string, price int64, tags ...string) *catalogv1.Product {
		return &catalogv1.Product{
			ProductId: id, Title: title, Description: description, CategoryPath: []string{"Clothing", "Jackets"}, Tags: tags,
			Variants: []*catalogv1.Variant{Variant("std", price, 3)},
		}
	}
	return []*catalogv1.Product{
		jacket("DOWN-1", "Fledge down jacket", "With a hood.", 18900, "down"),
		jacket("SYN-1", "Stoker synthetic jacket", "Warmer than down jackets once wet. With a hood.", 16900, "warm"),
		jacket("RAIN-1", "Squall jacket", "Sheds showers.", 7995, "waterproof"),
		{
			ProductId: "COVER-1", Title: "Pack cover", CategoryPath: []string{"Accessories"}, Tags: []string{"hiking", "waterproof"},
			Variants: []*catalogv1.Variant{Variant("std", 1995, 3)},
		},
		{
			ProductId: "NOTE-1", Title: "Trail journal", CategoryPath: []string{"Accessories"}, Tags: []string{"hiking"},
			Variants: []*catalogv1.Variant{Variant("std", 1795, 3)},
		},
		{
			ProductId: "LAMP-1", Title: "Glint light", Description: "Shows the way.", CategoryPath: []string{"Equipment"},
			Tags: []string{"camping"}, Variants: []*catalogv1.Variant{Variant("std", 2995, 3)},
		},
	}
}

func Thing(id, title string) *catalogv1.Product {
	return &catalogv1.Product{
		ProductId: id, Title: title, CategoryPath: []string{"Things"}, Variants: []*catalogv1.Variant{Variant("std", 100, 1)},
	}
}

// Titled makes a catalog of titles, numbered from 1.
func Titled(titles ...string) []*catalogv1.Product {
	var out []*catalogv1.Product
	for i, title := range titles {
		out = append(out, Thing(fmt.Sprintf("P-%d", i+1), title))
	}
	return out
}

// Described is a product with a title, a description and a category.
func Described(id, title, description, category string) *catalogv1.Product {
	p := Thing(id, title)
	p.Description, p.CategoryPath = description, []string{category}
	return p
}

func German() []*catalogv1.Product {
	return []*catalogv1.Product{
		Described("JACKE", "Brachvogel Sturmjacke", "Die Jacke hält auch im Regen dicht und passt in jede Tasche.", "Jacken"),
		Described("HOSE", "Brachvogel Hose Herren", "Für lange Touren, mit vier aufgesetzten Fächern.", "Hosen"),
		Described("MANTEL", "Kiebitz Mantel", "Ein warmes Stück aus Wolle für kalte Tage.", "Mäntel"),
		Described("SACK", "Kiebitz Rucksack 20 l", "Sitzt gut und hat Platz für alles, was man am Tag braucht.", "Rucksäcke"),
		Described("LAMPE", "Eisvogel Stirnlampe L3", "Leuchtet weit und hält zehn Stunden durch.", "Lampen"),
		Described("SCHUH", "Eisvogel Wanderschuhe", "Fester Halt auf dem Fels, auch mit schwerem Gepäck.", "Schuhe"),
	}
}

func French() []*catalogv1.Product {
	return []*catalogv1.Product{
		Described("VESTE", "Veste imperméable Courlis", "Elle protège de la pluie et se range dans une poche.", "Vestes"),
		Described("TENTE", "Tente deux places Courlis", "Se monte en dix minutes, pour les nuits en montagne.", "Tentes"),
		Described("PIED", "Chaussures de randonnée Vanneau", "Une semelle qui tient sur le rocher, pour les longues marches.", "Chaussures"),
		Described("FRONT", "Lampe frontale Vanneau F2", "Éclaire à cent mètres et se recharge par câble.", "Éclairage"),
		Described("GOURDE", "Gourde en acier", "Garde l'eau fraîche pendant une journée.", "Gourdes"),
		Described("BONNET", "Bonnet de laine", "Tricoté avec soin pour les jours froids.", "Bonnets"),
	}
}

func Spanish() []*catalogv1.Product {
	return []*catalogv1.Product{
		Described("CHAQUETA", "Chaqueta impermeable Zarapito", "Protege de la lluvia y se guarda en su propio bolsillo.", "Chaquetas"),
		Described("TIENDA", "Tienda de campaña Zarapito", "Se monta en diez minutos, para dos noches en la montaña.", "Tiendas"),
		Described("BOTA", "Botas de senderismo Avefría", "Una suela que agarra en la roca, con buen apoyo.", "Botas"),
		Described("FRONTAL", "Linterna frontal Avefría F2", "Ilumina hasta cien metros y se carga por cable.", "Linternas"),
		Described("PANTALON", "Pantalón de montaña", "Con cuatro bolsillos para las rutas largas.", "Pantalones"),
		Described("CALCETIN", "Calcetines de lana", "Abrigan los pies en los días más fríos.", "Calcetines"),
	}
}

func Stocks(productID, variantID string, stock int32) *catalogv1.VariantUpdate {
	return &catalogv1.VariantUpdate{ProductId: productID, VariantId: variantID, Stock: &stock}
}

func Priced(productID, variantID string, price, listPrice *commonv1.Money) *catalogv1.VariantUpdate {
	return &catalogv1.VariantUpdate{ProductId: productID, VariantId: variantID, Price: price, ListPrice: listPrice}
}

func Usd(minor int64) *commonv1.Money {
	return &commonv1.Money{AmountMinor: minor, CurrencyCode: "USD"}
}

// MarkedDown is a product of two variants, the second of which costs less than it did.
func MarkedDown() *catalogv1.Product {
	p := Thing("P-1", "green lamp")
	p.Variants = []*catalogv1.Variant{Variant("a", 1000, 1, "size", "S"), Variant("b", 2000, 2, "size", "M")}
	p.Variants[1].ListPrice = Eur(2500)
	return p
}

// CommandHook is called after each command, and after each pipeline with "pipeline of" and the name of its first command.
type CommandHook func(command string)

// DialHook implements redis.Hook.
func (m CommandHook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook implements redis.Hook.
func (m CommandHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		err := next(ctx, commands)
		m("pipeline of " + commands[0].Name())
		return err
	}
}

// ProcessHook implements redis.Hook.
func (m CommandHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		m(cmd.Name())
		return err
	}
}
