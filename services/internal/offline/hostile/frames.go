package hostile

import (
	"bytes"
	"strings"
	"time"
)

// frame is what is written at once.
type frame struct {
	data  []byte
	every time.Duration // above zero: written again and again, so far apart, until the caller leaves
	cut   bool          // the connection breaks
}

const commentLine = ": still thinking\n"

var (
	crashed  = event(`{"error":{"message":"the model crashed","type":"server_error","code":500}}`)
	garbage  = event(`{"choices":[{"del`)
	openLine = frame{data: []byte(`data: {"choices":[{"index":0,"delta":{"content":"`)}
)

func event(data string) frame { return frame{data: []byte("data: " + data + "\n\n")} }

// framesOf returns a frame for each chunk, and one for the mark of the end.
func framesOf(chunks [][]byte) []frame {
	var out []frame
	for _, c := range chunks {
		out = append(out, event(string(c)))
	}
	return append(out, event("[DONE]"))
}

// splitBytes writes every byte by itself.
func splitBytes(frames []frame) []frame {
	var out []frame
	for _, f := range frames {
		if f.every > 0 || f.cut {
			out = append(out, f)
			continue
		}
		for i := range f.data {
			out = append(out, frame{data: f.data[i : i+1]})
		}
	}
	return out
}

// replacing changes the bytes of all frames.
func replacing(old, with string) func([]frame) []frame {
	return func(frames []frame) []frame {
		for i := range frames {
			frames[i].data = bytes.ReplaceAll(frames[i].data, []byte(old), []byte(with))
		}
		return frames
	}
}

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
