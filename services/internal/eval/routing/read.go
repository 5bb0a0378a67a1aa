package routing

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
	specialistv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/specialist/v1"

	"github.com/quartet-commerce/quartet/services/internal/eval"
	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/jsonl"
)

const (
	// maxText is the longest message that a router takes, in characters.
	maxText = 8000
	// maxLabel is the longest id, kind or language, in characters.
	maxLabel = 200
)

// Message is one message of a set.
type Message struct {
	// Line is its line in the set, from 1.
	Line int
	// ID is unique in the set.
	ID string
	// Text is what the shopper wrote, 1 to 8,000 characters.
	Text string
	// Gold names the specialists that should get the message: sorted, each once, at least one.
	Gold []string
	// Parts are what the specialists should be asked. May be empty.
	Parts []Part
	// History holds the earlier messages, oldest first. May be empty.
	History []*commonv1.Message
	// Kind and Language group messages. May be empty.
	Kind, Language string
}

// Part is what one specialist should be asked.
type Part struct{ Specialist, SubQuery string }

// SetError says which lines of a set are wrong.
type SetError struct {
	// Problems describe the wrong lines in their order, each with its number. Empty: the set has no message.
	Problems []string
}

// Error returns the first 20 problems, one a line, and how many more there are.
func (e *SetError) Error() string {
	const wanted = `one JSON object a line, such as {"id":"m1","text":"where is my order?","gold":["support"]}`
	if len(e.Problems) == 0 {
		return "the set is empty; want " + wanted
	}
	return eval.WrongLines(e.Problems, wanted)
}

// Read returns the messages of a set in JSON Lines. Gold must name some of the specialists. Fields other than id, text,
// gold, parts, history, kind and language are ignored. A set with a wrong line, or without a message, is a *SetError. Any other
// error comes from r.
func Read(r io.Reader, specialists []string) ([]Message, error) {
	var messages []Message
	bad := &SetError{}
	lines := make(map[string]int) // by id
	for line, err := range jsonl.Read(r, func() *structpb.Struct { return new(structpb.Struct) }, jsonl.Config{}) {
		var unreadable *jsonl.LineError
		switch {
		case errors.As(err, &unreadable):
			bad.Problems = append(bad.Problems, err.Error())
			continue
		case err != nil:
			return nil, err
		}
		f := fields{values: line.Item.GetFields()}
		m := f.message(line.Number, specialists)
		if earlier := lines[m.ID]; earlier > 0 {
			f.check.Addf("id", "%q is also the id of line %d, must be unique", m.ID, earlier)
		} else if m.ID != "" {
			lines[m.ID] = line.Number
		}
		if wrong := f.wrong(); wrong != "" {
			bad.Problems = append(bad.Problems, fmt.Sprintf("line %d: %s", line.Number, wrong))
			continue
		}
		messages = append(messages, m)
	}
	if len(bad.Problems) > 0 || len(messages) == 0 {
		return nil, bad
	}
	return messages, nil
}

// ReadCSV returns the messages of a public collection with a header, all for one specialist. Text and kind are columns; kind may
// be -1.
func ReadCSV(r io.Reader, text, kind int, gold string) ([]Message, error) {
	rows, err := csv.NewReader(r).ReadAll()
	if err != nil {
		return nil, err
	}
	var messages []Message
	for i, row := range rows[min(1, len(rows)):] {
		m := Message{Line: i + 2, ID: fmt.Sprint(i + 2), Text: row[text], Gold: []string{gold}}
		if kind >= 0 {
			m.Kind = row[kind]
		}
		messages = append(messages, m)
	}
	return messages, nil
}

// ReadSpecialists returns specialists from a JSON array of what they publish.
func ReadSpecialists(data []byte) ([]*specialistv1.Specialist, error) {
	var raws []json.RawMessage
	if err := json.Unmarshal(data, &raws); err != nil {
		return nil, err
	}
	all := make([]*specialistv1.Specialist, len(raws))
	for i, raw := range raws {
		all[i] = new(specialistv1.Specialist)
		if err := protojson.Unmarshal(raw, all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// fields holds the fields of one line, and their violations.
type fields struct {
	values map[string]*structpb.Value
	check  fault.Checker
}

func (f *fields) message(line int, specialists []string) Message {
	m := Message{Line: line, ID: f.text("id", 1, maxLabel), Text: f.text("text", 1, maxText)}
	m.Gold = f.gold(specialists)
	m.Parts = f.parts()
	m.History = f.history()
	m.Kind, m.Language = f.text("kind", 0, maxLabel), f.text("language", 0, maxLabel)
	return m
}

// wrong returns the violations, or "".
func (f *fields) wrong() string {
	var invalid *fault.Invalid
	if !errors.As(f.check.Err(), &invalid) {
		return ""
	}
	found := make([]string, len(invalid.Violations))
	for i, v := range invalid.Violations {
		found[i] = v.Field + " " + v.Description
	}
	return strings.Join(found, "; ")
}

// text returns a string of least to most characters. If least is 0, it is optional.
func (f *fields) text(name string, least, most int) string {
	text, ok := f.str(name, f.values[name])
	if ok {
		f.check.Text(name, text, least, most)
	}
	return text
}

// gold returns the specialists that the line names, sorted.
func (f *fields) gold(specialists []string) []string {
	var names []string
	values, ok := f.array("gold")
	if ok && len(values) == 0 {
		f.check.Addf("gold", "is empty; give at least one of: %s", strings.Join(specialists, ", "))
	}
	for i, v := range values {
		field := fmt.Sprintf("gold[%d]", i)
		name, ok := f.str(field, v)
		switch {
		case !ok:
		case !slices.Contains(specialists, name):
			f.check.Addf(field, "%q is no specialist; the specialists are: %s", name, strings.Join(specialists, ", "))
		case slices.Contains(names, name):
			f.check.Addf(field, "%q is there twice", name)
		default:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// parts returns the sub-queries.
func (f *fields) parts() []Part {
	var all []Part
	values, _ := f.array("parts")
	for i, v := range values {
		of := v.GetStructValue().GetFields()
		specialist, _ := f.str(fmt.Sprintf("parts[%d].specialist", i), of["specialist"])
		query, _ := f.str(fmt.Sprintf("parts[%d].sub_query", i), of["sub_query"])
		f.check.Text(fmt.Sprintf("parts[%d].specialist", i), specialist, 1, maxLabel)
		f.check.Text(fmt.Sprintf("parts[%d].sub_query", i), query, 1, maxText)
		all = append(all, Part{specialist, query})
	}
	return all
}

// history returns the earlier messages: a string is the shopper's, an object names its role.
func (f *fields) history() []*commonv1.Message {
	var said []*commonv1.Message
	values, _ := f.array("history")
	for i, v := range values {
		field := fmt.Sprintf("history[%d]", i)
		m := &commonv1.Message{Role: commonv1.Role_ROLE_USER}
		if o := v.GetStructValue(); o != nil {
			role, _ := f.str(field+".role", o.GetFields()["role"])
			switch role {
			case "user":
			case "assistant":
				m.Role = commonv1.Role_ROLE_ASSISTANT
			default:
				f.check.Addf(field+".role", `is %q, must be "user" or "assistant"`, role)
			}
			field, v = field+".text", o.GetFields()["text"]
		}
		var ok bool
		if m.Text, ok = f.str(field, v); ok {
			f.check.Text(field, m.Text, 1, maxText)
		}
		said = append(said, m)
	}
	return said
}

// str returns the string that v is, "" when it is absent, and whether it is either.
func (f *fields) str(field string, v *structpb.Value) (string, bool) {
	if _, ok := v.GetKind().(*structpb.Value_StringValue); !ok && present(v) {
		f.check.Addf(field, "is %s, must be a string", typeName(v))
		return "", false
	}
	return v.GetStringValue(), true
}

// array returns the elements of an array, none when it is absent, and whether it is either.
func (f *fields) array(name string) ([]*structpb.Value, bool) {
	v := f.values[name]
	if v.GetListValue() == nil && present(v) {
		f.check.Addf(name, "is %s, must be an array", typeName(v))
		return nil, false
	}
	return v.GetListValue().GetValues(), true
}

// present reports whether a field has a value; null is none.
func present(v *structpb.Value) bool {
	_, null := v.GetKind().(*structpb.Value_NullValue)
	return v != nil && !null
}

func typeName(v *structpb.Value) string {
	switch v.GetKind().(type) {
	case *structpb.Value_StringValue:
		return "a string"
	case *structpb.Value_NumberValue:
		return "a number"
	case *structpb.Value_BoolValue:
		return "true or false"
	case *structpb.Value_ListValue:
		return "an array"
	}
	return "an object"
}
