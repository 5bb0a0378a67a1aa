package memory

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/internal/servicetest"
	"github.com/quartet-commerce/quartet/services/search/catalog"
	"github.com/quartet-commerce/quartet/services/search/catalog/catalogtest"
	"github.com/quartet-commerce/quartet/services/search/index/indextest"
)

// restart runs fn with a replica that saves its indexes to the folder, and returns how many it has built and what it has logged.
func restart(t *testing.T, rdb redis.UniversalClient, folder string, fn func(b *Backend)) (built int, log string) {
	t.Helper()
	var lines bytes.Buffer
	count := func() (lexicalIndex, error) { built++; return newWordIndex() }
	b := newBackend(catalog.Store{Redis: rdb}, count, nil, slog.New(slog.NewTextHandler(&lines, nil)), Options{Folder: folder})
	fn(b)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	return built, lines.String()
}

// twoLamps is a store with a saved index.
func twoLamps(t *testing.T) (redis.UniversalClient, string) {
	t.Helper()
	rdb, folder := servicetest.Redis(t), t.TempDir()
	built, log := restart(t, rdb, folder, func(b *Backend) {
		indextest.Put(t, b.store, "..", catalogtest.Thing("P-1", "green lamp"), catalogtest.Thing("P-2", "red lamp"))
		indextest.Expect(t, "first", indextest.Search(t, b, "..", "lamp"), "P-1", "P-2")
	})
	if built != 1 || log != "" {
		t.Fatalf("built %d times, logged %s", built, log)
	}
	return rdb, folder
}

// While no replica runs, one product changes, one is new, and one is gone. What is written later stays out of the files.
func TestASavedIndexIsLoadedAndBroughtUpToDate(t *testing.T) {
	rdb, folder := twoLamps(t)
	s := catalog.Store{Redis: rdb}
	indextest.Put(t, s, "..", catalogtest.Thing("P-1", "green chair"), catalogtest.Thing("P-3", "blue lamp"))
	if _, err := s.Remove(t.Context(), "..", "P-2"); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it is saved as it is now
		built, log := restart(t, rdb, folder, func(b *Backend) {
			indextest.Expect(t, "lamps", indextest.Search(t, b, "..", "lamp"), "P-3")
			indextest.Expect(t, "chairs", indextest.Search(t, b, "..", "chair"), "P-1")
		})
		if built != 0 || log != "" {
			t.Errorf("built %d times, logged %s", built, log)
		}
	}
	built, _ := restart(t, rdb, folder, func(b *Backend) {
		indextest.Search(t, b, "..", "lamp")
		indextest.Put(t, b.store, "..", catalogtest.Thing("P-4", "tall lamp"))
		indextest.Expect(t, "after a write", indextest.Search(t, b, "..", "lamp"), "P-3", "P-4")
	})
	if built != 0 {
		t.Errorf("built %d times", built)
	}
}

func TestADamagedOrOldIndexIsBuiltAgain(t *testing.T) {
	flip := func(t *testing.T, path string) {
		t.Helper()
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		raw[len(raw)/2] ^= 1
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, tt := range map[string]struct {
		harm func(t *testing.T, folder string)
		says string
	}{
		"a file of the library": {func(t *testing.T, folder string) {
			files, err := filepath.Glob(filepath.Join(folder, libraryFolder, "*.zap"))
			if err != nil || len(files) == 0 {
				t.Fatalf("%v, %v", files, err)
			}
			flip(t, files[0])
		}, ".zap is damaged"},
		"the contents": {func(t *testing.T, folder string) { flip(t, filepath.Join(folder, contentsFile)) }, "the list of contents is damaged"},
		"the contents are cut off": {func(t *testing.T, folder string) {
			if err := os.Truncate(filepath.Join(folder, contentsFile), 3); err != nil {
				t.Fatal(err)
			}
		}, "the list of contents is damaged"},
		"a file is not there": {func(t *testing.T, folder string) {
			if err := os.Remove(filepath.Join(folder, libraryFolder, "root.bolt")); err != nil {
				t.Fatal(err)
			}
		}, "root.bolt is damaged"},
		"of another version": {func(t *testing.T, folder string) {
			lamp := catalogtest.Thing("P-1", "green lamp")
			words, err := newWordIndex()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = words.Close() }()
			c := words.(*wordIndex).copy([]*catalogv1.Product{lamp})
			defer func() { _ = c.reader.CloseCopyReader() }()
			c.Analyses["P-1"]++
			if err := c.write(folder); err != nil {
				t.Fatal(err)
			}
		}, errAnalysis.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			rdb, folder := twoLamps(t)
			tt.harm(t, savedFolder(folder, ".."))
			for i, want := range []int{1, 0} { // built again, and saved
				built, log := restart(t, rdb, folder, func(b *Backend) {
					indextest.Expect(t, "lamps", indextest.Search(t, b, "..", "lamp"), "P-1", "P-2")
				})
				if built != want || (i == 0) != strings.Contains(log, tt.says) {
					t.Errorf("built %d times, logged %s", built, log)
				}
			}
		})
	}
}

func TestWithoutASafePlaceTheIndexIsBuilt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	built, log := restart(t, servicetest.Redis(t), file, func(b *Backend) {
		indextest.Put(t, b.store, "s1", catalogtest.Thing("P-1", "green lamp"))
		indextest.Expect(t, "lamps", indextest.Search(t, b, "s1", "lamp"), "P-1")
	})
	if built != 1 || !strings.Contains(log, "an index cannot be saved") {
		t.Errorf("built %d times, logged %s", built, log)
	}
}

func TestTheIndexOfADeletedStoreIsRemoved(t *testing.T) {
	rdb, folder := twoLamps(t)
	restart(t, rdb, folder, func(b *Backend) {
		indextest.Put(t, b.store, "a/b", catalogtest.Thing("P-1", "lamp"))
		indextest.Search(t, b, "a/b", "lamp")
	})
	others := filepath.Join(folder, "notes")
	if err := os.Mkdir(others, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := rdb.Del(t.Context(), catalog.VersionKey("a/b")).Err(); err != nil {
		t.Fatal(err)
	}
	restart(t, rdb, folder, func(b *Backend) {
		if err := b.removeDeleted(t.Context()); err != nil {
			t.Error(err)
		}
	})
	left, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{others, savedFolder(folder, "..")}, left); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}
