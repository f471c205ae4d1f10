package verify

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The page has a row for each check that this package makes.
func TestThePageHasEachCheck(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/verify.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("check*.go")
	if err != nil {
		t.Fatal(err)
	}
	literal := regexp.MustCompile(`(?:c\.note\(|check = |check := )"([a-zA-Z -]+)"`)
	found := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range literal.FindAllSubmatch(source, -1) {
			found++
			row := "\n| `" + strings.TrimSuffix(string(m[1]), " ")
			if !strings.Contains(string(page), row+"` |") && !strings.Contains(string(page), row+" NAME` |") {
				t.Errorf("%s: docs/verify.md has no row for check %q", file, m[1])
			}
		}
	}
	if found < 13 {
		t.Errorf("%d checks found in the source", found)
	}
}
