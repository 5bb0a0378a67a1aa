package threads

import (
	"strings"
	"testing"
	"unicode/utf8"

	commonv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/common/v1"
)

func TestHistoryIsBounded(t *testing.T) {
	long := strings.Repeat("wörd ", 100_000)
	short := &commonv1.Message{Role: commonv1.Role_ROLE_USER, Text: "where is my order?"}
	var messages []*commonv1.Message
	for range 3 {
		messages = append(messages, short, &commonv1.Message{Role: commonv1.Role_ROLE_ASSISTANT, Text: long})
	}
	messages = append(messages, short)
	got := boundHistory(messages)
	total := 0
	for _, m := range got {
		total += len(m.GetText())
		if len(m.GetText()) > maxMessageTokens*bytesPerToken || !utf8.ValidString(m.GetText()) {
			t.Errorf("a message has %d bytes", len(m.GetText()))
		}
	}
	if total > maxHistoryTokens*bytesPerToken || len(got) != 7 || got[6] != short || got[5].GetRole() != commonv1.Role_ROLE_ASSISTANT {
		t.Errorf("%d messages of %d bytes", len(got), total)
	}
	for range 9 {
		messages = append(messages, messages[1])
	}
	if got := boundHistory(messages); len(got) != 4 {
		t.Errorf("%d messages of the greatest length, want 4", len(got))
	}
	if messages[1].GetText() != long {
		t.Error("a stored message was cut")
	}
}
