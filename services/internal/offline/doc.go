// Package offline is a chat model that follows rules instead of weights, behind an OpenAI-compatible HTTP server. With it
// a fresh clone answers without a key and tests run against a real wire format.
//
// It reads nothing but the request: the conversation, the tools that are offered and their JSON schemas. It knows no tool
// and no store by name, so it serves a new specialist as well as the old ones. It makes up no facts: an answer holds what
// the tool results hold, or the prompt's own list of advice.
//
// The HTTP layer (server.go, stream.go, wire.go, check.go) knows nothing of language; think, in brain.go, is a pure
// function from a request and a time to a reply. The package imports the standard library only, and must not import
// other packages of this repository.
package offline
