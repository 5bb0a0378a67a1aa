package hostile

import (
	"fmt"
	"net/http"
	"time"
)

// refusal returns what answers every request with a status and an error in OpenAI's form.
func refusal(status int, message string, header ...func(http.Header)) refuseFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for _, set := range header {
			set(w.Header())
		}
		body(w, status, "application/json", fmt.Sprintf(`{"error":{"message":%q,"type":"hostile"}}`, message))
	}
}

// page returns what answers with a page for people, as proxies do.
func page(status int, title string) refuseFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		body(w, status, "text/html", fmt.Sprintf("<!DOCTYPE html>\n<html><head><title>%[1]s</title></head>\n<body><h1>%[1]s</h1></body></html>\n", title))
	}
}

func body(w http.ResponseWriter, status int, contentType, text string) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = fmt.Fprintln(w, text) // a caller that has gone needs no answer
}

// retryAfter sets the header to a number of seconds.
func retryAfter(seconds string) func(http.Header) {
	return func(h http.Header) { h.Set("Retry-After", seconds) }
}

// retryAt sets the header to a date.
func retryAt(in time.Duration) func(http.Header) {
	return func(h http.Header) { h.Set("Retry-After", time.Now().Add(in).UTC().Format(http.TimeFormat)) }
}

// silence never answers.
func silence(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// hangUp breaks the connection before any answer.
func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
