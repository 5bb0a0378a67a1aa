package replaytest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// begins is a turn whose specialists were not known, so that it failed.
const begins = `{"start":{"Turn":"turn_1","Thread":"thr_1","Ask":{"store_id":"shop","message":"boots?"},` +
	`"Store":{"store_id":"shop","name":"Shop","currency_code":"EUR","time_zone":"Europe/Berlin"},"Began":"2026-01-05T10:00:00Z","Settings":{"no_fast_model":true}}}` + "\n"

func folder(t *testing.T, lines string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "boots.json"), []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestATurnThatFailsAsRecordedPasses(t *testing.T) {
	Run(t, folder(t, begins+`{"end":{"Error":"no specialist has said what it is for"}}`+"\n"))
}

func TestATurnThatWasAnsweredAndFailsNowDiffers(t *testing.T) {
	differences, err := compare(t.Context(), filepath.Join(folder(t, begins+`{"end":{"Reply":{"text":"These."}}}`+"\n"), "boots.json"))
	if err != nil {
		t.Fatal(err)
	}
	if len(differences) == 0 || !strings.HasPrefix(differences[len(differences)-1], "the turn fails now:") {
		t.Errorf("differences %q", differences)
	}
}
