package router

import "slices"

// guessFromForm adds what the form of a clause says when no published word does: "does it float?" asks about a product,
// "can you carry it up?" for a service, and a mere name wants the thing.
func (s *splitter) guessFromForm(e *evidence, lo, hi int) {
	l := s.lexicon
	if lo == hi || l.product < 0 || s.language == foreigner || e.solid > 0.7 {
		return
	}
	start, asks := s.skipPreface(lo, hi)
	first := start
	for first < hi && (s.at[first] < 0 || s.silent(first)) {
		first++
	}
	if first < hi && s.phrases[s.at[first]].verb && s.words[hi-1].asked {
		for first++; first < hi && s.at[first] < 0; first++ { // "passt die Matratze ...?"
		}
	}
	noun := first < hi && !s.phrases[s.at[first]].verb && s.thingAt(s.phrases[s.at[first]].head)
	asks = asks || s.words[hi-1].asked || s.words[start].is(helper|asker)
	switch {
	case e.signs&framed == 0 && s.asksForSuch(start, hi):
		e.add(l.product, asksOfIt, "asks for a product")
		e.signs |= pointed
	case asks && s.howTo(start, hi):
		e.add(l.product, asksOfThing, "asks how to use a thing")
		e.signs |= inquired
	case asks && s.service(start, hi):
		e.add(l.catchAll, asksService, "asks for a service")
		e.signs |= served
	case asks && slices.ContainsFunc(s.words[start:hi], func(w word) bool { return w.is(pointer) && !w.is(determiner) }):
		e.add(l.product, asksOfIt, "asks about a product")
		e.signs |= pointed
	case asks && noun && s.aboutThing(start, first):
		e.add(l.product, asksOfThing, "asks about a thing")
		e.signs |= inquired
		s.name(e, first, hi)
	case e.signs&framed == 0 && (noun && s.thing(start, hi) || s.wish(start, hi)):
		weight := namesThing
		if e.signs.has(misled) {
			weight += namesThing // which is why another's words are there
		}
		if !slices.ContainsFunc(s.words[start:hi], func(w word) bool { return !w.content() }) {
			weight += namesThing // "kayak", "green tent"
		}
		e.add(l.product, weight, "names a thing")
		e.signs |= named
		s.name(e, first, hi)
	}
}

// name makes the phrase of the word at i what the evidence is about, if nothing else is.
func (s *splitter) name(e *evidence, i, hi int) {
	if e.object[0] == e.object[1] && i < hi {
		p := s.phrases[s.at[i]]
		e.object = [2]int{p.lo, min(p.hi, hi)}
	}
}

// wish reports whether words ask for a thing by what it is for: "something to keep my coffee hot".
func (s *splitter) wish(lo, hi int) bool {
	switch s.words[lo].norm {
	case "something", "anything", "algo", "etwas":
		return hi-lo > 2
	}
	return false
}

// skipPreface moves lo past joints, what is muted, and "can you tell me" and the like, and reports whether the last was
// there.
func (s *splitter) skipPreface(lo, hi int) (start int, asks bool) {
	for i := lo; s.muted != nil && i < hi-1; i++ {
		if s.muted[i] {
			lo = i + 1
		}
	}
	lo = s.skipLead(lo, hi-1)
	for i := lo; i < min(hi-1, lo+5); i++ {
		f, ok := matchAt(prefaces, s.words[:hi], i)
		next := i + len(f.words)
		if !ok || next >= hi {
			continue
		}
		if w := s.words[next]; f.own > 0 || w.norm == "the" || w.is(asker|helper|condition|subject) {
			return next, true
		}
	}
	return lo, false
}

// silent reports whether the word at i is muted.
func (s *splitter) silent(i int) bool { return s.muted != nil && s.muted[i] }

// howTo reports whether a question asks how something that is not the shopper's is done: "how do I descale the kettle".
func (s *splitter) howTo(lo, hi int) bool {
	switch s.words[lo].norm {
	case "how", "wie", "como", "comment":
	default:
		return false
	}
	for i := lo + 2; i < hi; i++ {
		if s.at[i] >= 0 && s.words[i-1].is(determiner) && !s.words[i-1].is(possessed) {
			return s.thingAt(s.phrases[s.at[i]].head)
		}
	}
	return false
}

// service reports whether a question asks what the shopper or the store may do: "can you ...", "do I have to ...".
func (s *splitter) service(lo, hi int) bool {
	for i := lo; i < min(hi, lo+4); i++ {
		switch s.words[i].norm {
		case "ich", "wir", "je":
			return s.words[lo].is(asker)
		case "if", "happens":
			return s.words[lo].norm == "what"
		case "does":
			return i+1 < hi && s.words[i+1].is(subject) && !s.words[i+1].is(pointer)
		case "can", "could", "may", "will", "would", "should", "do", "did", "kann", "konnen", "konnt", "darf", "puedo", "podeis",
			"pueden", "puis", "pouvez", "peut":
			return i+1 < hi && s.words[i+1].is(subject) && !s.words[i+1].is(pointer) && s.words[i+1].norm != "man"
		}
	}
	return false
}

// asksForSuch reports whether words ask for a product without naming it: "do you have one?", "haben Sie so etwas?".
func (s *splitter) asksForSuch(lo, hi int) bool {
	f, ok := matchAt(frames, s.words[:hi], lo)
	if !ok || f.own < has {
		return false
	}
	i := lo + len(f.words)
	if i == hi || s.words[i].is(pointer) && !s.words[i].is(determiner) {
		return true
	}
	return hi-i < 4 && !slices.ContainsFunc(s.words[i:hi], func(w word) bool { return w.content() || w.is(possessed|vague) })
}

// aboutThing reports whether a question's first noun is a thing that it asks about: "how long does the lamp ...".
func (s *splitter) aboutThing(start, first int) bool {
	switch s.words[start].norm {
	case "who", "where", "wheres", "when", "why", "donde", "cuando", "wo", "wann", "warum", "quand", "pourquoi":
		return false
	}
	if first == start || s.words[first-1].is(possessed) {
		return false
	}
	return !s.placed(s.phrases[s.at[first]]) && s.thingAt(s.phrases[s.at[first]].head) && !s.phrases[s.at[first]].verb
}
