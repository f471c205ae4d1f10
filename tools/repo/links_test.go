package repo_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)#\s]*)(#[^)\s]*)?\)`)
	heading = regexp.MustCompile("(?m)^#{1,6} +(.+?) *$")
	fenced  = regexp.MustCompile("(?ms)^```.*?^```")
)

// A link from one document to another, or to a part of one, must lead somewhere.
func TestLinksInDocuments(t *testing.T) {
	parts := map[string][]string{}
	files(t, func(path string, data []byte) {
		if filepath.Ext(path) == ".md" {
			parts[path] = anchors(string(data))
		}
	})
	files(t, func(path string, data []byte) {
		if filepath.Ext(path) != ".md" {
			return
		}
		for _, found := range link.FindAllStringSubmatch(string(data), -1) {
			target, part := found[1], strings.TrimPrefix(found[2], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			to := path
			if target != "" {
				to = filepath.Join(filepath.Dir(path), target)
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s: link to %s, which is not there", path, target)
			} else if have, known := parts[to]; part != "" && known && !slices.Contains(have, part) {
				t.Errorf("%s: link to %s#%s, which has no such heading: it has %s", path, target, part, strings.Join(have, ", "))
			}
		}
	})
}

// anchors returns the anchors of a document's headings as GitHub makes them: in lower case, without
// punctuation, with dashes for spaces, and with numbers for repeated ones.
func anchors(text string) []string {
	seen := map[string]int{}
	var out []string
	for _, found := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r > 127 && r != '–' && r != '→' && r != '…':
				return r
			}
			return -1
		}, strings.ToLower(found[1]))
		seen[name]++
		if n := seen[name]; n > 1 {
			name += "-" + string(rune('0'+n-1))
		}
		out = append(out, name)
	}
	return out
}

// A newcomer finds by a question the file with the answer, and where to begin in it.
func TestContributingAnswersWithFiles(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| .+\\? \\| \\[[^]]+\\]\\(([^)]+)\\) \\| `([^`]+)` \\|$")
	rows := row.FindAllStringSubmatch(string(data), -1)
	if questions := regexp.MustCompile(`(?m)^\| .+\? \|`).FindAll(data, -1); len(rows) < 15 || len(rows) != len(questions) {
		t.Errorf("CONTRIBUTING.md: %d of %d questions have a file and a name, all are to, and at least 15", len(rows), len(questions))
	}
	for _, found := range rows {
		source, err := os.ReadFile(filepath.Join(root, found[1]))
		if err != nil {
			t.Errorf("CONTRIBUTING.md: %v: name the file that answers the question", err)
		} else if !declares(source, found[2]) {
			t.Errorf("CONTRIBUTING.md: %s does not declare %s: name what answers the question", found[1], found[2])
		}
	}
}

// A row of the page for contributors must name something that is declared.
func TestArchitectureNamesWhatIsThere(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "docs/architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	word, seen := regexp.MustCompile("`([A-Za-z]\\w*)`"), 0
	for _, row := range regexp.MustCompile(`(?m)^\| [^|]+ \| ([^|]*\]\([^|]+) \| ([^|]+) \|$`).FindAllStringSubmatch(string(data), -1) {
		var sources []byte
		for _, to := range link.FindAllStringSubmatch(row[1], -1) {
			dir := filepath.Join(root, "docs", to[1])
			if filepath.Ext(dir) == ".go" {
				dir = filepath.Dir(dir)
			}
			inside, _ := filepath.Glob(filepath.Join(dir, "*.go")) // an error only for a bad pattern
			for _, path := range inside {
				if source, err := os.ReadFile(path); err == nil && !strings.HasSuffix(path, "_test.go") {
					sources = append(sources, source...)
				}
			}
		}
		for _, name := range word.FindAllStringSubmatch(row[2], -1) {
			if seen++; !declares(sources, name[1]) {
				t.Errorf("docs/architecture.md: nothing in %s declares %s: name what is there now", row[1], name[1])
			}
		}
	}
	if seen < 100 {
		t.Errorf("docs/architecture.md: %d names are looked up, the table has over 100", seen)
	}
}

// declares says whether a source has a function, a method, a type, a variable or a constant of this
// name. For a script it looks for a function.
func declares(source []byte, name string) bool {
	return regexp.MustCompile(`(?m)^((func (\([^)]*\) )?|type |var |const )` + name + `\b|\t` + name + `( \w+)? += |` + name + `\(\) \{)`).Match(source)
}

var (
	clause    = regexp.MustCompile(`(?m)^package (\w+)$`)
	imported  = regexp.MustCompile(`(?m)^(?:import |\t)(?:\w+ )?"(?:[\w./-]+/)?(\w+)"$`)
	ofPackage = regexp.MustCompile(`(?:[;:,.(]|\b(?:in|of|by|as|that|see|with|than)) package (?:\w+/)*([a-z]\w*)`)
)

// A comment may say what a package does only if the package exists: in this tree, or imported.
func TestCommentsNamePackagesThatAreThere(t *testing.T) {
	there, said := map[string]bool{}, map[string][]string{}
	files(t, func(path string, data []byte) {
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "testdata/") {
			return
		}
		for _, found := range slices.Concat(clause.FindAllSubmatch(data, -1), imported.FindAllSubmatch(data, -1)) {
			there[string(found[1])] = true
		}
		if strings.HasPrefix(path, "pkg/") || strings.HasPrefix(path, "cmd/") {
			for _, found := range ofPackage.FindAllStringSubmatch(wrapped.ReplaceAllString(string(data), " "), -1) {
				said[found[1]] = append(said[found[1]], path)
			}
		}
	})
	if len(said) < 15 {
		t.Errorf("comments name %d packages, there are over 15: is what tells them right?", len(said))
	}
	for name, paths := range said {
		if !there[name] {
			t.Errorf("%s: there is no package %s: name the one that does it now", strings.Join(paths, ", "), name)
		}
	}
}

// The words of the field fit on one page, and each is there once.
func TestGlossaryIsShort(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "docs/glossary.md"))
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, found := range regexp.MustCompile(`(?m)^\| ([^|]+) \| .+ \|$`).FindAllStringSubmatch(string(data), -1) {
		words = append(words, found[1])
	}
	words = words[1:] // the head of the table
	if len(words) > 45 || !slices.IsSorted(words) || len(slices.Compact(slices.Clone(words))) != len(words) {
		t.Errorf("docs/glossary.md: %d words, at most 45, each once and in the order of the alphabet: %q", len(words), words)
	}
}
