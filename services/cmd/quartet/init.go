package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quartet-commerce/quartet/services/internal/fault"
	"github.com/quartet-commerce/quartet/services/internal/templates"
)

const initAbout = `Writes a small complete store into a folder, to be changed and loaded: products.csv, promotions, carts, orders and policies.
The templates are:`

func runInit(_ context.Context, args []string, env environment) error {
	about := initAbout
	var names []string
	for _, t := range templates.All() {
		about += fmt.Sprintf("\n  %-9s %s", t.Name, t.About)
		names = append(names, t.Name)
	}
	fs := newFlags("init", "SHOP", about, env)
	template := fs.String("template", names[0], "`name` of the template: "+strings.Join(names, ", "))
	out := fs.String("out", "", "`folder` to write to, in which no file is replaced (default: the store's id)")
	rest, err := parse(fs, args, env)
	switch {
	case err != nil:
		return err
	case len(rest) != 1:
		return usagef("give one id for the store, such as kites")
	case !fault.ValidID(rest[0]):
		return usagef("%q is no id of a store: use 1 to 64 of A-Z a-z 0-9 . _ -", rest[0])
	case !slices.Contains(names, *template):
		return usagef("there is no template %q; the templates are: %s", *template, strings.Join(names, ", "))
	}
	shop := rest[0]
	folder := cmp.Or(*out, shop)
	written, err := templates.Write(*template, shop, folder, time.Now().UTC())
	if err != nil {
		return err
	}
	fmt.Fprintf(env.out, "%s: %s\n\nnext:\n  quartet up &\n  quartet load --store %s %[1]s\n  quartet chat --addr 127.0.0.1:7300 --store %[3]s --customer ava\n",
		folder, strings.Join(written, ", "), shop)
	return nil
}
