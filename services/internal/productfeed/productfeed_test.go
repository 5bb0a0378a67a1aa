package productfeed

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"
	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"

	"github.com/quartet-commerce/quartet/services/internal/jsonl"
)

var now = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// readAll returns the products and what is said of bad lines.
func readAll(t *testing.T, extension, text string) (products []*catalogv1.Product, refusals []string) {
	t.Helper()
	for line, err := range Read(strings.NewReader(text), Config{Extension: extension, Currency: "EUR", Now: now}) {
		var bad *jsonl.LineError
		switch {
		case errors.As(err, &bad):
			refusals = append(refusals, bad.Error())
		case err != nil:
			t.Fatal(err)
		default:
			products = append(products, line.Item)
		}
	}
	return products, refusals
}

func eur(minor int64) *commonv1.Money {
	return &commonv1.Money{AmountMinor: minor, CurrencyCode: "EUR"}
}

// boot is a product of two variants, in the three formats below.
func boot() *catalogv1.Product {
	return &catalogv1.Product{
		ProductId: "BOOT", Title: "Heath boot", Description: "Warm.\nDry & light.", Brand: "Heathmoor",
		CategoryPath: []string{"Footwear", "Boots, winter"}, Url: "https://shop.example/boot", Audience: "women", AgeGroup: catalogv1.AgeGroup_AGE_GROUP_ADULT,
		ImageUrls:  []string{"https://shop.example/1.jpg", "https://shop.example/2.jpg", "https://shop.example/3.jpg"},
		Attributes: []*catalogv1.Attribute{{Name: "material", Value: &catalogv1.Attribute_Text{Text: "wool"}}},
		Variants: []*catalogv1.Variant{
			{VariantId: "B-38", Options: map[string]string{"size": "38", "color": "moss"}, Price: eur(9900), ListPrice: eur(12950), Stock: 1},
			{VariantId: "B-39", Options: map[string]string{"size": "39", "color": "moss"}, Price: eur(12950)},
		},
	}
}

func TestAFeedInEachFormatIsTheSameProducts(t *testing.T) {
	const sale = "2026-03-01T00:00+01:00/2026-03-14T23:59+01:00"
	table := strings.Join([]string{
		"ID|item group id|g:title|description|link|image link|additional image link|price|sale price|sale price effective date|availability|brand|product type|gender|age group|material|color|size",
		"B-38|BOOT|Heath boot|<p>Warm.</p><p>Dry &amp; light.</p>|https://shop.example/boot|https://shop.example/1.jpg|https://shop.example/2.jpg,https://shop.example/3.jpg|129.50 EUR|99.00 EUR|" + sale + "|in stock|Heathmoor|Footwear > Boots, winter|female|adult|wool|moss|38",
		"B-39|BOOT|Heath boot||https://shop.example/boot|https://shop.example/1.jpg||129.50 EUR|||out_of_stock|Heathmoor|Footwear > Boots, winter|female|adult|wool|moss|39",
	}, "\n")
	tsv := strings.ReplaceAll(table, "|", "\t")
	semicolons := "\xef\xbb\xbf" + strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(table, "&amp; light", "& light"), "129.50 EUR", "129,5"), "|", ";")
	rss := `<?xml version="1.0"?><rss xmlns:g="http://base.google.com/ns/1.0" version="2.0"><channel><title>Shop</title>
<item><g:id>B-38</g:id><g:item_group_id>BOOT</g:item_group_id><title>Heath boot</title><description><![CDATA[<p>Warm.</p><p>Dry &amp; light.</p>]]></description>
<link>https://shop.example/boot</link><g:image_link>https://shop.example/1.jpg</g:image_link><g:additional_image_link>https://shop.example/2.jpg</g:additional_image_link>
<g:additional_image_link>https://shop.example/3.jpg</g:additional_image_link><g:price>129.50 EUR</g:price><g:sale_price>99.00 EUR</g:sale_price>
<g:sale_price_effective_date>` + sale + `</g:sale_price_effective_date><g:availability>in_stock</g:availability><g:brand>Heathmoor</g:brand>
<g:product_type>Footwear &gt; Boots, winter</g:product_type><g:gender>female</g:gender><g:age_group>adult</g:age_group><g:material>wool</g:material><g:color>moss</g:color><g:size>38</g:size></item>
<item><g:id>B-39</g:id><g:item_group_id>BOOT</g:item_group_id><title>Heath boot</title><link>https://shop.example/boot</link><g:price>129.50 EUR</g:price>
<g:availability>out_of_stock</g:availability><g:material>wool</g:material><g:color>moss</g:color><g:size>39</g:size></item></channel></rss>`
	atom := strings.NewReplacer("<item>", "<entry>", "</item>", "</entry>", "<link>https://shop.example/boot</link>", `<link href="https://shop.example/boot"/>`).Replace(rss)
	for name, c := range map[string]struct{ extension, text string }{
		"tsv": {".tsv", tsv}, "csv with semicolons and decimal commas": {".csv", semicolons}, "rss": {".xml", rss}, "atom": {".xml", atom},
	} {
		products, refusals := readAll(t, c.extension, c.text)
		if diff := cmp.Diff([]*catalogv1.Product{boot()}, products, protocmp.Transform()); diff != "" || refusals != nil {
			t.Errorf("%s: refused %q, difference (-want +got):\n%s", name, refusals, diff)
		}
	}
}

func TestOwnColumns(t *testing.T) {
	products, refusals := readAll(t, ".csv", `id,title,price,quantity,product_type,tags,rating,rating_count,complement_ids,option wood,attribute weight,attribute foldable,attribute finish
C1,Chair,"80,50",3,Chairs,"oak, garden",4.5,12,"T1,T2",oak,4.2 kg,yes,oiled
`)
	want := []*catalogv1.Product{{
		ProductId: "C1", Title: "Chair", CategoryPath: []string{"Chairs"}, Tags: []string{"oak", "garden"},
		Rating: &catalogv1.Rating{Average: 4.5, Count: 12}, ComplementIds: []string{"T1", "T2"},
		Attributes: []*catalogv1.Attribute{
			{Name: "finish", Value: &catalogv1.Attribute_Text{Text: "oiled"}},
			{Name: "foldable", Value: &catalogv1.Attribute_Flag{Flag: true}},
			{Name: "weight", Value: &catalogv1.Attribute_Number{Number: 4.2}, Unit: "kg"},
		},
		Variants: []*catalogv1.Variant{{VariantId: "std", Options: map[string]string{"wood": "oak"}, Price: eur(8050), Stock: 3}},
	}}
	if diff := cmp.Diff(want, products, protocmp.Transform()); diff != "" || refusals != nil {
		t.Errorf("refused %q, difference (-want +got):\n%s", refusals, diff)
	}
}

func TestBadRowsNameTheirLineAndColumn(t *testing.T) {
	products, refusals := readAll(t, ".csv", `id,title,price,availability,quantity,product_type
A,Mug,12.00,,4,Mugs
B,"Mug
with two lines",twelve,in_stock,,Mugs
C,Mug,1.250,in_stock,,Mugs
D,Mug,9.999 EUR,in_stock,,Mugs
E,Mug,9.00,perhaps,,Mugs
F,Mug,9.00,,,Mugs
G,Mug,9.00,in_stock,-1,Mugs
H,Mug,900 JPY,in_stock,,
,Mug,9.00,in_stock,,Mugs
`+"I,B\xfccher,9.00,in_stock,,Books\n")
	if len(products) != 1 || products[0].GetProductId() != "A" {
		t.Errorf("products %v", products)
	}
	want := []string{
		`line 3: B: price: "twelve" is no price; write it like 15.00 EUR`,
		`line 5: C: price: "1.250" may be thousands or thousandths; write it with 2 decimals and without a separator of thousands`,
		`line 6: D: price: "9.999 EUR" may be thousands or thousandths; write it with 2 decimals and without a separator of thousands`,
		`line 7: E: availability: is "perhaps", must be in_stock, out_of_stock, preorder or backorder`,
		`line 8: F: availability: is missing; give availability or quantity`,
		`line 9: G: availability: quantity "-1" is no whole number of 0 or more`,
		`line 11: id: is missing`,
		`line 12: the text is not UTF-8; save the file as UTF-8, which spreadsheets call "CSV UTF-8"`,
		`line 10: H: product_type: is missing; give a path such as "Kites > Stunt kites"`,
	}
	if diff := cmp.Diff(want, refusals); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestUnreadableFiles(t *testing.T) {
	for want, c := range map[string]struct{ extension, text string }{
		`no column "price"`:       {".csv", "id,title\nA,Mug\n"},
		`has "Title" twice`:       {".csv", "id,title,Title,price\n"},
		"neither <item>":          {".xml", "<html></html>"},
		"read XML":                {".xml", "<rss><item><id>A"},
		"the file is empty":       {".tsv", ""},
		"read the header":         {".csv", "\"id"},
		"not UTF-8":               {".csv", "\xff\xfei\x00d\x00,\x00"},
		`bare " in non-quoted-fi`: {".csv", "id,title,price\nA,6\" nail,1\n"},
	} {
		var last error
		for _, err := range Read(strings.NewReader(c.text), Config{Extension: c.extension, Now: now}) {
			last = err
		}
		if last == nil || !strings.Contains(last.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", c.text, last, want)
		}
	}
}

func TestSalesOutsideTheirTimeDoNotCount(t *testing.T) {
	products, _ := readAll(t, ".csv", "id,title,price,quantity,product_type,sale_price,sale_price_effective_date\n"+
		"A,Mug,12.00,4,Mugs,9.00,2026-04-01T00:00+01:00/2026-04-14T23:59+01:00\n"+
		"B,Mug,12.00,4,Mugs,12.00,\n")
	for _, p := range products {
		if v := p.GetVariants()[0]; v.GetPrice().GetAmountMinor() != 1200 || v.GetListPrice() != nil {
			t.Errorf("%s: %v", p.GetProductId(), v)
		}
	}
	if len(products) != 2 {
		t.Errorf("products %v", products)
	}
}
