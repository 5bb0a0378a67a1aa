package hostile

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// frame is what is written at once.
type frame struct {
	data  []byte
	every time.Duration // above zero: written again and again, so far apart, until the caller leaves
	then  ending
}

// ending is what follows a frame.
type ending int

const (
	next ending = iota // the next frame, or the end of the answer
	hang               // nothing, until the caller leaves
	cut                // a broken connection
)

// event returns the frame of an event.
func event(data string) frame { return frame{data: []byte("data: " + data + "\n\n")} }

// framesOf returns a frame for each chunk, and one for the mark of the end.
func framesOf(chunks []chunk) []frame {
	var out []frame
	for _, c := range chunks {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if enc.Encode(c) == nil { // it was decoded from JSON
			out = append(out, event(strings.TrimSpace(b.String())))
		}
	}
	return append(out, event("[DONE]"))
}

// splitBytes writes every byte by itself.
func splitBytes(frames []frame) []frame {
	var out []frame
	for _, f := range frames {
		for i := range f.data {
			out = append(out, frame{data: f.data[i : i+1]})
		}
		if len(f.data) > 0 {
			out[len(out)-1].every, out[len(out)-1].then = f.every, f.then
		}
	}
	return out
}

// Where the text of an event begins and ends, as framesOf writes it.
var (
	textBegins = []byte(`"content":"`)
	textEnds   = []byte(`"},"finish_reason"`)
)

// splitCharacters makes two events of each one that has a character of several bytes in its text, and cuts that character.
func splitCharacters(frames []frame) []frame {
	var out []frame
	for _, f := range frames {
		begin, end := bytes.Index(f.data, textBegins)+len(textBegins), bytes.LastIndex(f.data, textEnds)
		at := bytes.IndexFunc(f.data, func(r rune) bool { return r >= utf8.RuneSelf })
		if at < begin || at >= end {
			out = append(out, f)
			continue
		}
		out = append(out,
			frame{data: slices.Concat(f.data[:at+1], f.data[end:])},
			frame{data: slices.Concat(f.data[:begin], f.data[at+1:])})
	}
	return out
}

// eachFrame changes the bytes of all frames, one by one.
func eachFrame(change func([]byte) []byte) wireFunc {
	return func(frames []frame) []frame {
		for i := range frames {
			frames[i].data = change(frames[i].data)
		}
		return frames
	}
}

func crlf(data []byte) []byte { return bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")) }

func noSpace(data []byte) []byte {
	if rest, ok := bytes.CutPrefix(data, []byte("data: ")); ok {
		return append([]byte("data:"), rest...)
	}
	return data
}

const commentLine = ": still thinking\n"

// comments writes hundreds of comment lines before the first event, and one before each of the others.
func comments(frames []frame) []frame {
	out := []frame{{data: []byte(strings.Repeat(commentLine, 600))}}
	for _, f := range frames {
		out = append(out, frame{data: []byte(commentLine)}, f)
	}
	return out
}

// loseLast drops the last frame, the mark of the end.
func loseLast(frames []frame) []frame { return frames[:max(len(frames)-1, 0)] }

// insteadOfAll writes something in place of an answer.
func insteadOfAll(with ...frame) wireFunc {
	return func([]frame) []frame { return slices.Clone(with) }
}

// insteadOfRest writes something in place of the second half of an answer.
func insteadOfRest(with ...frame) wireFunc {
	return func(frames []frame) []frame { return slices.Concat(frames[:len(frames)/2], with) }
}

var (
	crashed = event(`{"error":{"message":"the model crashed","type":"server_error","code":500}}`)
	garbage = event(`{"choices":[{"del`)
)

func garbageHalfway(frames []frame) []frame { return slices.Insert(frames, len(frames)/2, garbage) }

func garbageFirst(frames []frame) []frame { return slices.Insert(frames, 0, garbage) }
