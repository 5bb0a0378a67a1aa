//go:build race

package main

// every is one of how many items of a public collection the tests take: the race detector makes the work slow, and looks at what
// goes on at once, of which a part has as much as the whole. The test run without it takes all.
const every = 10
