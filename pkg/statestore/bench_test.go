package statestore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/stores"
)

// BenchmarkFetch reads a plain directory of 5000 nodes: all of it, and then without changes.
func BenchmarkFetch(b *testing.B) {
	const nodes = 5000
	dir := b.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "c/nodes"), 0o755); err != nil {
		b.Fatal(err)
	}
	names := []string{"c/cluster.yaml"}
	for i := range nodes {
		names = append(names, fmt.Sprintf("c/nodes/n%d.yaml", i))
	}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, 300), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	time.Sleep(2100 * time.Millisecond) // until the times of files may be trusted
	s, err := stores.Open(dir, "c", stores.Options{})
	if err != nil {
		b.Fatal(err)
	}
	var last statestore.Revision
	b.Run("whole", func(b *testing.B) {
		for b.Loop() {
			got, err := s.Fetch(context.Background(), statestore.Revision{})
			if err != nil {
				b.Fatal(err)
			}
			last = got.Revision
		}
	})
	b.Run("not modified", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Fetch(context.Background(), last); !errors.Is(err, statestore.ErrNotModified) {
				b.Fatal(err)
			}
		}
	})
}
