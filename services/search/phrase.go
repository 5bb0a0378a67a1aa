package search

import "slices"

// phrases are the synonyms of several words that the service knows by itself, in the stems of every language. Rows in a cluster
// tell which of them a field has.
type phrases struct {
	known map[string]bool
	first map[string][][]string // by their first stems
}

func newPhrases() phrases {
	out := phrases{known: make(map[string]bool), first: make(map[string][][]string)}
	for _, x := range newVocabulary(nil).lexicons {
		for _, alternatives := range []map[string][]string{x.synonyms, x.implied} {
			for _, meaningTheSame := range alternatives {
				for _, phrase := range meaningTheSame {
					out.add(words(phrase))
				}
			}
		}
	}
	return out
}

func (p phrases) add(ws []string) {
	if len(ws) < 2 {
		return
	}
	for _, stems := range (Term{languages: languages}).phrases(ws) {
		if !p.has(stems) {
			p.known[phraseToken(stems)] = true
			p.first[stems[0]] = append(p.first[stems[0]], stems)
		}
	}
}

// has reports whether a phrase is one of them.
func (p phrases) has(stems []string) bool { return p.known[phraseToken(stems)] }

// in returns those of which a field has all the words.
func (p phrases) in(field []string) [][]string {
	there := make(map[string]bool, len(field))
	for _, s := range field {
		there[s] = true
	}
	var out [][]string
	for s := range there {
		for _, stems := range p.first[s] {
			if !slices.ContainsFunc(stems, func(s string) bool { return !there[s] }) {
				out = append(out, stems)
			}
		}
	}
	return out
}
