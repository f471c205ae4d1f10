package node_test

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/netwright/netwright/test/node"
)

// A remembered checksum does not count for a file whose content has changed, whatever was done to
// its size and times, and however soon.
func TestSumIsOfWhatTheFileHolds(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "program")
	content := bytes.Repeat([]byte("x"), 8<<20)
	if err := os.WriteFile(path, content, 0o755); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, rest := range []time.Duration{0, 1100 * time.Millisecond, 0, 0} {
		time.Sleep(rest)
		for range 2 {
			got, err := node.Sum(path)
			if want := sha256.Sum256(content); err != nil || got != want {
				t.Fatalf("%v, %x, want %x", err, got, want)
			}
		}
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		content[len(content)-1]++
		if _, err := file.WriteAt(content[len(content)-1:], int64(len(content)-1)); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, before.ModTime(), before.ModTime()); err != nil {
			t.Fatal(err)
		}
	}
}
