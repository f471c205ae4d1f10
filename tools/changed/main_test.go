package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

func TestChanged(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	for _, name := range []string{"pkg/a/a.go", "pkg/a/testdata/x.txt", "pkg/b/b.go", "pkg/c/c.go", "cmd/agent/main.go", "test/node/node.go"} {
		write(name, "package x\n")
	}
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "first")
	write("pkg/a/testdata/x.txt", "changed")
	write("pkg/b/new.go", "package x\n")
	write("test/node/node.go", "package y\n")
	if err := os.RemoveAll(filepath.Join(root, "pkg/c")); err != nil {
		t.Fatal(err)
	}
	got, err := changed(root, "HEAD")
	if want := []string{"pkg/a", "pkg/b"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("changed packages: %v, %v, want %v", got, err, want)
	}
}
