// Package search measures a product search by queries whose right products are known: Products and Judgments read
// such a set, Run puts its queries to a catalog service, and Measure computes the figures, whose formulas are in
// docs/evaluation.md.
//
// The package must not import a service: the catalog is reached through its client. It opens no files, and reads no flags
// or environment.
package search
