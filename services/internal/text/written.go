package text

import tags "golang.org/x/text/language"

// Written returns the base language in which code writes for a shopper whose language is tag, a BCP 47 one, and whether that is the
// shopper's: code writes English, German, Spanish and French. Without a tag it is English; a shopper of any other language gets
// English where there must be a text, and none elsewhere.
func Written(tag string) (base string, own bool) {
	if tag == "" {
		return "en", true
	}
	b, _ := tags.Make(tag).Base()
	switch base := b.String(); base {
	case "en", "de", "es", "fr":
		return base, true
	}
	return "en", false
}
