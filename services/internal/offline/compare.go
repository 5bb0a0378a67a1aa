package offline

import (
	"regexp"
	"strings"
)

var comparesRE = regexp.MustCompile(`(?i)^.*?\b(?:compare|comparing|difference between|comparar?|diferencia entre|vergleiche?|unterschied zwischen|comparez|comparer|différence entre)\b|\b(?:versus|vs)\b`)

// compared makes a look-up for each of the two things that a clause compares: one query for both would find neither.
func (p *planner) compared(t *profile, clause text) []pick {
	var rest string
	if m := whichRE.FindStringSubmatch(clause.raw); m != nil {
		rest = m[1]
	} else if comparesRE.MatchString(clause.raw) {
		rest = comparesRE.ReplaceAllString(clause.raw, " , ")
	}
	if !t.free || rest == "" {
		return nil
	}
	var out []pick
	for part := range strings.SplitSeq(andRE.ReplaceAllString(rest, ","), ",") {
		one := readAs(tidy(part), clause.lang)
		if len(wishes(salient(one, nil))) == 0 {
			continue
		}
		if args, _ := p.fill(t, one, false); args != nil {
			out = append(out, pick{t, args})
		}
	}
	if len(out) < 2 {
		return nil
	}
	return out[:min(len(out), maxParallel)]
}

// whichRE is "which is better, a or b?".
var whichRE = regexp.MustCompile(`(?i)^\W*(?:which|what|cuál|welche\w*|quel\w*)\b[^,:]*[,:](.+\s(?:or|o|oder|ou)\s.+)$`)

var andRE = regexp.MustCompile(`(?i)\s(?:and|or|o|oder|ou|with|to|y|con|und|mit|et|avec)\s`)
