// Package b has [There].
package b

// There is here.
type There struct{}
