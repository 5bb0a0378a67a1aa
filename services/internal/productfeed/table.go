package productfeed

import (
	"bufio"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// readTable reads a table with a header. A CSV file may have semicolons in place of commas, as spreadsheets write in some countries.
func readTable(in io.Reader, comma rune) ([]row, error) {
	buffered := bufio.NewReader(in)
	if mark, _ := buffered.Peek(3); string(mark) == "\xef\xbb\xbf" {
		_, _ = buffered.Discard(3) // just read
	}
	if start, _ := buffered.Peek(1024); comma == ',' {
		header, _, _ := strings.Cut(string(start), "\n")
		if strings.Count(header, ";") > strings.Count(header, ",") {
			comma = ';'
		}
	}
	r := csv.NewReader(buffered)
	r.Comma, r.FieldsPerRecord, r.ReuseRecord = comma, -1, true
	r.LazyQuotes = comma == '\t' // feeds in TSV have inches
	names, err := r.Read()
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("the file is empty")
	case err != nil:
		return nil, fmt.Errorf("read the header: %w", err)
	case notUTF8(names):
		return nil, errNotUTF8
	}
	header := make([]string, len(names))
	for i, name := range names {
		header[i] = columnName(name)
		if header[i] != "" && slices.Contains(header[:i], header[i]) {
			return nil, fmt.Errorf("the header has %q twice", name)
		}
	}
	for _, required := range []string{"id", "title", "price"} {
		if !slices.Contains(header, required) {
			return nil, fmt.Errorf("the header has no column %q; it has %q", required, header)
		}
	}
	var rows []row
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err // has the line
		}
		line, _ := r.FieldPos(0)
		values := make(map[string]string, len(record))
		for i, v := range record {
			if i < len(header) && v != "" {
				values[header[i]] = v
			}
		}
		rows = append(rows, row{line, values})
	}
}

var errNotUTF8 = errors.New("the text is not UTF-8; save the file as UTF-8, which spreadsheets call \"CSV UTF-8\"")

func notUTF8(values []string) bool {
	return slices.ContainsFunc(values, func(v string) bool { return !utf8.ValidString(v) })
}

// columnName returns the name of an attribute as the specification writes it: "g:Image Link" is image_link.
func columnName(name string) string {
	name = strings.TrimPrefix(strings.ToLower(strings.TrimSpace(name)), "g:")
	return strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r == ' ' || r == '_' || r == ':' }), "_")
}

// readXML reads the items of an RSS feed, or the entries of an Atom feed. Elements that repeat are joined by commas.
func readXML(in io.Reader) ([]row, error) {
	d := xml.NewDecoder(in)
	var rows []row
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			if rows == nil {
				return nil, errors.New("the file has neither <item> nor <entry>")
			}
			return rows, nil
		}
		if err != nil {
			return rows, fmt.Errorf("read XML: %w", err)
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "item" && start.Name.Local != "entry" {
			continue
		}
		line, _ := d.InputPos()
		var entry struct {
			Elements []element `xml:",any"`
		}
		if err := d.DecodeElement(&entry, &start); err != nil {
			return rows, fmt.Errorf("read XML: %w", err)
		}
		rows = append(rows, row{line, valuesOf(entry.Elements)})
	}
}

// element is an attribute in XML. Atom has addresses in href.
type element struct {
	XMLName xml.Name
	Href    string `xml:"href,attr"`
	Text    string `xml:",chardata"`
}

func valuesOf(elements []element) map[string]string {
	values := make(map[string]string, len(elements))
	for _, e := range elements {
		name, value := columnName(e.XMLName.Local), strings.TrimSpace(e.Text)
		if value == "" {
			value = e.Href
		}
		switch {
		case value == "":
		case values[name] == "":
			values[name] = value
		case name == "additional_image_link" || name == "tags":
			values[name] += "," + value
		}
	}
	return values
}
