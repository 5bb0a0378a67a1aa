// Command reference prints the contracts as a page of Markdown: what the .proto files say, in one place.
package main

import (
	"bufio"
	"cmp"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/quartet-commerce/quartet/proto/descriptors"
)

func main() {
	files, err := descriptors.Files()
	if err != nil {
		log.Fatal(err)
	}
	var contracts []protoreflect.FileDescriptor
	files.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		if strings.HasPrefix(string(f.Package()), "quartet.") {
			contracts = append(contracts, f)
		}
		return true
	})
	slices.SortFunc(contracts, func(a, b protoreflect.FileDescriptor) int { return cmp.Compare(a.Path(), b.Path()) })
	p := &page{Writer: bufio.NewWriter(os.Stdout)}
	p.printf("# API reference\n\n`make generate` writes this page from the .proto files.\n\n")
	for _, f := range contracts {
		p.printf("- [%s](#%s)", f.Path(), anchor(f.Path()))
		for i := range f.Services().Len() {
			s := f.Services().Get(i)
			p.printf(", [%s](#%s)", s.Name(), anchor(string(s.FullName())))
		}
		p.printf("\n")
	}
	for _, f := range contracts {
		p.file(f)
	}
	if err := p.Flush(); err != nil {
		log.Fatal(err)
	}
}

type page struct{ *bufio.Writer }

// printf writes; Flush returns what fails.
func (p *page) printf(format string, args ...any) { fmt.Fprintf(p, format, args...) }

func (p *page) file(f protoreflect.FileDescriptor) {
	p.printf("\n## %s\n", f.Path())
	for i := range f.Services().Len() {
		s := f.Services().Get(i)
		p.printf("\n### %s\n\n%s\n\n| method | request | response | |\n|---|---|---|---|\n", s.FullName(), comment(s))
		for j := range s.Methods().Len() {
			m := s.Methods().Get(j)
			p.printf("| `%s` | %s%s | %s%s | %s |\n", m.Name(), streams(m.IsStreamingClient()), link(m.Input()), streams(m.IsStreamingServer()), link(m.Output()), comment(m))
		}
	}
	p.messages(f.Messages())
	p.enums(f.Enums())
}

func (p *page) messages(all protoreflect.MessageDescriptors) {
	for i := range all.Len() {
		m := all.Get(i)
		if m.IsMapEntry() {
			continue
		}
		p.printf("\n### %s\n\n%s\n", m.FullName(), comment(m))
		if m.Fields().Len() > 0 {
			p.printf("\n| field | type | |\n|---|---|---|\n")
		}
		for j := range m.Fields().Len() {
			f := m.Fields().Get(j)
			text := comment(f)
			if o := f.ContainingOneof(); o != nil && !o.IsSynthetic() {
				text = "One of `" + string(o.Name()) + "`. " + text
			}
			p.printf("| `%s` | %s | %s |\n", f.Name(), typeOf(f), text)
		}
		p.messages(m.Messages())
		p.enums(m.Enums())
	}
}

func (p *page) enums(all protoreflect.EnumDescriptors) {
	for i := range all.Len() {
		e := all.Get(i)
		p.printf("\n### %s\n\n%s\n\n| value | number | |\n|---|---|---|\n", e.FullName(), comment(e))
		for j := range e.Values().Len() {
			v := e.Values().Get(j)
			p.printf("| `%s` | %d | %s |\n", v.Name(), v.Number(), comment(v))
		}
	}
}

// comment returns the comment before a declaration, on one line that fits into a table.
func comment(d protoreflect.Descriptor) string {
	text := d.ParentFile().SourceLocations().ByDescriptor(d).LeadingComments
	return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(strings.Join(strings.Fields(text), " "))
}

func typeOf(f protoreflect.FieldDescriptor) string {
	switch {
	case f.IsMap():
		return "map of " + f.MapKey().Kind().String() + " to " + single(f.MapValue())
	case f.IsList():
		return "repeated " + single(f)
	case f.HasOptionalKeyword():
		return "optional " + single(f)
	}
	return single(f)
}

// single is the type of one value of a field.
func single(f protoreflect.FieldDescriptor) string {
	switch {
	case f.Message() != nil:
		return link(f.Message())
	case f.Enum() != nil:
		return link(f.Enum())
	}
	return f.Kind().String()
}

// link names a type, and leads to it if the page has it.
func link(d protoreflect.Descriptor) string {
	if !strings.HasPrefix(string(d.FullName()), "quartet.") {
		return string(d.FullName())
	}
	return fmt.Sprintf("[%s](#%s)", d.Name(), anchor(string(d.FullName())))
}

// anchor is the anchor of a heading, as code forges make them.
func anchor(heading string) string {
	return strings.NewReplacer(".", "", "/", "").Replace(strings.ToLower(heading))
}

func streams(yes bool) string {
	if yes {
		return "stream of "
	}
	return ""
}
