// Package pages makes docs/networks (a page for each network and one that lists the networks),
// docs/reference/documents.md and docs/reference/errors.md from the data of the agent itself. Its
// test compares the pages with that data; `go test ./test/pages -update` writes them.
package pages
