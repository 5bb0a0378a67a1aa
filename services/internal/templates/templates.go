// Package templates holds small complete stores, from which a shop begins its own. The data is invented. The package must not import
// a service.
package templates

import (
	"bytes"
	"embed"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/quartet-commerce/quartet/services/internal/demo"
)

//go:embed data
var files embed.FS

// placeholder stands for the id of the store.
const placeholder = "SHOP"

// Template is one of the stores.
type Template struct {
	// Name of the template, such as "books".
	Name string
	// About says in one line what the store sells.
	About string
}

// All returns the templates.
func All() []Template {
	return []Template{
		{"books", "a bookshop: editions, authors, ratings"},
		{"fashion", "a clothes shop: colours, sizes, sales"},
		{"kitchen", "a kitchen shop in German: complements, attributes"},
	}
}

// Write writes the files of a template into a folder, which it makes, and returns their names. Times are around now. It replaces
// no file.
func Write(name, storeID, folder string, now time.Time) ([]string, error) {
	from := path.Join("data", name)
	entries, err := fs.ReadDir(files, from)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		text, err := files.ReadFile(path.Join(from, e.Name()))
		if err != nil {
			return names, err
		}
		text = bytes.ReplaceAll(text, []byte(placeholder), []byte(storeID))
		if err := write(filepath.Join(folder, e.Name()), demo.AbsoluteTimes(text, now)); err != nil {
			return names, err
		}
		names = append(names, e.Name())
	}
	return names, nil
}

// write writes a new file.
func write(name string, text []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
