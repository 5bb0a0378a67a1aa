package hostile

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Mode is one misbehaviour. Get modes from Parse or Modes; the zero Mode does nothing.
type Mode struct {
	// Name in lower case with dashes.
	Name string
	// Sends says what the endpoint does.
	Sends string
	// Loop says what agentloop makes of it, with the adapter and the wrappers that the services use.
	Loop string

	refuse refuseFunc
	edit   editFunc
	wire   wireFunc
	// once makes a refusal or an edit act on every second request of a conversation, the first one included. Of edits, only
	// answers in text count.
	once        bool
	contentType string // of the stream; empty: the right one
	whole       bool   // the answer is not a stream
}

// refuseFunc answers a request in place of the model.
type refuseFunc func(w http.ResponseWriter, r *http.Request)

// editFunc changes what the model says. It may change the chunks in place.
type editFunc func(x *exchange, chunks []chunk) []chunk

// wireFunc changes what is written. It may change the frames in place.
type wireFunc func(frames []frame) []frame

// Modes returns all modes, in the order of the documentation.
func Modes() []Mode {
	return slices.Concat(splitting, thinking, calling, answering, refusing, breaking)
}

// Parse returns the modes of a comma-separated list, in its order. The error for an unknown name suggests similar ones.
func Parse(list string) ([]Mode, error) {
	var out []Mode
	known := Modes()
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		at := slices.IndexFunc(known, func(m Mode) bool { return m.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("unknown misbehaviour %q; the nearest are %s", name, strings.Join(nearest(known, name), ", "))
		}
		out = append(out, known[at])
	}
	return out, nil
}

// nearest returns the names closest to name. Missing letters count little.
func nearest(known []Mode, name string) []string {
	const most = 6
	names := make([]string, len(known))
	for i, m := range known {
		names[i] = m.Name
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(distance(name, a), distance(name, b)) })
	return names[:most]
}

// distance is the edit distance from a to b: 1 for an added letter, 3 for a dropped or replaced one.
func distance(a, b string) int {
	const added, lost = 1, 3
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j * added
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] += lost
		for j := range len(b) {
			best := min(row[j+1]+lost, row[j]+added, diagonal+lost)
			if a[i] == b[j] {
				best = min(best, diagonal)
			}
			diagonal, row[j+1] = row[j+1], best
		}
	}
	return row[len(b)]
}
