package tasks

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/netwright/netwright/pkg/host"
)

func TestHosts(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, hostsFile)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("127.0.0.1 localhost\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	h, err := host.Open(t.Context(), host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	task := Hosts{Name: "a.test", Address: "10.0.0.1"}
	for _, step := range []struct {
		do   func() error
		want string
	}{
		{func() error { return task.Apply(t.Context(), h, nil) }, "127.0.0.1 localhost\n10.0.0.1 a.test\n"},
		{func() error { return task.Remove(t.Context(), h) }, "127.0.0.1 localhost\n"},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		if have, err := os.ReadFile(file); err != nil || string(have) != step.want {
			t.Errorf("%q, want %q: %v", have, step.want, err)
		}
	}
}
