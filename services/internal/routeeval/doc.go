// Package routeeval measures a router on messages whose right specialists are known: Read reads such a set, Run puts its
// messages to the router, and Measure computes the figures, whose formulas are in docs/evaluation.md.
//
// The package must not import a service: the router and the specialists' descriptions are given to it. It reads no
// files, flags or environment.
package routeeval
