package bundle

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	gatewayv1 "github.com/quartet-commerce/quartet/proto/gen/quartet/gateway/v1"
)

// Shrunk is what Shrink has made of a turn.
type Shrunk struct {
	// Player of the smaller turn, which replays as recorded.
	Player *Player
	// Parts of the turn, how many of them are left out, and how many replays that took.
	Parts, Removed, Replays int
}

// Shrink leaves out what a turn does not need to fail: lines, and parts of the store, the conversation, the specialists and the results of
// tools, large ones first. Fails replays a turn and reports whether it fails still. While parts are left out, model calls are answered by
// what they are about and their place in the conversation, since what they read has changed; the result has what they read.
//
// It ends early with ctx, and returns what it has by then. The error is that of fails, or says that the turn does not fail as it is.
func Shrink(ctx context.Context, p *Player, fails func(*Player) (bool, error)) (*Shrunk, error) {
	docs, err := documents(p.lines)
	if err != nil {
		return nil, err
	}
	out, removed := &Shrunk{}, make(map[string]bool)
	try := func(further []string) (bool, error) {
		without := maps.Clone(removed)
		for _, part := range further {
			without[part] = true
		}
		candidate, err := withoutParts(p.Name, docs, without)
		if err != nil {
			return false, nil // it is no turn any more
		}
		out.Replays++
		failed, err := fails(candidate)
		if failed && err == nil && len(candidate.Divergences()) == 0 {
			out.Player, removed = candidate, without
			return true, nil
		}
		return false, err
	}
	if failed, err := try(nil); err != nil {
		return nil, err
	} else if !failed {
		return nil, fmt.Errorf("%s: the check does not fail", p.Name)
	}
	for _, level := range parts(docs) {
		out.Parts += len(level)
		level = slices.DeleteFunc(level, func(part string) bool { return within(part, removed) })
		for size := len(level); size > 0; size /= 2 {
			for i := 0; i < len(level) && ctx.Err() == nil; {
				end := min(i+size, len(level))
				gone, err := try(level[i:end])
				switch {
				case err != nil:
					return nil, err
				case gone:
					level = slices.Delete(level, i, end)
				default:
					i = end
				}
			}
		}
	}
	out.Removed = len(removed)
	out.Player, err = newPlayer(p.Name, out.Player.played())
	return out, err
}

// documents returns lines as JSON values, whose parts can be left out.
func documents(lines []line) (docs []any, err error) {
	for _, l := range lines {
		raw, err := encode(l)
		if err != nil {
			return nil, err
		}
		values := json.NewDecoder(bytes.NewReader(raw))
		values.UseNumber()
		var doc any
		if err := values.Decode(&doc); err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
	return docs, nil
}

// reducible are the parts of a line that may be left out in parts, with the number of levels.
var reducible = map[string]int{
	"start/Store": 3, "start/Conversation": 4, "start/Prompts": 1, "setup/tools": 1, "tool/Result": 6, "tool/Findings": 6,
}

// parts returns the paths of what may be left out, by level: number of the line/key/key...
func parts(docs []any) [][]string {
	levels := make([][]string, 8)
	add := func(level int, path string) { levels[level] = append(levels[level], path) }
	var walk func(v any, path string, level, deepest int)
	walk = func(v any, path string, level, deepest int) {
		if level > deepest {
			return
		}
		for key, child := range children(v) {
			add(level, path+"/"+key)
			walk(child, path+"/"+key, level+1, deepest)
		}
	}
	for i, doc := range docs {
		fields, _ := doc.(map[string]any)
		at := strconv.Itoa(i)
		if fields["start"] == nil && fields["offer"] == nil && fields["end"] == nil {
			add(0, at)
		}
		offer, _ := fields["offer"].(map[string]any)
		for key, specialist := range children(offer["Specialists"]) { // without a name and a purpose, the router refuses it
			for field, v := range children(specialist) {
				if path := at + "/offer/Specialists/" + key + "/" + field; field == "keywords" || field == "examples" {
					add(0, path)
					walk(v, path, 1, 1)
				}
			}
		}
		for path, deepest := range reducible {
			kind, field, _ := strings.Cut(path, "/")
			of, _ := fields[kind].(map[string]any)
			if of[field] != nil {
				if kind == "start" && field != "Store" {
					add(0, at+"/"+path)
				}
				walk(of[field], at+"/"+path, 1, deepest)
			}
		}
	}
	for _, level := range levels {
		slices.Sort(level)
	}
	return levels
}

// children returns the elements of a list or the fields of an object, by key.
func children(v any) map[string]any {
	switch v := v.(type) {
	case map[string]any:
		return v
	case []any:
		all := make(map[string]any)
		for i, child := range v {
			all[strconv.Itoa(i)] = child
		}
		return all
	}
	return nil
}

// within reports whether a part is in one that was left out.
func within(part string, removed map[string]bool) bool {
	for at := strings.LastIndexByte(part, '/'); at > 0; at = strings.LastIndexByte(part[:at], '/') {
		if removed[part[:at]] {
			return true
		}
	}
	return removed[part]
}

// withoutParts returns the player of a turn without some parts, which answers model calls by their place.
func withoutParts(name string, docs []any, removed map[string]bool) (*Player, error) {
	var prune func(v any, path string) any
	prune = func(v any, path string) any {
		switch v := v.(type) {
		case map[string]any:
			out := make(map[string]any)
			for key, child := range v {
				if at := path + "/" + key; !removed[at] {
					out[key] = prune(child, at)
				}
			}
			return out
		case []any:
			out := []any{}
			for i, child := range v {
				if at := path + "/" + strconv.Itoa(i); !removed[at] {
					out = append(out, prune(child, at))
				}
			}
			return out
		}
		return v
	}
	var lines []line
	for i, doc := range docs {
		at := strconv.Itoa(i)
		if removed[at] {
			continue
		}
		raw, err := encode(prune(doc, at))
		if err != nil {
			return nil, err
		}
		var l line
		if err := json.Unmarshal(raw, &l); err != nil {
			return nil, err
		}
		lines = append(lines, l)
	}
	p, err := newPlayer(name, lines)
	if err == nil {
		p.loose = true
	}
	return p, err
}

// played returns the lines of a loose replay as if it had been recorded: those that it has used, its model calls, its spans and its end.
func (p *Player) played() []line {
	p.mu.Lock()
	defer p.mu.Unlock()
	var lines []line
	for i, l := range p.lines {
		if l.Start != nil || l.Offer != nil || p.used[i] && l.Exchange == nil {
			lines = append(lines, l)
		}
	}
	lines = append(lines, p.exchanges...)
	if len(p.now) > 0 {
		lines = append(lines, line{Spans: p.now})
	}
	return append(lines, line{End: p.end})
}

// newEnd returns the end of a turn.
func newEnd(reply *gatewayv1.AskResponse, err error) *end {
	if err != nil {
		return &end{Error: err.Error()}
	}
	return &end{Reply: message(reply)}
}
