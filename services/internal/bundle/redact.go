package bundle

import (
	"crypto/sha256"
	"regexp"
	"strings"

	"github.com/quartet-commerce/quartet/pkg/agentloop"
)

// What is told by its form: an e-mail address, a phone number, the number of a card. Names and postal addresses have none.
var (
	emailForm = regexp.MustCompile(`[A-Za-z0-9._%+-]+@(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}`)
	phoneForm = regexp.MustCompile(`\+\d[\d ()/.-]{6,18}\d|\b0\d{2,5}[ /-]?\d{5,9}\b`)
	groupForm = regexp.MustCompile(`[A-Za-z]+|\d+`)
	partForm  = regexp.MustCompile(`\b\d{4,}\b`)
	cardForm  = regexp.MustCompile(`\b\d(?:[ -]?\d){13,18}\b`)
)

// redact replaces the local parts of e-mail addresses, and phone and card numbers, in a line of JSON. The same word or group of digits gets
// the same replacement of the same length in all lines of a turn, so that the turn can be replayed.
func redact(raw []byte, salt string) []byte {
	parts := make(map[string]string) // groups of digits, which claims name by themselves
	other := func(v string) string {
		return groupForm.ReplaceAllStringFunc(v, func(group string) string {
			out := standIn(salt, group)
			if len(group) >= 4 && group[0] <= '9' {
				parts[group] = out
			}
			return out
		})
	}
	s := replaceForm(string(raw), emailForm, func(v string) string {
		local, domain, _ := strings.Cut(v, "@")
		return other(local) + "@" + domain
	})
	s = replaceForm(s, phoneForm, other)
	s = replaceForm(s, cardForm, func(v string) string {
		if !isCard(v) {
			return v
		}
		return other(v)
	})
	return partForm.ReplaceAllFunc([]byte(s), func(v []byte) []byte {
		if out, known := parts[string(v)]; known {
			return []byte(out)
		}
		return v
	})
}

// standIn returns letters for letters, and digits for digits, a zero first where there was one.
func standIn(salt, group string) string {
	sum := sha256.Sum256([]byte(salt + group))
	out := []byte(group)
	for i, c := range out {
		switch b := sum[i%len(sum)]; {
		case c > '9':
			out[i] = 'a' + b%26
		case i > 0 || c != '0':
			out[i] = '1' + b%9
		}
	}
	return string(out)
}

// replaceForm replaces what has a form. What is escaped before it stays as it is: in \nava@shop.example, n is not the address's.
func replaceForm(s string, form *regexp.Regexp, replace func(string) string) string {
	var b strings.Builder
	at := 0
	for _, m := range form.FindAllStringIndex(s, -1) {
		start, end := m[0], m[1]
		if start > 0 && s[start-1] == '\\' {
			if start++; s[start-1] == 'u' {
				start = min(start+4, end)
			}
		}
		b.WriteString(s[at:start])
		if v := s[start:end]; form.FindString(v) == v {
			b.WriteString(replace(v))
		} else {
			b.WriteString(v)
		}
		at = end
	}
	return b.String() + s[at:]
}

// isCard reports whether a number has the check digit of a card (ISO/IEC 7812).
func isCard(s string) bool {
	sum, double := 0, false
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] < '0' || s[i] > '9' {
			continue
		}
		d := int(s[i] - '0')
		if double {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum, double = sum+d, !double
	}
	return sum%10 == 0
}

// joined puts consecutive pieces of text, and of the arguments of a tool call, together: an address may be cut into several.
func joined(chunks []agentloop.Chunk) []agentloop.Chunk {
	var out []agentloop.Chunk
	for _, c := range chunks {
		if n := len(out); n > 0 {
			last := &out[n-1]
			switch {
			case isText(*last) && isText(c):
				last.Text += c.Text
				continue
			case isArguments(c) && len(last.ToolCalls) == 1 && last.Text == "" && last.ToolCalls[0].Index == c.ToolCalls[0].Index:
				call := last.ToolCalls[0]
				call.Arguments += c.ToolCalls[0].Arguments
				last.ToolCalls = []agentloop.ToolCallDelta{call}
				continue
			}
		}
		out = append(out, c)
	}
	return out
}

// isText reports whether a chunk continues the text and nothing else.
func isText(c agentloop.Chunk) bool {
	return c.Text != "" && c.Reasoning == "" && len(c.ToolCalls) == 0 && c.FinishReason == "" && c.Usage == nil && c.ProviderData == "" && c.Model == ""
}

// isArguments reports whether a chunk continues the arguments of one known call and nothing else.
func isArguments(c agentloop.Chunk) bool {
	if len(c.ToolCalls) != 1 || c.Text != "" || c.Reasoning != "" || c.FinishReason != "" || c.Usage != nil || c.ProviderData != "" || c.Model != "" {
		return false
	}
	d := c.ToolCalls[0]
	return d.Index >= 0 && d.ID == "" && d.Name == "" && d.ProviderData == ""
}
