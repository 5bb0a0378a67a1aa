package main

import (
	"cmp"
	"flag"
	"strings"

	"github.com/quartet-commerce/quartet/services/internal/embed"
	"github.com/quartet-commerce/quartet/services/internal/rerank"
	"github.com/quartet-commerce/quartet/services/suite"
)

// legFlags say what the search goes by beside words.
type legFlags struct {
	embedURL, embedModel, embedType     string
	rerankURL, rerankModel, rerankStyle string
}

func addLegFlags(fs *flag.FlagSet) *legFlags {
	l := &legFlags{}
	fs.StringVar(&l.embedURL, "embed-url", "", "search: `URL` of an OpenAI-compatible API with /embeddings, such as http://localhost:8000/v1 (default: search goes by words alone); its key is in QUARTET_EMBED_KEY, else OPENAI_API_KEY")
	fs.StringVar(&l.embedModel, "embed-model", "", "search: `name` of the embedding model")
	fs.StringVar(&l.embedType, "embed-input-type", "", "search: input_type of products and of queries, for models that want it, such as \"passage,query\" or \"search_document,search_query\" (default: not sent)")
	fs.StringVar(&l.rerankURL, "rerank-url", "", "search: whole `URL` of a rerank endpoint, such as http://localhost:8000/v1/rerank (default: none); its key is in QUARTET_RERANK_KEY")
	fs.StringVar(&l.rerankModel, "rerank-model", "", "search: `name` of the rerank model; tei needs none")
	fs.StringVar(&l.rerankStyle, "rerank-style", "", "search: the `API` of the rerank endpoint: cohere (also Jina and vLLM), tei or nim (default cohere)")
	return l
}

// open sets the legs of a suite that has its state.
func (l *legFlags) open(cfg *suite.Config, env environment) error {
	documents, queries, err := l.inputTypes()
	if err != nil {
		return err
	}
	switch {
	case l.embedURL == "" && (l.embedModel != "" || l.embedType != ""):
		return usagef("--embed-model and --embed-input-type need --embed-url")
	case l.embedURL != "" && l.embedModel == "":
		return usagef("--embed-url needs --embed-model")
	case l.rerankURL == "" && (l.rerankModel != "" || l.rerankStyle != ""):
		return usagef("--rerank-model and --rerank-style need --rerank-url")
	case l.rerankURL != "" && l.rerankModel == "" && l.rerankStyle != string(rerank.TEI):
		return usagef("--rerank-url needs --rerank-model, but for --rerank-style tei")
	}
	if l.embedURL != "" {
		c, err := embed.New(embed.Config{
			URL: l.embedURL, Model: l.embedModel, Key: cmp.Or(env.get("QUARTET_EMBED_KEY"), env.get("OPENAI_API_KEY")),
			DocumentType: documents, QueryType: queries, Cache: embed.RedisCache{Redis: cfg.Redis},
		})
		if err != nil {
			return usageError{err}
		}
		cfg.Embedder = c
	}
	if l.rerankURL != "" {
		c, err := rerank.New(rerank.Config{
			URL: l.rerankURL, Model: l.rerankModel, Key: env.get("QUARTET_RERANK_KEY"), Style: rerank.Style(l.rerankStyle),
		})
		if err != nil {
			return usageError{err}
		}
		cfg.Reranker = c
	}
	return nil
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
