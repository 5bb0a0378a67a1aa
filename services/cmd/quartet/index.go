package main

import (
	"flag"

	"github.com/quartet-commerce/quartet/services/internal/weaviate"
	"github.com/quartet-commerce/quartet/services/suite"
)

// embeddedIndex is the value of --index for products in the memory of each replica.
const embeddedIndex = "embedded"

// indexFlag says where products are searched.
type indexFlag struct{ address string }

func addIndexFlag(fs *flag.FlagSet) *indexFlag {
	i := &indexFlag{}
	fs.StringVar(&i.address, "index", embeddedIndex, "search: where products are searched: \"embedded\", in memory, or a Weaviate cluster, such as `weaviate://host:port[,host:port...]` (weaviates:// for TLS); its key is in QUARTET_INDEX_KEY")
	return i
}

// open sets the index of a suite. What it returns lets go of its connections.
func (i *indexFlag) open(cfg *suite.Config, env environment) (closeIndex func() error, err error) {
	nothing := func() error { return nil }
	if i.address == embeddedIndex {
		return nothing, nil
	}
	c, err := weaviate.New(i.address, env.get("QUARTET_INDEX_KEY"))
	if err != nil {
		return nil, usagef("--index: %w, or %q", err, embeddedIndex)
	}
	cfg.Cluster = c
	return func() error { c.Close(); return nil }, nil
}

// describe says where products are searched, for the banner.
func (i *indexFlag) describe() string {
	if i.address == embeddedIndex {
		return "index embedded"
	}
	return "index in Weaviate"
}
