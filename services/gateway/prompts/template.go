package prompts

import (
	"fmt"
	"strings"
	"text/template"
	"text/template/parse"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
)

// fields are what a text may hold, with what they become.
var fields = map[string]func(*gatewayv1.Store) string{
	"StoreName":    (*gatewayv1.Store).GetName,
	"CurrencyCode": (*gatewayv1.Store).GetCurrencyCode,
	"TimeZone":     (*gatewayv1.Store).GetTimeZone,
}

const known = "{{.StoreName}}, {{.CurrencyCode}} and {{.TimeZone}} are known"

// CheckText returns an error with the line if a text is no valid template. A template has no other actions than fields: a prompt needs
// none, and a loop could take up a gateway.
func CheckText(text string) error {
	t, err := template.New("line").Parse(text)
	if err != nil {
		message := strings.TrimPrefix(err.Error(), "template: line:")
		return fmt.Errorf("line %s; %s", message, known)
	}
	if t.Tree == nil {
		return nil
	}
	for _, node := range t.Root.Nodes {
		if _, plain := node.(*parse.TextNode); plain {
			continue
		}
		if name := fieldOf(node); fields[name] == nil {
			line := 1 + strings.Count(text[:node.Position()], "\n")
			return fmt.Errorf("line %d: %s is not known; %s", line, node, known)
		}
	}
	if len(t.Templates()) > 1 {
		return fmt.Errorf("a template must not define others; %s", known)
	}
	return nil
}

// fieldOf returns the name of the field that a node is, or "".
func fieldOf(node parse.Node) string {
	action, ok := node.(*parse.ActionNode)
	if !ok || len(action.Pipe.Decl) > 0 || len(action.Pipe.Cmds) != 1 || len(action.Pipe.Cmds[0].Args) != 1 {
		return ""
	}
	field, ok := action.Pipe.Cmds[0].Args[0].(*parse.FieldNode)
	if !ok || len(field.Ident) != 1 {
		return ""
	}
	return field.Ident[0]
}

// fill puts a store's values into a text that CheckText has accepted.
func fill(text string, store *gatewayv1.Store) string {
	if !strings.Contains(text, "{{") {
		return text
	}
	values := make(map[string]string)
	for name, value := range fields {
		values[name] = strings.Join(strings.Fields(value(store)), " ")
	}
	var b strings.Builder
	if err := template.Must(template.New("").Parse(text)).Execute(&b, values); err != nil {
		return text // a strings.Builder takes everything
	}
	return b.String()
}
