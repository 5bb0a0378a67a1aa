package threads

import (
	"slices"
	"unicode/utf8"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
)

// Bounds of the messages that models get of a conversation, in tokens. Ten ordinary messages have some 1,500.
const (
	maxMessageTokens = 1_000
	maxHistoryTokens = 4_000
	// bytesPerToken is the rule of thumb by which tokens are counted: about 4 in English, 3 where a character has 3 bytes.
	bytesPerToken = 3
)

// boundHistory returns the last messages that fit, each cut to what one may have. The messages that are given stay as they are.
func boundHistory(messages []*commonv1.Message) []*commonv1.Message {
	room := maxHistoryTokens * bytesPerToken
	var out []*commonv1.Message
	for _, m := range slices.Backward(messages) {
		if len(m.GetText()) > maxMessageTokens*bytesPerToken {
			m = &commonv1.Message{Role: m.GetRole(), Person: m.GetPerson(), Text: head(m.GetText(), maxMessageTokens*bytesPerToken)}
		}
		if room -= len(m.GetText()); room < 0 {
			break
		}
		out = append(out, m)
	}
	slices.Reverse(out)
	return out
}

// head returns the start of a text in at most limit bytes, with an ellipsis for the rest.
func head(s string, limit int) string {
	const ellipsis = "…"
	limit -= len(ellipsis)
	for !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + ellipsis
}
