package state

import "strings"

// escaper keeps a part from looking like several, or like a hash tag.
var escaper = strings.NewReplacer("%", "%25", ":", "%3A", "{", "%7B", "}", "%7D")

// Key returns the key "quartet:{STORE}:PART:PART" of something that a store has once, such as its settings. All such keys
// of a store share one cluster slot. Parts may hold any text; different parts give different keys.
func Key(storeID string, parts ...string) string {
	return key(escaper.Replace(storeID), parts)
}

// TaggedKey returns the key "quartet:{STORE:TAG}:PART:PART". Keys with the same store and tag share one cluster slot, so a
// script or a transaction may touch several of them. Keys with different tags spread over the cluster: the tag names what
// must change together, such as one thread.
func TaggedKey(storeID, tag string, parts ...string) string {
	return key(escaper.Replace(storeID)+":"+escaper.Replace(tag), parts)
}

func key(tag string, parts []string) string {
	var b strings.Builder
	b.WriteString("quartet:{")
	b.WriteString(tag)
	b.WriteString("}")
	for _, p := range parts {
		b.WriteString(":")
		b.WriteString(escaper.Replace(p))
	}
	return b.String()
}
