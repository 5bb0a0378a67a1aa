package reload

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// number parses a file of one number.
func number(content []byte) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return 0, errors.New("want a number")
	}
	return n, nil
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAChangedFileIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "n")
		write(t, path, "1")
		var log bytes.Buffer
		f, err := Open(path, number, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		want := func(value int, logged string) {
			t.Helper()
			<-time.After(Interval)
			for range 2 { // the second read tells nothing new
				if got := f.Get(); got != value {
					t.Errorf("got %d, want %d", got, value)
				}
				<-time.After(Interval)
			}
			lines := strings.Count(log.String(), "\n")
			if logged == "" && lines > 0 || logged != "" && (lines != 1 || !strings.Contains(log.String(), logged)) {
				t.Errorf("the log has %d lines, want one with %q: %s", lines, logged, log.String())
			}
			log.Reset()
		}
		want(1, "")
		write(t, path, "2")
		want(2, "in use")
		write(t, path, "secret-word")
		want(2, "want a number")
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		want(2, "no such file")
		write(t, path, "2")
		want(2, "")
		other := path + ".new"
		write(t, other, "3")
		if err := os.Rename(other, path); err != nil {
			t.Fatal(err)
		}
		want(3, "in use")
	})
}

// A Kubernetes volume replaces the link "..data", so a file's own link stays the same.
func TestALinkThatPointsElsewhereIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		for name, content := range map[string]string{"v1": "1", "v2": "2"} {
			if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(dir, name, "n"), content)
		}
		link := func(to, name string) {
			t.Helper()
			temporary := filepath.Join(dir, "..tmp")
			if err := errors.Join(os.Symlink(to, temporary), os.Rename(temporary, filepath.Join(dir, name))); err != nil {
				t.Fatal(err)
			}
		}
		link("v1", "..data")
		link("..data/n", "n")
		f, err := Open(filepath.Join(dir, "n"), number, nil)
		if err != nil {
			t.Fatal(err)
		}
		link("v2", "..data")
		if got := f.Get(); got != 1 {
			t.Errorf("before the interval is over it is %d", got)
		}
		<-time.After(Interval)
		if got := f.Get(); got != 2 {
			t.Errorf("after the interval it is %d", got)
		}
	})
}

func TestRefreshReadsAtOnceButNotAllTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "n")
		write(t, path, "1")
		parsed := 0
		f, err := Open(path, func(content []byte) (int, error) { parsed++; return number(content) }, nil)
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(minInterval)
		write(t, path, "2")
		if got := f.Refresh(); got != 2 {
			t.Errorf("got %d", got)
		}
		write(t, path, "3")
		if got := f.Refresh(); got != 2 || parsed != 2 {
			t.Errorf("a second refresh at once gave %d after %d readings", got, parsed)
		}
	})
}

func TestOpenNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n")
	if _, err := Open(path, number, nil); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a missing file: %v", err)
	}
	write(t, path, "x")
	if _, err := Open(path, number, nil); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "want a number") {
		t.Errorf("a bad file: %v", err)
	}
	if err := os.Truncate(path, maxBytes+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, number, nil); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("a large file: %v", err)
	}
}

func TestReadersDoNotWaitForEachOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n")
	write(t, path, "1")
	f, err := Open(path, number, nil)
	if err != nil {
		t.Fatal(err)
	}
	f.mu.Lock() // somebody reads
	f.made = f.made.Add(-time.Hour)
	if got := f.Get(); got != 1 {
		t.Errorf("got %d", got)
	}
	f.mu.Unlock()
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			for range 100 {
				f.Get()
				f.Refresh()
			}
		})
	}
	readers.Wait()
}
