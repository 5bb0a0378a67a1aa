package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/quartet-commerce/quartet/services/internal/load"
	"github.com/quartet-commerce/quartet/services/internal/productfeed"
	"github.com/quartet-commerce/quartet/services/suite"
)

// shownRefusals and shownNotes are how many refusals and notes of a file are printed.
const shownRefusals, shownNotes = 20, 5

const loadAbout = `Loads files into a store through the gateway of a running Quartet. The kind of a file is its name:
stores.jsonl, products.jsonl, variant_updates.jsonl, promotions.jsonl, cart_settings.jsonl, carts.jsonl, order_settings.jsonl,
orders.jsonl, policies.jsonl. Products may also be products.csv, products.tsv, or the XML of a merchant's product feed in
products.xml. A folder stands for all of these that it holds. Bad lines are reported with their number, and the good ones loaded.`

func runLoad(ctx context.Context, args []string, env environment) error {
	fs := newFlags("load", "FILE|FOLDER...", loadAbout, env)
	store := fs.String("store", "", "`id` of the store; not needed for stores.jsonl alone")
	kind := fs.String("kind", "", "`kind` of all files, whatever their names: "+strings.Join(load.Kinds(), ", "))
	demoStores := fs.Bool("demo", false, "load the demo stores of the program before any files")
	tls := addTLSFlags(fs, tlsUsageClient)
	var token string
	tokenFlag(fs, &token)
	dryRun := fs.Bool("dry-run", false, "only check: write nothing, not even what is good")
	sync := fs.Bool("sync", false, "delete the products, promotions and policies that the files lack, of the kinds that they have, if no line is refused")
	addr := fs.String("addr", "127.0.0.1:7300", "`target` of the gateway")
	timeout := fs.Duration("timeout", 10*time.Minute, "deadline of the whole load")
	paths, err := parse(fs, args, env)
	if err != nil {
		return err
	}
	var files []dataFile
	if len(paths) > 0 || !*demoStores {
		if files, err = filesOf(paths, *kind); err != nil {
			return err
		}
	}
	cfg := suite.Config{Peers: map[string]string{suite.Gateway: *addr}, Token: token}
	if err := tls.applyClient(&cfg, env); err != nil {
		return err
	}
	clients, closeClients, err := dialData(ctx, cfg, env)
	if err != nil {
		return err
	}
	defer closeClients()
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	if *demoStores && *dryRun {
		return usagef("--demo writes; leave out --dry-run")
	}
	if *demoStores {
		if err := loadDemo(ctx, clients, time.Now()); err != nil {
			return told(err)
		}
		fmt.Fprintln(env.out, "demo stores loaded")
	}
	refused := 0
	l := &load.Load{Clients: clients, StoreID: *store, DryRun: *dryRun}
	for _, f := range files {
		if f.kind != "stores" && *store == "" {
			return usagef("%s: give --store, the id of the store to load it into", f.path)
		}
		n, err := loadFile(ctx, l, f, env)
		if err != nil {
			return err
		}
		refused += n
	}
	switch {
	case refused > 0 && *sync:
		return fmt.Errorf("%d refused, so nothing was deleted; correct and load them again: a second load replaces the first", refused)
	case refused > 0:
		return fmt.Errorf("%d refused; correct and load them again: a second load replaces the first", refused)
	case *sync:
		return syncKinds(ctx, l, files, env)
	}
	return nil
}

// shownDeletions is how many deleted ids are printed.
const shownDeletions = 20

// syncKinds deletes what the files lack, of the kinds that they have, and prints it.
func syncKinds(ctx context.Context, l *load.Load, files []dataFile, env environment) error {
	for _, kind := range load.Synced() {
		if !slices.ContainsFunc(files, func(f dataFile) bool { return f.kind == kind }) {
			continue
		}
		gone, err := l.Sync(ctx, kind)
		done := "deleted"
		if l.DryRun {
			done = "to delete"
		}
		if len(gone) > 0 {
			shown := strings.Join(gone[:min(len(gone), shownDeletions)], ", ")
			if len(gone) > shownDeletions {
				shown += ", ..."
			}
			fmt.Fprintf(env.out, "%d %s %s: %s\n", len(gone), kind, done, shown)
		}
		if err != nil {
			return told(err)
		}
	}
	return nil
}

// dataFile is a file and what it holds.
type dataFile struct{ path, kind string }

// filesOf finds the files that the paths stand for, in the order in which they must be loaded.
func filesOf(paths []string, kind string) ([]dataFile, error) {
	if len(paths) == 0 {
		return nil, usagef("give files or folders to load")
	}
	if kind != "" && !slices.Contains(load.Kinds(), kind) {
		return nil, usagef("unknown kind %q; the kinds are: %s", kind, strings.Join(load.Kinds(), ", "))
	}
	var files []dataFile
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			k := kind
			if k == "" {
				k = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
			}
			if isFeed(path) && k != "products" {
				return nil, usagef("%s: only products have such files; name it products%s or give --kind products", path, filepath.Ext(path))
			}
			if !slices.Contains(load.Kinds(), k) {
				return nil, usagef("%s: its name does not say its kind; give --kind, one of: %s", path, strings.Join(load.Kinds(), ", "))
			}
			files = append(files, dataFile{path, k})
			continue
		}
		for _, k := range load.Kinds() {
			extensions := []string{".jsonl"}
			if k == "products" {
				extensions = append(extensions, productfeed.Extensions()...)
			}
			for _, extension := range extensions {
				inside := filepath.Join(path, k+extension)
				if _, err := os.Stat(inside); err == nil {
					files = append(files, dataFile{inside, k})
				}
			}
		}
	}
	if len(files) == 0 {
		return nil, usagef("no file named after a kind in %s; the kinds are: %s", strings.Join(paths, ", "), strings.Join(load.Kinds(), ", "))
	}
	slices.SortStableFunc(files, func(a, b dataFile) int {
		return slices.Index(load.Kinds(), a.kind) - slices.Index(load.Kinds(), b.kind)
	})
	return files, nil
}

// isFeed reports whether a file is a table or a feed of products, by the ending of its name.
func isFeed(path string) bool { return slices.Contains(productfeed.Extensions(), filepath.Ext(path)) }

// loadFile loads one file, prints what became of it, and returns how many items were refused.
func loadFile(ctx context.Context, l *load.Load, f dataFile, env environment) (int, error) {
	in, err := os.Open(f.path)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	begun := time.Now()
	var report load.Report
	stop := tellProgress(l, f, env)
	if isFeed(f.path) {
		report, err = l.Feed(ctx, filepath.Ext(f.path), in)
	} else {
		report, err = l.File(ctx, f.kind, in)
	}
	stop()
	if err != nil {
		return 0, fmt.Errorf("%s: %w", f.path, told(err))
	}
	done := "loaded"
	if l.DryRun {
		done = "good"
	}
	fmt.Fprintf(env.out, "%s: %d %s %s, %d refused, %s\n", f.path, report.Taken, f.kind, done, report.Refused, milliseconds(time.Since(begun)))
	for i, r := range report.Refusals {
		if i == shownRefusals {
			fmt.Fprintf(env.out, "  ... and %d more\n", report.Refused-shownRefusals)
			break
		}
		fmt.Fprintf(env.out, "  line %d: %s\n", r.Line, r.What)
	}
	for i, n := range report.Notes {
		if i == shownNotes {
			fmt.Fprintf(env.out, "  ... and %d more products\n", len(report.Notes)-shownNotes)
			break
		}
		fmt.Fprintf(env.out, "  line %d: note: %s\n", n.Line, n.What)
	}
	return report.Refused, nil
}

// tellProgress prints every few seconds how much of a file was read, until the returned function is called.
func tellProgress(l *load.Load, f dataFile, env environment) (stop func()) {
	before, begun := l.Seen(), time.Now()
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(tellEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				fmt.Fprintf(env.err, "%s: %d %s read, %s\n", f.path, l.Seen()-before, f.kind, seconds(begun))
			case <-quit:
				return
			}
		}
	}()
	return func() { close(quit); <-done }
}
