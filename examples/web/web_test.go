// Package web tests the example page in a real browser, against the real program.
package web

import (
	"context"
	"flag"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/quartet-commerce/quartet/examples/internal/quartettest"
)

var screenshot = flag.Bool("screenshot", false, "write screenshot.png anew")

// startQuartet starts the program with a JSON API that pages of origin may call, and returns the API's URL.
func startQuartet(t *testing.T, origin string) string {
	t.Helper()
	return "http://" + quartettest.Start(t, "--http-cors-origin", origin)["http"]
}

// openBrowser returns a context for actions in a headless browser. Without a browser, it skips the test, or fails it in CI.
func openBrowser(t *testing.T) context.Context {
	t.Helper()
	browser, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip("no chromium")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browser), chromedp.NoSandbox, chromedp.WindowSize(760, 1000))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestPage(t *testing.T) {
	ctx := openBrowser(t)
	page := httptest.NewServer(http.FileServer(http.Dir(".")))
	defer page.Close()
	api := startQuartet(t, page.URL)
	address := page.URL + "/?customer=ava&api=" + url.QueryEscape(api)

	var text, order, chips, cards string
	var buttons int
	if err := chromedp.Run(ctx,
		chromedp.Navigate(address),
		chromedp.SendKeys("#message", "Do you have trail running shoes in size 42, and where is my order?\r", chromedp.ByQuery),
		chromedp.WaitReady(`.reply[data-done]`, chromedp.ByQuery),
		chromedp.Text(".reply .text", &text, chromedp.ByQuery),
		chromedp.Text(".reply .order", &order, chromedp.ByQuery),
		chromedp.Evaluate(`[...document.querySelectorAll('.chip.done')].map(e => e.textContent).sort().join(' ')`, &chips),
		chromedp.Evaluate(`[...document.querySelectorAll('.product')].map(e => e.textContent).join('\n')`, &cards),
		chromedp.Evaluate(`document.querySelectorAll('.reply button').length`, &buttons),
	); err != nil {
		t.Fatal(err)
	}
	if chips != "search support" {
		t.Errorf("the chips of those who have finished are %q", chips)
	}
	if !strings.Contains(text, "trail") || !strings.Contains(cards, "€") || order == "" {
		t.Errorf("the text is %q, the products %q, the order %q", text, cards, order)
	}
	if buttons == 0 {
		t.Error("no buttons")
	}
	if *screenshot {
		var image []byte
		if err := chromedp.Run(ctx, chromedp.EmulateViewport(760, 1100), chromedp.FullScreenshot(&image, 100)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("screenshot.png", image, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	// A button tells the page which action it stands for; a second message goes on with the conversation.
	var action, thanks string
	if err := chromedp.Run(ctx,
		chromedp.Evaluate(`document.addEventListener('quartet-action', e => { document.title = JSON.stringify(e.detail); })`, nil),
		chromedp.Click(`.reply button`, chromedp.ByQuery),
		chromedp.Title(&action),
		chromedp.Click(`.ratings button`, chromedp.ByQuery),
		chromedp.WaitNotPresent(`.ratings button`, chromedp.ByQuery),
		chromedp.Text(".ratings", &thanks, chromedp.ByQuery),
		chromedp.SendKeys("#message", "Is the second one waterproof?\r", chromedp.ByQuery),
		chromedp.WaitReady(`.message:nth-child(4)[data-done]`, chromedp.ByQuery),
		chromedp.Text(".message:nth-child(4) .text", &text, chromedp.ByQuery),
	); err != nil {
		t.Fatal(err)
	}
	if thanks != "Thank you." {
		t.Errorf("after a rating the page shows %q", thanks)
	}
	if !strings.HasPrefix(action, "{") || text == "" {
		t.Errorf("the action is %q, the second reply %q", action, text)
	}
}

// TestPageShowsErrors asks for a store that does not exist, and sends HTML as a message.
func TestPageShowsErrors(t *testing.T) {
	ctx := openBrowser(t)
	page := httptest.NewServer(http.FileServer(http.Dir(".")))
	defer page.Close()
	address := page.URL + "/?store=nowhere&api=" + url.QueryEscape(startQuartet(t, page.URL))

	var shown, message string
	if err := chromedp.Run(ctx,
		chromedp.Navigate(address),
		chromedp.SendKeys("#message", "<b>hello</b>\r", chromedp.ByQuery),
		chromedp.Text(".error", &shown, chromedp.ByQuery),
		chromedp.Text(".shopper", &message, chromedp.ByQuery),
	); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(shown, `"nowhere" not found`) || message != "<b>hello</b>" {
		t.Errorf("the page shows %q for %q", shown, message)
	}
}
