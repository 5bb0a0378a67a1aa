package state

import "strings"

// escaper keeps a part from looking like several, or like a hash tag.
var escaper = strings.NewReplacer("%", "%25", ":", "%3A", "{", "%7B", "}", "%7D")

// Key returns the key "quartet:{STORE}:PART:PART". The braces are a hash tag: all keys of a store lie on one cluster
// slot, so that a script or a transaction may touch several. Parts may hold any text; different parts give different keys.
func Key(storeID string, parts ...string) string {
	var b strings.Builder
	b.WriteString("quartet:{")
	b.WriteString(escaper.Replace(storeID))
	b.WriteString("}")
	for _, p := range parts {
		b.WriteString(":")
		b.WriteString(escaper.Replace(p))
	}
	return b.String()
}
