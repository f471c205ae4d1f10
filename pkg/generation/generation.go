// Package generation names configurations in messages.
package generation

import "fmt"

// Name is "generation 5" of a configuration that was published, and "sha256 0f3a…", twelve digits
// of its digest, where the store counts none, as a directory of plain documents.
func Name(number int64, digest string) string {
	switch {
	case number != 0:
		return fmt.Sprintf("generation %d", number)
	case digest == "":
		return "no configuration"
	}
	return fmt.Sprintf("sha256 %.12s", digest)
}

// Full is [Name] with the digest in any case.
func Full(number int64, digest string) string {
	if number == 0 {
		return Name(number, digest)
	}
	return fmt.Sprintf("%s (%.12s)", Name(number, digest), digest)
}
