package stores

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestClusters(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.example.com/cluster.yaml", "a.example.com/manifest", "notes/readme.md"} {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, location := range []string{dir, "file://" + dir} {
		store, got, err := Clusters(location)
		if diff := cmp.Diff([]string{"a.example.com", "b.example.com"}, got); err != nil || store != location || diff != "" {
			t.Errorf("Clusters(%s) = %s, %v:\n%s", location, store, err, diff)
		}
	}
	if store, got, err := Clusters(filepath.Join(dir, "b.example.com")); err != nil || store != dir || !cmp.Equal(got, []string{"b.example.com"}) {
		t.Errorf("Clusters of a cluster's own directory = %s, %v, %v", store, got, err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for location, want := range map[string]string{
		pipe:                        "is no directory", // and nothing waits for its writer
		filepath.Join(dir, "notes"): "put a cluster's documents into",
		filepath.Join(dir, "none"):  "none",
		"s3://bucket":               "give --cluster",
	} {
		if _, _, err := Clusters(location); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Clusters(%s): %v; want %q", location, err, want)
		}
	}
}
