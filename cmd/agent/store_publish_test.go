package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/check"
	"github.com/netwright/netwright/pkg/statestore/stores"
)

// A change since the check is not published, since it is not known whether a node accepts it, nor
// which nodes may read its keys.
func TestNothingUncheckedIsPublished(t *testing.T) {
	const cluster = "demo.example.com"
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "examples", "bridge"))); err != nil {
		t.Fatal(err)
	}
	store, err := stores.Open(dir, cluster, stores.Options{})
	if err != nil {
		t.Fatal(err)
	}
	checked, err := check.Check(t.Context(), store, nil)
	if err != nil {
		t.Fatal(err)
	}
	if objects, err := everything(t.Context(), dir, checked); err != nil || objects["cluster.yaml"] == nil {
		t.Fatalf("as it was checked: %d objects, %v", len(objects), err)
	}
	if err := os.WriteFile(filepath.Join(dir, cluster, "cluster.yaml"), []byte("kind: Cluster\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if objects, err := everything(t.Context(), dir, checked); err == nil || !strings.Contains(err.Error(), "changed since it was checked") {
		t.Errorf("as it is now: %d objects, %v", len(objects), err)
	}
}
