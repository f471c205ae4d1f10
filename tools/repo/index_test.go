package repo_test

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxUnlisted is how many files a package may have whose package comment lists none.
const maxUnlisted = 20

var (
	filesHeading = regexp.MustCompile(`(?m)^// # Files\n((?://.*\n)*)package `)
	filesItem    = regexp.MustCompile(`(?m)^// {3}- [^:]+: (.*(?:\n// {5}.*)*)$`)
)

// The comment of a package with many files says which files to open for what. Each file without
// `.go` is in one item of the list, by its name or by a pattern such as nft_*. An item with the
// pattern * has the files that no other item has.
func TestManyFilesAreListed(t *testing.T) {
	names, lists := map[string][]string{}, map[string]string{}
	files(t, func(file string, data []byte) {
		dir, name := filepath.Split(file)
		product := strings.HasPrefix(dir, "pkg/") || strings.HasPrefix(dir, "cmd/")
		if !product || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return
		}
		if found := filesHeading.FindSubmatch(data); found != nil {
			lists[dir] = string(found[1])
		}
		if name != "doc.go" {
			names[dir] = append(names[dir], strings.TrimSuffix(name, ".go"))
		}
	})
	for dir, all := range names {
		list, is := lists[dir]
		if !is {
			if len(all) > maxUnlisted {
				t.Errorf("%s has %d files: list them below `# Files` in the package comment", dir, len(all))
			}
			continue
		}
		listed := map[string]int{}
		for _, found := range filesItem.FindAllStringSubmatch(list, -1) {
			for _, pattern := range strings.FieldsFunc(found[1], func(r rune) bool { return strings.ContainsRune("/, \n", r) }) {
				matches := slices.DeleteFunc(slices.Clone(all), func(name string) bool {
					is, err := path.Match(pattern, name)
					return err != nil || !is
				})
				if len(matches) == 0 {
					t.Errorf("%s: the package comment lists %s, and no file has this name", dir, pattern)
				}
				for _, name := range matches {
					if pattern != "*" || listed[name] == 0 {
						listed[name]++
					}
				}
			}
		}
		for _, name := range all {
			if listed[name] != 1 {
				t.Errorf("%s: %d items of the list in the package comment have %s.go, one is to", dir, listed[name], name)
			}
		}
	}
	if len(lists) < 12 {
		t.Errorf("%d packages list their files, at least 12 do", len(lists))
	}
}
