package output

import (
	"html"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/publicsuffix"
	"golang.org/x/text/unicode/norm"

	"github.com/quartet-commerce/quartet/services/internal/grounding"
	"github.com/quartet-commerce/quartet/services/internal/text"
)

// Text returns what of a text may be shown. It is not blank unless s is.
func (p *Policy) Text(s string) string { return p.whole(&Stream{policy: p}, s) }

// Reply is Text for what the assistant says to the shopper, where it must not claim to have acted.
func (p *Policy) Reply(s string) string { return p.whole(p.NewStream(), s) }

func (p *Policy) whole(stream *Stream, s string) string {
	shown := stream.Add(s)
	shown += stream.Rest()
	if strings.TrimSpace(shown) == "" && strings.TrimSpace(s) != "" {
		return s[:len(s)-len(strings.TrimLeftFunc(s, unicode.IsSpace))] + p.removed.LinkRemoved
	}
	return shown
}

// Stream checks a reply that comes in pieces. Get one from Policy.NewStream.
type Stream struct {
	policy    *Policy
	isReply   bool
	corrected bool // a sentence was replaced, because it claimed an action
	sentences text.Sentences
	inWord    bool // within a word that is too long to be read, of which nothing is shown
}

// NewStream returns a Stream.
func (p *Policy) NewStream() *Stream { return &Stream{policy: p, isReply: true} }

// Add takes in a piece and returns what may be shown of the sentences that are complete.
func (s *Stream) Add(piece string) string {
	var out strings.Builder
	for {
		for _, sentence := range s.sentences.Add(piece) {
			out.WriteString(s.pass(sentence))
		}
		if !s.sentences.Stuck() {
			return out.String()
		}
		held := s.sentences.Rest()
		s.sentences = text.Sentences{}
		full := text.MaxSentence // not all that is held: the cost and the result must not depend on the size of the pieces
		for !utf8.RuneStart(held[full-1]) {
			full--
		}
		full--
		end := max(0, strings.LastIndexFunc(held[:full], unicode.IsSpace))
		out.WriteString(s.pass(held[:end]))
		if full-end >= text.MaxSentence/2 { // no language has such a word, and a link may hide in it
			out.WriteString(s.policy.removed.LinkRemoved) // for each part: a reader that takes nothing holds up a word without end, too
			s.inWord, end = true, full
		}
		piece = held[end:]
	}
}

// Rest returns what may be shown of a text that has ended, after what Add has returned.
func (s *Stream) Rest() string {
	rest := s.sentences.Rest()
	s.sentences = text.Sentences{}
	return s.pass(rest)
}

func (s *Stream) pass(sentence string) string {
	if s.inWord {
		end := strings.IndexFunc(sentence, unicode.IsSpace)
		if end < 0 {
			return ""
		}
		sentence, s.inWord = sentence[end:], false
	}
	if s.isReply && grounding.ClaimsAction(sentence) {
		if s.corrected {
			return ""
		}
		s.corrected = true
		return sentence[:len(sentence)-len(strings.TrimLeftFunc(sentence, unicode.IsSpace))] + s.policy.removed.NothingChanged
	}
	return s.policy.sentence(sentence)
}

// sentence returns what may be shown of a sentence. What is blank then, such as an image alone, goes with the space before it.
func (p *Policy) sentence(s string) string {
	shown := Visible(s)
	if mayHide(shown) {
		shown = p.redact(shown)
		if plain := decoded(shown); plain != shown {
			if again := p.redact(plain); again != plain {
				shown = again
			}
		}
	}
	if shown != s && strings.TrimSpace(shown) == "" {
		return ""
	}
	return shown
}

// mayHide reports whether a text may hold what is removed. Most sentences are plain words with a stop at the end, so this keeps the
// cost of the check off them.
func mayHide(s string) bool {
	digits := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c >= utf8.RuneSelf && !isPlainLetters(s[i:]):
			return true
		case '0' <= c && c <= '9':
			if digits++; digits >= minVanityDigits {
				return true
			}
		case c == '<', c == '@', c == '\\', c == '&', c == '%', c == '[', c == '{', c == ':' && i+1 < len(s) && s[i+1] != ' ' && s[i+1] != '\n',
			c == '/' && i+1 < len(s) && (s[i+1] == '/' || s[i+1] == '\\'):
			return true
		case c == '.' && i+1 < len(s) && (s[i+1] >= utf8.RuneSelf || 'A' <= s[i+1]&^0x20 && s[i+1]&^0x20 <= 'Z' || '0' <= s[i+1] && s[i+1] <= '9'):
			return true
		case c == '(' && i+2 < len(s) && (s[i+1] == 'a' || s[i+1] == 'A'): // "(at)"
			return true
		}
	}
	return false
}

// isPlainLetters reports whether a text begins with a letter or mark that decoding leaves as it is.
func isPlainLetters(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	switch {
	case unicode.IsDigit(r), r == utf8.RuneError, r == '。', r == '．', r == '｡', r == '․':
		return false
	case r < 0x250, strings.ContainsRune("‘’“”„‚–—«»‹›•€£…", r):
		return true
	}
	return norm.NFKC.IsNormalString(string(r))
}

// percentCode is a character in a URL's code. Only printable ASCII is decoded.
var percentCode = regexp.MustCompile(`%[2-7][0-9A-Fa-f]`)

// escapedMark is a punctuation mark that Markdown shows without the backslash.
var escapedMark = regexp.MustCompile(`\\([!-/:-@\[-` + "`" + `{-~])`)

// maxLayers bounds how often a text is decoded: a text of more layers is a link for nobody.
const maxLayers = 3

// decoded returns a text as renderers and people read it: without entities, percent codes, escapes, full-width and other look-alike
// forms of ASCII.
func decoded(s string) string {
	for range maxLayers {
		before := s
		if strings.Contains(s, "&") {
			s = html.UnescapeString(s)
		}
		if strings.Contains(s, "%") {
			s = percentCode.ReplaceAllStringFunc(s, func(code string) string {
				return string(rune(unhex(code[1])<<4 | unhex(code[2])))
			})
		}
		if strings.Contains(s, `\`) {
			s = escapedMark.ReplaceAllString(s, "$1")
		}
		s = Visible(strings.Map(plainRune, norm.NFKC.String(s)))
		if s == before {
			break
		}
	}
	return s
}

func unhex(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return c&^0x20 - 'A' + 10
}

// plainRune returns the ASCII digit, dot, slash or at sign that a character is read as.
func plainRune(r rune) rune {
	switch {
	case r < utf8.RuneSelf:
		return r
	case strings.ContainsRune("。｡．․", r):
		return '.'
	case strings.ContainsRune("⁄∕⧸／", r):
		return '/'
	case unicode.Is(unicode.Nd, r):
		zero := r
		for unicode.Is(unicode.Nd, zero-1) && r-zero < 9 {
			zero--
		}
		return '0' + (r-zero)%10
	}
	return r
}

// The private characters that stand for a part of the text that may stay, so that no later rule changes it.
const (
	firstKept = '\U000F0000'
	lastKept  = '\U000FFFFD'
)

// redaction is the work on one sentence.
type redaction struct {
	*Policy
	kept []string
}

// keep returns the stand-in for a part that may stay.
func (r *redaction) keep(s string) string {
	if r.kept = append(r.kept, s); len(r.kept) > lastKept-firstKept {
		return s
	}
	return string(firstKept + rune(len(r.kept)-1))
}

// redact removes what may not be shown, in the order in which the forms contain each other.
func (p *Policy) redact(s string) string {
	r := &redaction{Policy: p}
	s = strings.Map(func(c rune) rune {
		if firstKept <= c && c <= lastKept {
			return -1
		}
		return c
	}, s)
	if strings.Contains(s, "](") || strings.Contains(s, "]:") {
		s = r.markdown(s)
	}
	if strings.Contains(s, "<") {
		s = r.tags(s)
	}
	if mayHoldURL(s) {
		s = r.urls(s)
	}
	if strings.Contains(s, "@") || strings.ContainsAny(s, "([{") && spelledMailHint.MatchString(s) {
		s = r.mails(s)
	}
	if mayHoldHost(s) {
		s = r.hosts(s)
	}
	s = r.phoneNumbers(s)
	for _, note := range []string{p.removed.LinkRemoved, p.removed.AddressRemoved, p.removed.NumberRemoved} {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "("+note+")", note), "]"+note, "] "+note) // a note is no link's destination
	}
	if len(r.kept) == 0 {
		return s
	}
	var b strings.Builder
	for _, c := range s {
		if i := int(c - firstKept); 0 <= i && i < len(r.kept) {
			b.WriteString(r.kept[i])
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}

var (
	// angleLink is an address in angle brackets, which Markdown links.
	angleLink = regexp.MustCompile(`<([A-Za-z][A-Za-z0-9+.-]*:[^\s<>]*|[^\s<>@]+@[^\s<>]+)>`)
	// tag is a tag, a comment or a declaration of HTML.
	tag = regexp.MustCompile(`</?[A-Za-z!?][^<>]*>`)
	// openTag is the start of one that does not end here.
	openTag = regexp.MustCompile(`<([A-Za-z!?/])`)
)

// tags removes HTML. What stands between two tags stays.
func (r *redaction) tags(s string) string {
	s = angleLink.ReplaceAllStringFunc(s, func(found string) string {
		if address := found[1 : len(found)-1]; !r.allowsURL(address) {
			return address
		}
		return r.keep(found)
	})
	s = tag.ReplaceAllString(s, "")
	return openTag.ReplaceAllString(s, "< $1")
}

// definition is the start of a link's definition on its line: "[1]: ".
var definition = regexp.MustCompile(`(?m)^[ \t>*-]*\[[^\]\n]+\]:[ \t]*(\S+)[^\n]*\n?`)

// markdown resolves links and images to other hosts: a link leaves its text, an image nothing.
func (r *redaction) markdown(s string) string {
	s = definition.ReplaceAllStringFunc(s, func(line string) string {
		if r.allowsDestination(definition.FindStringSubmatch(line)[1]) {
			return line
		}
		return ""
	})
	for at := 0; ; {
		i := strings.Index(s[at:], "](")
		if i < 0 {
			return s
		}
		i += at
		open := opening(s[:i])
		if open < 0 {
			at = i + 2
			continue
		}
		destination, end := destinationAt(s, i+2)
		image := open > 0 && s[open-1] == '!'
		if r.allowsDestination(destination) && !(image && strings.ContainsAny(destination, "@")) {
			kept := r.keep("](" + destination + ")") // without a title, in which anything may hide
			s = s[:i] + kept + s[end:]
			at = i + len(kept)
			continue
		}
		shown := s[open+1 : i]
		if image {
			open, shown = open-1, ""
		}
		s, at = s[:open]+shown+s[end:], open
	}
}

// opening returns the place of the bracket that a text with a closing bracket behind it opens, or -1.
func opening(s string) int {
	depth := 0
	for i := len(s) - 1; i >= 0; i-- {
		switch s[i] {
		case ']':
			depth++
		case '[':
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return -1
}

// destinationAt returns the destination of a link whose brackets open before i, and where the link ends.
func destinationAt(s string, i int) (destination string, end int) {
	start := i
	depth := 0
	for ; i < len(s); i++ {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth == 0 {
				return firstWord(s[start:i]), i + 1
			}
			depth--
		}
	}
	// The brackets do not close in this sentence: the destination is the first word.
	word := firstWord(s[start:])
	return word, start + strings.Index(s[start:], word) + len(word)
}

// firstWord returns a destination without its title and angle brackets.
func firstWord(s string) string {
	s = strings.TrimSpace(s)
	if inner, ok := strings.CutPrefix(s, "<"); ok {
		inner, _, _ = strings.Cut(inner, ">")
		return inner
	}
	if end := strings.IndexFunc(s, unicode.IsSpace); end >= 0 {
		s = s[:end]
	}
	return s
}

// allowsDestination reports whether a link may lead to a destination: a page or contact of the store, or a place on the page that
// shows the reply.
func (r *redaction) allowsDestination(destination string) bool {
	if strings.ContainsFunc(destination, func(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune("<>\"`", c) }) {
		return false
	}
	d := decoded(destination)
	if strings.ContainsFunc(d, func(c rune) bool { return unicode.IsSpace(c) || c == '<' || c == '>' }) { // browsers leave tabs and line ends out
		return false
	}
	scheme, rest, found := strings.Cut(d, ":")
	switch {
	case d == "" || d[0] == '#' || d[0] == '/' && !strings.HasPrefix(d, "//"):
		return !strings.Contains(d, `\`)
	case found && strings.EqualFold(scheme, "mailto"):
		return r.allowsMail(rest)
	case found && strings.EqualFold(scheme, "tel"):
		return r.allowsPhone(rest)
	}
	return r.allowsURL(destination)
}

var (
	// url is an address with a scheme, or a scheme that programs follow without slashes, or two slashes and a host.
	url = regexp.MustCompile(`(?i)[a-z][a-z0-9+.-]*:[/\\]{1,}[^\s<>"` + "`" + `]+|` +
		`(?:java|vb)script:[^\s<>"` + "`" + `]+|\b(?:https?|ftp|data|file|blob|mailto|tel|sms|callto|skype|sips?|xmpp|facetime(?:-audio)?|whatsapp|tg|intent|magnet|about|view-source):[^\s<>"` + "`" + `]+|` +
		`[/\\]{2,}[\p{L}\p{N}_][^\s<>"` + "`" + `]*`)
	// closing is what stands behind an address and does not belong to it.
	closing = ".,;:!?'\")]}*_~"
)

// urls removes addresses with a scheme, unless they are the store's.
func (r *redaction) urls(s string) string {
	return url.ReplaceAllStringFunc(s, func(found string) string {
		address, rest := trimAddress(found)
		scheme, target, _ := strings.Cut(address, ":")
		switch {
		case strings.EqualFold(scheme, "mailto") && r.allowsMail(target), strings.EqualFold(scheme, "tel") && r.allowsPhone(target),
			r.allowsURL(address):
			return r.keep(address) + apart(rest)
		}
		return r.removed.LinkRemoved + rest
	})
}

// mayHoldURL spares most sentences the expressions, which cost more than all other checks.
func mayHoldURL(s string) bool {
	for i := range len(s) - 1 {
		next := s[i+1]
		if s[i] == ':' && next > ' ' || (s[i] == '/' || s[i] == '\\') && (next == '/' || next == '\\') {
			return true
		}
	}
	return false
}

// mayHoldHost is mayHoldURL for an address without a scheme.
func mayHoldHost(s string) bool {
	numbers := 0 // dots before a digit
	for i := range len(s) - 1 {
		if s[i] != '.' {
			continue
		}
		switch next := s[i+1]; {
		case next >= utf8.RuneSelf || isASCIILetter(next) || next == '_':
			return true
		case isDigit(next):
			numbers++
		}
	}
	return numbers > 2
}

// trimAddress separates an address from what stands behind it.
func trimAddress(found string) (address, rest string) {
	if i := strings.IndexFunc(found, func(c rune) bool {
		return c >= utf8.RuneSelf && !unicode.IsLetter(c) && !unicode.IsDigit(c) && !unicode.Is(unicode.M, c) || firstKept <= c && c <= lastKept
	}); i >= 0 {
		found, rest = found[:i], found[i:]
	}
	address = strings.TrimRight(found, closing)
	if strings.Count(address, "(") > strings.Count(address, ")") && strings.HasPrefix(found[len(address):], ")") {
		address += ")"
	}
	return address, found[len(address):] + rest
}

// apart keeps a mark that some programs take for a part of an address away from it.
func apart(rest string) string {
	if c, _ := utf8.DecodeRuneInString(rest); rest != "" && c >= utf8.RuneSelf && c < firstKept {
		return " " + rest
	}
	return rest
}

var (
	// mailAddress is an e-mail address, or what a program may take for one.
	mailAddress = regexp.MustCompile(`[^\s<>()\[\]{},;:"'@` + "`" + `|]+@(?:[^\s<>()\[\]{},;:"'@` + "`" + `|]+@)*[^\s<>()\[\]{},;:"'@` + "`" + `|]+`)
	// spelledMail is one that is written so that programs do not find it.
	spelledMail = regexp.MustCompile(`(?i)[\p{L}\p{N}._+-]+\s?[(\[{]\s?(?:at|@|arroba)\s?[)\]}]\s?[\p{L}\p{N}_-]+(?:\s?(?:\.|[(\[{]\s?(?:dot|punkt|punto|point|\.)\s?[)\]}])\s?[\p{L}\p{N}_-]+)*`)
	// spelledMailHint is in each spelledMail.
	spelledMailHint = regexp.MustCompile(`(?i)[(\[{]\s?(?:at|@|arroba)\s?[)\]}]`)
	// plainAddress is an address that is written in one way only.
	plainAddress = regexp.MustCompile(`^[A-Za-z0-9._%+-]+@[^\s@]+$`)
)

// mails removes e-mail addresses that are not the store's.
func (r *redaction) mails(s string) string {
	s = spelledMail.ReplaceAllString(s, r.removed.AddressRemoved)
	return mailAddress.ReplaceAllStringFunc(s, func(found string) string {
		address, rest := trimAddress(found)
		lead := len(address) - len(strings.TrimLeft(address, "*_~."))
		name, domain, _ := strings.Cut(address[lead:], "@")
		switch {
		case name == "" || !strings.Contains(domain, "."):
			return found
		case r.allowsMail(address[lead:]):
			return address[:lead] + r.keep(address[lead:]) + apart(rest)
		}
		return r.removed.AddressRemoved + rest
	})
}

// host is a name with dots, and what may follow it in an address.
var host = regexp.MustCompile(`[\p{L}\p{N}_][\p{L}\p{N}\p{M}_-]*(?:\.[\p{L}\p{N}_][\p{L}\p{N}\p{M}_-]*)+\.?(?::\d+)?(?:[/\\?#][^\s<>"` + "`" + `]*)?`)

// hosts removes addresses without a scheme, unless they are the store's.
func (r *redaction) hosts(s string) string {
	return host.ReplaceAllStringFunc(s, func(found string) string {
		address, rest := trimAddress(found)
		name, path := address, ""
		if end := strings.IndexAny(address, `/\?#:`); end >= 0 {
			name, path = address[:end], address[end:]
		}
		dot := strings.LastIndexByte(strings.TrimSuffix(name, "."), '.')
		if dot < 0 {
			return found
		}
		top := strings.TrimSuffix(name[dot+1:], ".")
		switch {
		case !isTopLevel(top) && !strings.EqualFold(name[:min(len(name), 4)], "www.") && !(path != "" && isIPv4(name)):
			return found
		case r.allowsAuthority(address) && !strings.Contains(address, `\`):
			return r.keep(address) + apart(rest)
		case path != "" || strings.Count(name, ".") > 1:
		case isJoint(name[:dot], top): // two sentences without a space between them
			return name[:dot+1] + " " + top + rest
		case isFileType(top):
			return name[:dot] + " ." + top + rest
		}
		return r.removed.LinkRemoved + rest
	})
}

// reservedTopLevels are those that no registry has, and that resolvers or examples use.
var reservedTopLevels = map[string]bool{
	"example": true, "test": true, "invalid": true, "localhost": true, "local": true, "internal": true, "lan": true, "onion": true,
}

// isTopLevel reports whether a name is a top-level domain.
func isTopLevel(name string) bool {
	name, err := asciiHost(name)
	if err != nil || len(name) < 2 {
		return false
	}
	_, known := publicsuffix.PublicSuffix("x." + name)
	return known || reservedTopLevels[name]
}

// isIPv4 reports whether a name is four numbers.
func isIPv4(name string) bool {
	return strings.Count(name, ".") == 3 && strings.Trim(name, "0123456789.") == ""
}

// isJoint reports whether a dot without a space behind it looks like the end of a sentence: a capital letter follows small ones, or
// a word follows a number.
func isJoint(before, top string) bool {
	first, n := utf8.DecodeRuneInString(top)
	return unicode.IsUpper(first) && strings.ToLower(top[n:]) == top[n:] || strings.Trim(before, "0123456789") == ""
}

// isFileType reports whether a top-level domain is better known as the type of a file. A space before the dot keeps programs from
// making a link of the file's name.
func isFileType(top string) bool {
	switch strings.ToLower(top) {
	case "zip", "mov", "md", "sh", "py", "rs", "pl", "ps":
		return true
	}
	return false
}
