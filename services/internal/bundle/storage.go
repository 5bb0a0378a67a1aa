package bundle

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quartet-commerce/quartet/services/internal/scope"
	"github.com/quartet-commerce/quartet/services/internal/state"
	"github.com/quartet-commerce/quartet/services/internal/state/seal"
)

// Turn names a recorded turn.
type Turn struct {
	// Store and ID are the ids of the store and of the turn.
	Store, ID string
}

func turnOf(sc scope.Scope) Turn { return Turn{Store: sc.StoreID, ID: sc.TurnID} }

// place is where the lines of a turn are sealed for.
func (t Turn) place() seal.Place {
	return seal.Place{Store: t.Store, Key: "bundle/" + t.ID, Field: "line"}
}

// Storage keeps the lines of turns, each for a limited time. Several processes may append to the same turn.
type Storage interface {
	// Append adds a line.
	Append(ctx context.Context, t Turn, line string) error
	// Lines returns all lines, in the order in which they were added. An unknown turn is fs.ErrNotExist.
	Lines(ctx context.Context, t Turn) ([]string, error)
	// Delete deletes a turn. An unknown turn is no error.
	Delete(ctx context.Context, t Turn) error
	// Describe keeps a description, which many turns refer to, in place of the one with the same id. It stays for describeInterval longer
	// than a turn.
	Describe(ctx context.Context, t Turn, line string) error
}

// describeInterval is the time after which a description is kept anew.
const describeInterval = time.Hour

// descriptionPrefix begins the ids of descriptions.
const descriptionPrefix = "description_"

// DefaultTTL is how long turns are kept unless the storage is told otherwise.
const DefaultTTL = 7 * 24 * time.Hour

// sweepInterval is the time between two searches of a folder for files to delete.
const sweepInterval = time.Hour

// extension ends the names of files.
const extension = ".jsonl"

// caseExtension ends the names of captured turns.
const caseExtension = ".json"

// Folder keeps each turn in a file, store-STORE/TURN.jsonl. It deletes files within two hours of the TTL, when it adds lines.
type Folder struct {
	dir string
	ttl time.Duration
	log *slog.Logger

	mu    sync.Mutex
	swept time.Time
}

// NewFolder makes the folder if there is none. A nil logger is slog.Default().
func NewFolder(dir string, ttl time.Duration, logger *slog.Logger) (*Folder, error) {
	if logger == nil {
		logger = slog.Default()
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	return &Folder{dir: dir, ttl: ttl, log: logger}, nil
}

// path returns the file of a turn. Identifiers of scopes are safe in paths but for "." and "..", which have no meaning before a suffix.
func (f *Folder) path(t Turn) string {
	return filepath.Join(f.dir, "store-"+t.Store, t.ID+extension)
}

// Append implements [Storage]. One write appends the line whole, also beside other processes.
func (f *Folder) Append(ctx context.Context, t Turn, line string) error {
	f.sweep(ctx)
	name := f.path(t)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(line + "\n")
	return errors.Join(err, file.Close())
}

// Describe implements [Storage].
func (f *Folder) Describe(_ context.Context, t Turn, line string) error {
	name := f.path(t)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(name), t.ID)
	if err != nil {
		return err
	}
	_, err = file.WriteString(line + "\n")
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(file.Name()))
	}
	return err
}

// Lines implements [Storage].
func (f *Folder) Lines(_ context.Context, t Turn) ([]string, error) { return fileLines(f.path(t)) }

// Delete implements [Storage].
func (f *Folder) Delete(_ context.Context, t Turn) error {
	if err := os.Remove(f.path(t)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// sweep deletes files that are older than the TTL, at most once in sweepInterval.
func (f *Folder) sweep(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.swept) < sweepInterval {
		return
	}
	f.swept = time.Now()
	err := filepath.WalkDir(f.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, extension) {
			return err
		}
		info, err := d.Info()
		if err == nil && time.Since(info.ModTime()) > f.ttl+describeInterval {
			err = os.Remove(name)
		}
		if errors.Is(err, fs.ErrNotExist) { // another process was first
			return nil
		}
		return err
	})
	if err != nil {
		f.log.ErrorContext(ctx, "old recorded turns not deleted", "error", err)
	}
}

// Files returns the files that a path names: itself, or all recorded turns and cases in a folder.
func Files(path string) (files []string, err error) {
	err = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		inFolder := (filepath.Ext(name) == extension || filepath.Ext(name) == caseExtension) && !strings.HasPrefix(filepath.Base(name), descriptionPrefix)
		if err == nil && !d.IsDir() && (name == path || inFolder) {
			files = append(files, name)
		}
		return err
	})
	return files, err
}

// maxLine bounds a line of a file: a model call with all its messages.
const maxLine = 64 << 20

func fileLines(name string) (lines []string, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, maxLine)
	for scanner.Scan() {
		lines = append(lines, scanner.Text())
	}
	return lines, scanner.Err()
}

// Redis keeps each turn in a list of Redis, which all services of a deployment share. The lists of a store are deleted with the store.
type Redis struct {
	client redis.UniversalClient
	ttl    time.Duration
}

// NewRedis returns a storage. The TTL counts from the last line of a turn. The caller closes the client.
func NewRedis(client redis.UniversalClient, ttl time.Duration) *Redis {
	return &Redis{client: client, ttl: ttl}
}

// Key returns the key of the turn in Redis.
func (t Turn) Key() string { return state.TaggedKey(t.Store, t.ID, "recorded") }

// Append implements [Storage].
func (r *Redis) Append(ctx context.Context, t Turn, line string) error {
	_, err := r.client.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.RPush(ctx, t.Key(), line)
		pipe.Expire(ctx, t.Key(), r.ttl)
		return nil
	})
	return state.Error("record turn", err)
}

// Describe implements [Storage].
func (r *Redis) Describe(ctx context.Context, t Turn, line string) error {
	_, err := r.client.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.Del(ctx, t.Key())
		pipe.RPush(ctx, t.Key(), line)
		pipe.Expire(ctx, t.Key(), r.ttl+describeInterval)
		return nil
	})
	return state.Error("record description", err)
}

// Lines implements [Storage].
func (r *Redis) Lines(ctx context.Context, t Turn) ([]string, error) {
	lines, err := r.client.LRange(ctx, t.Key(), 0, -1).Result()
	switch {
	case err != nil:
		return nil, state.Error("read recorded turn", err)
	case len(lines) == 0:
		return nil, fs.ErrNotExist
	}
	return lines, nil
}

// Delete implements [Storage].
func (r *Redis) Delete(ctx context.Context, t Turn) error {
	return state.Error("delete recorded turn", r.client.Unlink(ctx, t.Key()).Err())
}
