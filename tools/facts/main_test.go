package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A repository has two commits, as upstream makes them: one line moves, one is removed, one stays,
// and one never existed.
func TestUpstreamGoesOn(t *testing.T) {
	dir := t.TempDir()
	upstream := filepath.Join(dir, "acme", "net")
	commit := func(text string) string {
		t.Helper()
		if err := os.MkdirAll(upstream, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(upstream, "names.go"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"init", "-q"}, {"add", "."},
			{"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "x"}} {
			if out, err := exec.Command("git", append([]string{"-C", upstream}, args...)...).CombinedOutput(); err != nil {
				t.Fatalf("git %v: %v\n%s", args, err, out)
			}
		}
		out, err := exec.Command("git", "-C", upstream, "rev-parse", "HEAD").Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	first := commit("link = \"acme0\"\nport = 4789\nchain = \"ACME\"\n")
	newest := commit("link = \"acme0\"\n\n\nport = 4789\n")
	sources := filepath.Join(dir, "sources.txt")
	const text = "# a file\nacme acme/net %s\n\tnames.go:%d\tacme0\tlink acme0 (veth)\n\tnames.go:%d\t4789\tport udp 4789\n%s" +
		"other acme/gone 0123\n\tx.go:1\ty\tz\n"
	put := func(more string) {
		t.Helper()
		if err := os.WriteFile(sources, fmt.Appendf(nil, text, first, 1, 2, more), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("\tnames.go:3\tACME\tiptables chain */ACME\n\tnames.go:1\tport\twrong\n")
	var out bytes.Buffer
	counts := map[string]int{}
	err := run(t.Context(), sources, dir, false, counts, &out)
	want := "moved\tacme\tacme/net names.go:2 \"4789\", now at 4\n" +
		"gone\tacme\tacme/net names.go:3 \"ACME\", now at 0\n" +
		"wrong\tacme\tacme/net names.go:1 \"port\", now at 4\n" +
		"no checkout\tother\tacme/gone: 1 facts\n"
	if err != nil || out.String() != want || fmt.Sprint(counts) != "map[gone:1 moved:1 not looked at:1 stand:1 wrong:1]" {
		t.Errorf("%v, %v\n%s\nwant\n%s", counts, err, out.String(), want)
	}
	put("")
	if err := run(t.Context(), sources, dir, true, map[string]int{}, &out); err != nil {
		t.Error(err)
	}
	got, err := os.ReadFile(sources)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf(text, newest, 1, 4, ""); string(got) != want {
		t.Errorf("written:\n%s\nwant\n%s", got, want)
	}
}

func TestBadSources(t *testing.T) {
	for _, text := range []string{"acme acme/net\n", "\tx:1\ty\tz\n", "a b c\n\tx:1\ty\n", "a b c\n\tx:one\ty\tz\n"} {
		if _, err := sectionsOf(strings.Split(text, "\n")); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
