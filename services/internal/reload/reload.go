// Package reload reads files that are replaced while a process runs, such as keys and tokens, and replaces them.
//
// A file is read when it is used, and not by a goroutine of its own, so there is nothing to stop. It is read as a whole and
// compared, so every way of replacing a file works: writing to it, renaming another file over it, or the symbolic links of a
// Kubernetes volume. The package imports nothing of Quartet's.
package reload

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// Interval is how long the content of a file is used before the file is read again.
	Interval = time.Second
	// minInterval is the shortest time between two reads that Refresh makes.
	minInterval = 50 * time.Millisecond
	// maxBytes is the largest size of a file.
	maxBytes = 16 << 20
)

// File is a file whose content is parsed anew when it changes. It is safe for concurrent use.
type File[T any] struct {
	path  string
	parse func(content []byte) (T, error)
	log   *slog.Logger
	made  time.Time
	read  atomic.Int64 // when the file was last read, in nanoseconds after made
	value atomic.Pointer[T]

	mu      sync.Mutex // held while the file is read
	content []byte
	trouble string // the last error that was logged; "" if the file is good
}

// Open reads a file. Its errors name the path. Parse must not put secrets into its error, which is logged, and must not keep the
// content. The logger gets a line when a new content is used, or cannot be. Nil: slog.Default().
func Open[T any](path string, parse func(content []byte) (T, error), log *slog.Logger) (*File[T], error) {
	if log == nil {
		log = slog.Default()
	}
	f := &File[T]{path: path, parse: parse, log: log, made: time.Now()}
	content, err := f.load()
	if err != nil {
		return nil, err
	}
	value, err := parse(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f.content = content
	f.value.Store(&value)
	return f, nil
}

// Get returns what the file holds, as of at most Interval ago. While the file is missing or bad, Get returns what it held before.
func (f *File[T]) Get() T {
	if f.age() >= Interval && f.mu.TryLock() { // nobody waits for the one who reads
		f.update()
		f.mu.Unlock()
	}
	return *f.value.Load()
}

// Refresh is Get that reads the file now. It is for a value that lacks something that a new file may have.
func (f *File[T]) Refresh() T {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.age() >= minInterval {
		f.update()
	}
	return *f.value.Load()
}

func (f *File[T]) age() time.Duration { return time.Since(f.made) - time.Duration(f.read.Load()) }

// update reads the file and, if it has changed for the good, uses the new content. f.mu is held.
func (f *File[T]) update() {
	f.read.Store(int64(time.Since(f.made)))
	content, err := f.load()
	if err == nil && bytes.Equal(content, f.content) {
		f.trouble = ""
		return
	}
	var value T
	if err == nil {
		if value, err = f.parse(content); err != nil {
			err = fmt.Errorf("%s: %w", f.path, err)
		}
	}
	if err != nil {
		if text := err.Error(); text != f.trouble {
			f.trouble = text
			f.log.Error("a file has changed and cannot be used; its last good content stays in use", "file", f.path, "error", text)
		}
		return
	}
	f.content, f.trouble = content, ""
	f.value.Store(&value)
	f.log.Info("a file has changed and is in use", "file", f.path)
}

func (f *File[T]) load() ([]byte, error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxBytes {
		return nil, fmt.Errorf("%s: has %d bytes, must have at most %d", f.path, info.Size(), maxBytes)
	}
	return os.ReadFile(f.path)
}
