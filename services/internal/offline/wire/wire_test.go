package wire

import (
	"strings"
	"testing"
)

func TestPiecesNeverCutACharacter(t *testing.T) {
	s := strings.Repeat("añ€🙂", 9)
	a := Answer{Piece: 5}
	var joined string
	for _, p := range a.pieces(s, false) {
		if strings.ToValidUTF8(p, "") != p || len(p) > 5+len("🙂") {
			t.Errorf("piece %q", p)
		}
		joined += p
	}
	if joined != s {
		t.Errorf("pieces join to %q", joined)
	}
}
