package agentloop

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// shaped returns a schema in both forms, or false if it is none.
func shaped(text string) (*shape, *jsonschema.Resolved, bool) {
	var s jsonschema.Schema
	if json.Unmarshal([]byte(text), &s) != nil {
		return nil, nil, false
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil, nil, false
	}
	return shapeOf(&s), resolved, true
}

const shapeOfAll = `{"type":"object","additionalProperties":false,"required":["text"],"properties":{
	"text":{"type":"string","minLength":2,"maxLength":4,"description":"d","default":"ab","examples":["x"]},
	"kind":{"type":"string","enum":["a","b"]},
	"n":{"type":"integer","minimum":1,"maximum":5},
	"f":{"type":"number","minimum":0.5},
	"flag":{"type":"boolean"},
	"maybe":{"type":["string","null"]},
	"list":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string"}},
	"map":{"type":"object","additionalProperties":{"type":"string"}},
	"any":{},
	"anything":true}}`

func TestAShapeHoldsWhatTheValidatorAccepts(t *testing.T) {
	s, resolved, ok := shaped(shapeOfAll)
	if !ok || s == nil {
		t.Fatal("is no shape")
	}
	for text, want := range map[string]bool{
		`{"text":"ab"}`: true, `{"text":"äöü"}`: true, `{"text":"a"}`: false, `{"text":"abcde"}`: false, `{}`: false, `{"text":1}`: false,
		`{"text":"ab","kind":"a"}`: true, `{"text":"ab","kind":"c"}`: false, `{"text":"ab","kind":{}}`: false,
		`{"text":"ab","n":1}`: true, `{"text":"ab","n":0}`: false, `{"text":"ab","n":6}`: false, `{"text":"ab","n":1.5}`: false, `{"text":"ab","n":"1"}`: false,
		`{"text":"ab","f":0.5}`: true, `{"text":"ab","f":1}`: true, `{"text":"ab","f":0.4}`: false,
		`{"text":"ab","flag":true}`: true, `{"text":"ab","flag":"true"}`: false,
		`{"text":"ab","maybe":null}`: true, `{"text":"ab","maybe":"x"}`: true, `{"text":"ab","maybe":1}`: false,
		`{"text":"ab","list":["x"]}`: true, `{"text":"ab","list":[]}`: false, `{"text":"ab","list":["x","y","z"]}`: false, `{"text":"ab","list":[1]}`: false,
		`{"text":"ab","map":{"x":"y"}}`: true, `{"text":"ab","map":{"x":1}}`: false, `{"text":"ab","map":[]}`: false,
		`{"text":"ab","any":[{"x":null}],"anything":1}`: true, `{"text":"ab","other":1}`: false, `[]`: false, `null`: false,
	} {
		value := decoded(t, text)
		if got := s.fits(value); got != want {
			t.Errorf("%s fits: %v", text, got)
		}
		if err := resolved.Validate(value); (err == nil) != want {
			t.Errorf("%s: the validator says %v", text, err)
		}
	}
}

// decoded returns JSON as the loop decodes it.
func decoded(t *testing.T, text string) any {
	t.Helper()
	object, err := parseObject(json.RawMessage(`{"value":` + text + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return object["value"]
}

func TestASchemaThatSaysMoreIsNoShape(t *testing.T) {
	for _, text := range []string{
		`{"type":"string","pattern":"a"}`, `{"anyOf":[{}]}`, `{"not":{"type":"string"}}`, `{"const":1}`, `{"enum":[1]}`, `{"$ref":"#"}`,
		`{"uniqueItems":true}`, `{"items":{"format":"date"}}`, `{"properties":{"x":{"multipleOf":2}}}`,
		`{"additionalProperties":{"minProperties":1}}`, `{"exclusiveMinimum":1}`, `{"propertyNames":{}}`, `{"if":{}}`, `{"prefixItems":[{}]}`,
	} {
		if s, _, ok := shaped(text); !ok || s != nil {
			t.Errorf("%s: shape %+v, schema %v", text, s, ok)
		}
	}
	var none *shape
	if none.fits("x") {
		t.Error("no shape says that something fits")
	}
}

// FuzzShape holds the shape of any schema against the validator: what fits must be valid.
func FuzzShape(f *testing.F) {
	for _, value := range []string{`{"text":"ab"}`, `{"text":"ab","n":9007199254740993,"list":["x"]}`, `{"text":"ab","f":1e300,"map":{"":""}}`} {
		f.Add(shapeOfAll, value)
	}
	f.Add(`{"type":["integer","null"],"maximum":3}`, `3.0`)
	f.Add(`{"items":{"enum":["a"]},"minLength":3}`, `["a"]`)
	f.Add(`{"required":["a"],"minimum":9007199254740992.5}`, `9007199254740993`)
	f.Fuzz(func(t *testing.T, schema, text string) {
		s, resolved, ok := shaped(schema)
		object, err := parseObject(json.RawMessage(`{"value":` + text + `}`))
		if !ok || err != nil || !s.fits(object["value"]) {
			return
		}
		if err := resolved.Validate(object["value"]); err != nil {
			t.Errorf("%s fits %s, but: %v", text, schema, err)
		}
	})
}
