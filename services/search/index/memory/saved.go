package memory

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/blevesearch/bleve/v2"
	bleveapi "github.com/blevesearch/bleve_index_api"

	catalogv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/catalog/v1"

	"github.com/quartet-commerce/quartet/services/search/index"
)

// contents are what a saved index holds. They stand beside the library's files, and tell whether these can be used and what has
// changed since.
type contents struct {
	// Analysis is the constant as it was. Analyses may miss a change to a few products.
	Analysis int
	// Texts are the hashes of what was indexed of each product, by its id.
	Texts map[string]uint64
	// Analyses are the hashes of the terms of some products. Another version of this program may take texts apart in another way.
	Analyses map[string]uint64
	Lengths  [index.NumFields]lengths
	// Files are the hashes of the library's files.
	Files map[string][sha256.Size]byte
}

const (
	// analysis numbers how texts are taken apart. Raise it when package index takes any text apart in another way.
	analysis = 1
	// contentsFile begins with a hash of what follows.
	contentsFile = "contents"
	// libraryFolder is where the library's CopyTo puts its files.
	libraryFolder = "store"
	// analysesKept is about how many products are taken apart again when an index is loaded.
	analysesKept = 200
	// staleShare is the part of the products from which an index that had to read so many of them again is saved again.
	staleShare = 0.1
)

var errAnalysis = errors.New("this version of the program takes texts apart in another way")

// savedFolder is where the index of a store is saved.
func savedFolder(folder, storeID string) string {
	return filepath.Join(folder, "store-"+url.PathEscape(storeID))
}

// removeDeleted removes the saved indexes of stores that are no more.
func (b *Backend) removeDeleted(ctx context.Context) error {
	folders, err := os.ReadDir(b.options.Folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, folder := range folders {
		name, ours := strings.CutPrefix(folder.Name(), "store-")
		storeID, err := url.PathUnescape(name)
		if !ours || err != nil {
			continue
		}
		version, err := b.store.Version(ctx, storeID)
		if err != nil {
			return err
		}
		if version > 0 {
			continue
		}
		if err := os.RemoveAll(savedFolder(b.options.Folder, storeID)); err != nil {
			return err
		}
	}
	return nil
}

// textHash is the hash of what an index reads of a product.
func textHash(p *catalogv1.Product) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(index.Indexed(p)) // never fails
	return h.Sum64()
}

// textHashes are those of all products.
func textHashes(products []*catalogv1.Product) []uint64 {
	out := make([]uint64, len(products))
	inParallel(len(products), func(i int) { out[i] = textHash(products[i]) })
	return out
}

// analysisHash is the hash of the terms of a product.
func (b *wordIndex) analysisHash(p *catalogv1.Product) uint64 {
	h := fnv.New64a()
	for i, ws := range index.Analyze(p, b.stemAll) {
		fmt.Fprintln(h, i, ws)
	}
	return h.Sum64()
}

// load returns the saved index of a store, and the hashes of its texts. The error is fs.ErrNotExist if there is none.
func load(folder string, products []*catalogv1.Product) (_ *wordIndex, texts map[string]uint64, err error) {
	raw, err := os.ReadFile(filepath.Join(folder, contentsFile))
	if err != nil {
		return nil, nil, err
	}
	var c contents
	sum, rest := raw[:min(sha256.Size, len(raw))], raw[min(sha256.Size, len(raw)):]
	if actual := sha256.Sum256(rest); !bytes.Equal(sum, actual[:]) {
		return nil, nil, errors.New("the list of contents is damaged")
	}
	if err := gob.NewDecoder(bytes.NewReader(rest)).Decode(&c); err != nil {
		return nil, nil, err
	}
	if c.Analysis != analysis {
		return nil, nil, errAnalysis
	}
	files, err := hashFiles(filepath.Join(folder, libraryFolder))
	if err != nil {
		return nil, nil, err
	}
	for name, sum := range c.Files {
		if files[name] != sum {
			return nil, nil, fmt.Errorf("the file %s is damaged", name)
		}
	}
	// What is read only is never written to, so updates stay in memory, and several processes may use the same files.
	b, err := openWordIndex(map[string]any{"path": filepath.Join(folder, libraryFolder), "read_only": true, "unsafe_batch": true})
	if err != nil {
		return nil, nil, err
	}
	b.lengths = c.Lengths
	for _, p := range products {
		if hash, ok := c.Analyses[p.GetProductId()]; ok && c.Texts[p.GetProductId()] == textHash(p) && hash != b.analysisHash(p) {
			return nil, nil, errors.Join(errAnalysis, b.Close())
		}
	}
	return b, c.Texts, nil
}

// hashFiles returns the hashes of the files in a folder by their names.
func hashFiles(folder string) (map[string][sha256.Size]byte, error) {
	names, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	out := make(map[string][sha256.Size]byte)
	for _, n := range names {
		f, err := os.Open(filepath.Join(folder, n.Name()))
		if err != nil {
			return nil, err
		}
		h := sha256.New()
		_, err = io.Copy(h, f)
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		out[n.Name()] = [sha256.Size]byte(h.Sum(nil))
	}
	return out, nil
}

// copied is an index as it was at one time. Write it or close it.
type copied struct {
	contents
	reader bleveapi.CopyReader
}

// copy returns the index as it is now. The products are all that it has.
func (b *wordIndex) copy(products []*catalogv1.Product) *copied {
	index, ok := b.idx.(bleveapi.CopyIndex)
	if !ok {
		return nil
	}
	c := &copied{contents{Analysis: analysis, Texts: make(map[string]uint64), Analyses: make(map[string]uint64), Lengths: b.lengths}, index.CopyReader()}
	hashes := textHashes(products)
	for i, p := range products {
		c.Texts[p.GetProductId()] = hashes[i]
		if i%(len(products)/analysesKept+1) == 0 {
			c.Analyses[p.GetProductId()] = b.analysisHash(p)
		}
	}
	return c
}

// write puts the index in the place of the one in the folder, if there is one.
func (c *copied) write(folder string) (err error) {
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp(filepath.Dir(folder), "new-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	fresh, old := filepath.Join(temporary, "fresh"), filepath.Join(temporary, "old")
	if err := c.reader.CopyTo(bleve.FileSystemDirectory(fresh)); err != nil {
		return err
	}
	if c.Files, err = hashFiles(filepath.Join(fresh, libraryFolder)); err != nil {
		return err
	}
	var rest bytes.Buffer
	if err := gob.NewEncoder(&rest).Encode(c.contents); err != nil {
		return err
	}
	sum := sha256.Sum256(rest.Bytes())
	if err := os.WriteFile(filepath.Join(fresh, contentsFile), append(sum[:], rest.Bytes()...), 0o600); err != nil {
		return err
	}
	if err := os.Rename(folder, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(fresh, folder)
}

// openSaved returns the saved index of a store, with the products that it has to read again and the ids of those that are gone; or an
// empty one.
func (b *Backend) openSaved(storeID string, products []*catalogv1.Product) (_ lexicalIndex, put []*catalogv1.Product, gone []string, err error) {
	words, texts, err := load(savedFolder(b.options.Folder, storeID), products)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			b.logger.Warn("a saved index cannot be used and is built again", slog.String("store", storeID), slog.Any("error", err))
		}
		empty, err := b.newIndex()
		return empty, products, nil, err
	}
	hashes := textHashes(products)
	for i, p := range products {
		if hash, ok := texts[p.GetProductId()]; !ok || hash != hashes[i] {
			put = append(put, p)
		}
		delete(texts, p.GetProductId())
	}
	for id := range texts {
		gone = append(gone, id)
	}
	return words, put, gone, nil
}

// save saves an index in the background.
func (b *Backend) save(storeID string, words lexicalIndex, products []*catalogv1.Product) {
	w, ok := words.(*wordIndex)
	if !ok {
		return
	}
	c := w.copy(products)
	if c == nil {
		return
	}
	b.work.Go(func() {
		err := c.write(savedFolder(b.options.Folder, storeID))
		if err = errors.Join(err, c.reader.CloseCopyReader()); err != nil {
			b.logger.Warn("an index cannot be saved", slog.String("store", storeID), slog.Any("error", err))
		}
	})
}
