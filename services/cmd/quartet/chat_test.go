package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// A program asks a terminal where its cursor is, and the terminal answers with row and column.
const (
	cursorQuery  = "\x1b[6n"
	cursorReport = "\x1b[1;1R"
)

// typed is a line that is typed when the prompt is there, and what must appear before the next.
type typed struct{ types, says string }

// chatInATerminal runs chat in a pseudo-terminal until it ends, and returns all that the terminal showed.
func chatInATerminal(t *testing.T, steps []typed, args ...string) string {
	t.Helper()
	program := exec.CommandContext(t.Context(), os.Args[0], append([]string{"chat", "--log-level", "ERROR"}, args...)...)
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
	for _, step := range steps {
		until("> ")
		if _, err := terminal.WriteString(step.types + "\r"); err != nil {
			t.Fatal(err)
		}
		until(step.says)
	}
	if err := program.Wait(); err != nil {
		t.Errorf("chat ended with %v\n%s", err, screen)
	}
	return string(screen)
}

func TestChatInATerminal(t *testing.T) {
	chatInATerminal(t, []typed{
		{"/show", "nothing was answered yet"},
		{"/cart", " item"},
		{"where is my order?", "thread "},
		{"/show", "merge "},
		{"/bad too long", "thank you"},
		{"do you have tents?", "→ add to cart: TENT"},
		{"/dance", "there is no command /dance"},
		{"/as lea", "customer lea"},
		{"/help", "another customer"},
		{"/quit", ""},
	})
}

// A conversation with a running gateway, which a second chat continues by its id.
func TestChatContinuesAThreadOfAGateway(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	at := up(t, ctx, stop)
	gateway := []string{"--addr", at["gateway"], "--customer", "ava"}
	screen := chatInATerminal(t, []typed{
		{"/cart", " item"},
		{"where is my order QT-10031?", "trace "},
		{"/quit", ""},
	}, gateway...)
	if !strings.Contains(screen, "gateway at "+at["gateway"]) {
		t.Errorf("the banner does not name the gateway:\n%s", screen)
	}
	thread := regexp.MustCompile(`thr_[a-z0-9]+`).FindString(screen)
	screen = chatInATerminal(t, []typed{
		{"what is your return policy?", "thread " + thread},
		{"/quit", ""},
	}, append(gateway, "--thread", thread)...)
	code, out, stderr := quartet(ctx, nil, "call", "GatewayService/GetThread", "--addr", at["gateway"],
		`{"store_id":"demo","customer_id":"ava","thread_id":"`+thread+`"}`)
	if code != 0 || !strings.Contains(out, "where is my order QT-10031?") || !strings.Contains(out, "what is your return policy?") {
		t.Errorf("the thread has not both messages: code %d, %s\n%s\n%s", code, stderr, out, screen)
	}
}
