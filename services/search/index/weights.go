package index

//go:generate go test -count=1 -run TestWeightsAreThoseThatAreFitted ./memory -args -update

// Weights order products by their features. They are fitted to judged queries by go generate; docs/search.md has the figures.
var Weights = Features{0.5, 1, 1}
