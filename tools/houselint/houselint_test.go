package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The module testdata/faults has a fault of each class: in one package alone, by another package or
// the standard library, in code that only a test uses, and one that a comment silences. Each line
// is found whose comment says so (want: this line, above: the line above), by the text of the
// complaint, and no other line. With the tag manual there are more.
func TestFaultsAreFound(t *testing.T) {
	t.Parallel()
	tool := filepath.Join(t.TempDir(), "houselint")
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", tool, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, tags := range []string{"", "manual"} {
		cmd := exec.Command("go", "vet", "-tags="+tags, "-vettool="+tool, "./...")
		cmd.Dir = "testdata/faults"
		out, _ := cmd.CombinedOutput()
		wanted := wants(t, cmd.Dir, tags)
		for line := range strings.Lines(string(out)) {
			found := finding.FindStringSubmatch(line)
			if found == nil {
				continue
			}
			at := found[1]
			i := slices.IndexFunc(wanted[at], func(want string) bool { return strings.Contains(found[2], want) })
			if i < 0 {
				t.Errorf("with tags %q, found and not wanted: %s", tags, line)
				continue
			}
			wanted[at] = slices.Delete(wanted[at], i, i+1)
		}
		if t.Failed() {
			t.Logf("%s", out)
		}
		for at, missing := range wanted {
			if len(missing) > 0 {
				t.Errorf("with tags %q, at %s, not found: %q", tags, at, missing)
			}
		}
	}
}

var (
	finding = regexp.MustCompile(`^([a-z_/]+\.go:\d+):\d+: (.*)`)
	wanting = regexp.MustCompile(`(want|above) ((?: ?"(?:[^"\\]|\\.)*")+)`)
	quoted  = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
)

// wants returns the texts that comments ask for, by file:line.
func wants(t *testing.T, dir, tags string) map[string][]string {
	t.Helper()
	wanted := map[string][]string{}
	for _, pattern := range []string{"*.go", "*/*.go"} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: Glob returns %v, %v", pattern, paths, err)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			name := strings.TrimPrefix(path, dir+"/")
			if tag, ok := strings.CutPrefix(string(data), "//go:build "); ok && !strings.HasPrefix(tag, tags+"\n") {
				continue
			}
			for i, line := range strings.Split(string(data), "\n") {
				for _, words := range wanting.FindAllStringSubmatch(line, -1) {
					at := i + 1
					if words[1] == "above" {
						at = i
					}
					for _, text := range quoted.FindAllString(words[2], -1) {
						want, err := strconv.Unquote(text)
						if err != nil {
							t.Fatal(err)
						}
						at := name + ":" + strconv.Itoa(at)
						wanted[at] = append(wanted[at], want)
					}
				}
			}
		}
	}
	return wanted
}

// A new release of Go may have a new analyzer.
func TestAllOfVetIsThere(t *testing.T) {
	t.Parallel()
	help, err := exec.Command("go", "tool", "vet", "help").Output()
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(help), "Registered analyzers:\n\n")
	list, _, _ = strings.Cut(list, "\n\n")
	var theirs, ours []string
	for line := range strings.Lines(list) {
		theirs = append(theirs, strings.Fields(line)[0])
	}
	for _, a := range vetted {
		ours = append(ours, a.Name)
	}
	slices.Sort(ours)
	if len(theirs) < 30 || !slices.Equal(ours, theirs) {
		t.Errorf("go vet has %q, this linter of it %q", theirs, ours)
	}
}
