// Package pages makes docs/networks, a page for each network and one that lists them, and docs/reference/documents.md, from the data that the agent itself works with. Its test
// holds the pages against that data; `go test ./test/pages -update` writes them.
package pages
