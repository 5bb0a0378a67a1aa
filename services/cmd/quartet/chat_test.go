package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// A program asks a terminal where its cursor is, and the terminal answers with row and column.
const (
	cursorQuery  = "\x1b[6n"
	cursorReport = "\x1b[1;1R"
)

// A conversation through a pseudo-terminal: each line is typed when the prompt is there, and the next when its reply is.
func TestChatInATerminal(t *testing.T) {
	program := exec.CommandContext(t.Context(), os.Args[0], "chat", "--log-level", "ERROR")
	program.Env = append(os.Environ(), "TERM=xterm", "OPENAI_API_KEY=", "ANTHROPIC_API_KEY=", "GEMINI_API_KEY=")
	terminal, err := pty.StartWithSize(program, &pty.Winsize{Rows: 40, Cols: 160})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	screen := make([]byte, 0, 1<<16)
	read := 0
	until := func(says string) {
		t.Helper()
		for {
			if at := strings.Index(string(screen[read:]), says); at >= 0 {
				read += at + len(says)
				return
			}
			part := make([]byte, 4096)
			n, err := terminal.Read(part)
			screen = append(screen, part[:n]...)
			for range bytes.Count(part[:n], []byte(cursorQuery)) {
				if _, err := terminal.WriteString(cursorReport); err != nil {
					t.Fatal(err)
				}
			}
			if err != nil {
				t.Fatalf("the terminal ended before %q: %v\n%s", says, err, screen)
			}
		}
	}
	for _, step := range []struct{ types, says string }{
		{"/show", "nothing was answered yet"},
		{"/cart", " item"},
		{"where is my order?", "thread "},
		{"/show", `"thread_id":`},
		{"/dance", "there is no command /dance"},
		{"/as lea", "customer lea"},
		{"/help", "another customer"},
		{"/quit", ""},
	} {
		until("> ")
		if _, err := terminal.WriteString(step.types + "\r"); err != nil {
			t.Fatal(err)
		}
		until(step.says)
	}
	if err := program.Wait(); err != nil {
		t.Errorf("chat ended with %v\n%s", err, screen)
	}
}
