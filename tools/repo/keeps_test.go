package repo_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	wrapped   = regexp.MustCompile(`\n\t*// ?`)
	keeps     = regexp.MustCompile(`(?:The lines? that keeps?|What keeps) it: ((?:[^.\n]|\.\S)*)`)
	bracketed = regexp.MustCompile(`\([^()]*\)`)
	goFile    = regexp.MustCompile(`[\w./*-]+\.go\b`)
	separated = regexp.MustCompile(`, (?:and )?| and |: `)
	plain     = regexp.MustCompile(`^\w+$`)
	named     = regexp.MustCompile(`\b((?:pkg|cmd)/[\w/]+\.go):([A-Za-z]\w*)`)
)

// The comment of a test names the lines that keep the test green, for a person who breaks such a
// line to see the test fail. Each file after "The line that keeps it:" is beside the test, or at
// its path from the root of the repository. Each single word between it and the next file, ';' or
// the end of the sentence is a name in that file's code: declared or used. Several words, and text
// in brackets, are free. A comment may also name one line by the path of its file, a colon and a
// name.
func TestWhatKeepsATestExists(t *testing.T) {
	names, told := map[string]map[string]bool{}, map[string]string{}
	files(t, func(path string, data []byte) {
		if filepath.Ext(path) == ".go" {
			names[path] = namesIn(t, path, data)
		}
		if strings.HasSuffix(path, "_test.go") {
			told[path] = wrapped.ReplaceAllString(string(data), " ")
		}
	})
	comments := 0
	for test, text := range told {
		for _, line := range named.FindAllStringSubmatch(text, -1) {
			if !names[line[1]][line[2]] {
				t.Errorf("%s: %s has no %s: name the file and the function that it is now", test, line[1], line[2])
			}
		}
		for _, found := range keeps.FindAllStringSubmatch(text, -1) {
			list := bracketed.ReplaceAllString(found[1], "")
			at := goFile.FindAllStringIndex(list, -1)
			comments += min(len(at), 1)
			for i, one := range at {
				file, rest := list[one[0]:one[1]], list[one[1]:]
				if i+1 < len(at) {
					rest = list[one[1]:at[i+1][0]]
				}
				if !strings.Contains(file, "/") {
					file = filepath.Join(filepath.Dir(test), file)
				}
				has, is := names[file]
				if !is {
					t.Errorf("%s: %s is not there: name it by its path from the root", test, file)
					continue
				}
				rest, _, _ = strings.Cut(rest, ";")
				for _, word := range separated.Split(rest, -1) {
					if word = strings.TrimSpace(word); plain.MatchString(word) && !has[word] {
						t.Errorf("%s: %s has no %s: %s", test, file, word, found[0])
					}
				}
			}
		}
	}
	if comments < 200 {
		t.Errorf("%d tests say what keeps them, at least 200: do they say it otherwise by now?", comments)
	}
}

func namesIn(t *testing.T, path string, data []byte) map[string]bool {
	file, err := parser.ParseFile(token.NewFileSet(), path, data, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if id, is := n.(*ast.Ident); is {
			names[id.Name] = true
		}
		return true
	})
	return names
}
