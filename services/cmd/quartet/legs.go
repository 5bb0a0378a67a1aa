package main

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/quartet-commerce/quartet/services/internal/embed"
	"github.com/quartet-commerce/quartet/services/internal/rerank"
	"github.com/quartet-commerce/quartet/services/search"
	"github.com/quartet-commerce/quartet/services/suite"
)

// legFlags say what the search goes by beside words.
type legFlags struct {
	embedURL, embedModel, embedType     string
	rerankURL, rerankModel, rerankStyle string
	synonyms                            string
}

func addLegFlags(fs *flag.FlagSet) *legFlags {
	l := &legFlags{}
	fs.StringVar(&l.embedURL, "embed-url", "", "search, support: `URL` of an OpenAI-compatible API with /embeddings, such as http://localhost:8000/v1 (default: search goes by words alone); its key is in QUARTET_EMBED_KEY")
	fs.StringVar(&l.embedModel, "embed-model", "", "search, support: `name` of the embedding model")
	fs.StringVar(&l.embedType, "embed-input-type", "", "search, support: input_type of products and documents, and of queries, for models that want it, such as \"passage,query\" or \"search_document,search_query\" (default: not sent)")
	fs.StringVar(&l.rerankURL, "rerank-url", "", "search: whole `URL` of a rerank endpoint, such as http://localhost:8000/v1/rerank (default: none); its key is in QUARTET_RERANK_KEY")
	fs.StringVar(&l.rerankModel, "rerank-model", "", "search: `name` of the rerank model; tei needs none")
	fs.StringVar(&l.rerankStyle, "rerank-style", "", "search: the `API` of the rerank endpoint: cohere (also Jina and vLLM), tei or nim (default cohere)")
	fs.StringVar(&l.synonyms, "synonyms", "", "search: JSON `file` of the stores' own synonyms (docs/search.md)")
	return l
}

// open sets the legs of a suite that has its state. What it returns lets go of their connections.
func (l *legFlags) open(cfg *suite.Config, env environment) (closeLegs func() error, err error) {
	documents, queries, err := l.check()
	if err != nil {
		return nil, err
	}
	if cfg.Synonyms, err = readSynonyms(l.synonyms); err != nil {
		return nil, err
	}
	var closers []func()
	if l.embedURL != "" {
		c, err := embed.New(embed.Config{
			URL: l.embedURL, Model: l.embedModel, Key: env.get("QUARTET_EMBED_KEY"),
			DocumentType: documents, QueryType: queries, Cache: embed.RedisCache{Redis: cfg.Redis},
		})
		if err != nil {
			return nil, usageError{err}
		}
		cfg.Embedder, closers = c, append(closers, c.Close)
	}
	if l.rerankURL != "" {
		c, err := rerank.New(rerank.Config{
			URL: l.rerankURL, Model: l.rerankModel, Key: env.get("QUARTET_RERANK_KEY"), Style: rerank.Style(l.rerankStyle),
		})
		if err != nil {
			return nil, usageError{err}
		}
		cfg.Reranker, closers = c, append(closers, c.Close)
	}
	return func() error {
		for _, c := range closers {
			c()
		}
		return nil
	}, nil
}

// readSynonyms reads a file of synonyms: by store, or "*" for all, groups of phrases that mean the same. No path: there are none.
func readSynonyms(path string) (synonyms map[string][][]string, err error) {
	if path == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("synonyms: %w", err)
	}
	if err := json.Unmarshal(raw, &synonyms); err != nil {
		return nil, usagef("synonyms: %s: %w; want such as {\"kites\": [[\"stunt kite\", \"flyer\"]]}", path, err)
	}
	if err := search.CheckSynonyms(synonyms); err != nil {
		return nil, usagef("%s: %w", path, err)
	}
	return synonyms, nil
}

// check refuses flags that do not go together, and returns the input types.
func (l *legFlags) check() (documents, queries string, err error) {
	switch {
	case l.embedURL == "" && (l.embedModel != "" || l.embedType != ""):
		return "", "", usagef("--embed-model and --embed-input-type need --embed-url")
	case l.embedURL != "" && l.embedModel == "":
		return "", "", usagef("--embed-url needs --embed-model")
	case l.rerankURL == "" && (l.rerankModel != "" || l.rerankStyle != ""):
		return "", "", usagef("--rerank-model and --rerank-style need --rerank-url")
	case l.rerankURL != "" && l.rerankModel == "" && l.rerankStyle != string(rerank.TEI):
		return "", "", usagef("--rerank-url needs --rerank-model, but for --rerank-style tei")
	}
	return l.inputTypes()
}

// inputTypes returns the input_type of products and of queries.
func (l *legFlags) inputTypes() (documents, queries string, err error) {
	if l.embedType == "" {
		return "", "", nil
	}
	documents, queries, ok := strings.Cut(l.embedType, ",")
	documents, queries = strings.TrimSpace(documents), strings.TrimSpace(queries)
	if !ok || documents == "" || queries == "" || strings.Contains(queries, ",") {
		return "", "", usagef("--embed-input-type %q: want two, that of products and that of queries, such as passage,query", l.embedType)
	}
	return documents, queries, nil
}

// describe says what the search goes by, for the banner.
func (l *legFlags) describe() string {
	out := "words"
	if l.embedURL != "" {
		out += " and vectors of " + l.embedModel
	} else {
		out += " alone (no --embed-url)"
	}
	if l.rerankURL != "" {
		out += ", reranked by " + cmp.Or(l.rerankModel, l.rerankStyle)
	}
	return out
}
