//go:build !race

package main

// every is one of how many items of a public collection the tests take.
const every = 1
