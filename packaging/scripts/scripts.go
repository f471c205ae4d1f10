// Package scripts holds what packages run when they come and go.
package scripts

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed *.sh
var files embed.FS

// include is the line of a script that stands for common.sh: a package has no file beside its
// scripts.
const include = ". ./common.sh\n"

// Read is the script of a name as it is shipped: whole.
func Read(name string) ([]byte, error) {
	text, err := files.ReadFile(name + ".sh")
	if err != nil {
		return nil, fmt.Errorf("read a script of the packages: %w", err)
	}
	common, err := files.ReadFile("common.sh")
	if err != nil {
		return nil, fmt.Errorf("read a script of the packages: %w", err)
	}
	head, rest, found := strings.Cut(string(text), include)
	if !found {
		return nil, fmt.Errorf("%s.sh: no line %q: add it", name, strings.TrimSpace(include))
	}
	_, shared, _ := strings.Cut(string(common), "set -eu\n")
	return []byte(head + shared + rest), nil
}
