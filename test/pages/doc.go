// Package pages makes docs/networks, a page for each network and one that lists them,
// docs/reference/documents.md and docs/reference/errors.md, from the data that the agent itself
// works with. Its test holds the pages against that data; `go test ./test/pages -update` writes
// them.
package pages
