package assets

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/statestore/stores"
	"github.com/netwright/netwright/pkg/tasks"
)

var _ tasks.Fetcher = (*Fetcher)(nil)

// fetcher returns a Fetcher on a store with assets/a in it.
func fetcher(t *testing.T) *Fetcher {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "c/assets"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "c/assets/a:b"), []byte("from the store"), 0o644); err != nil {
		t.Fatal(err)
	}
	store, err := stores.Open(dir, "c", stores.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := New(store)
	t.Cleanup(f.Close)
	return f
}

// read opens an asset and reads all of it.
func read(f *Fetcher, location string) (text string, size int64, err error) {
	body, size, err := f.Open(context.Background(), location)
	if err != nil {
		return "", 0, err
	}
	data, err := io.ReadAll(body)
	return string(data), size, errors.Join(err, body.Close())
}

func TestOpenStoreAndFile(t *testing.T) {
	f := fetcher(t)
	path := filepath.Join(t.TempDir(), "a file")
	if err := os.WriteFile(path, []byte("from a file"), 0o644); err != nil {
		t.Fatal(err)
	}
	for location, want := range map[string]string{
		"assets/a:b": "from the store", "file://" + path: "from a file", "file://" + strings.ReplaceAll(path, " ", "%20"): "from a file",
	} {
		if got, size, err := read(f, location); err != nil || got != want || size != int64(len(want)) {
			t.Errorf("Open %q: %q of %d bytes, %v", location, got, size, err)
		}
	}
}

func TestOpenRefusals(t *testing.T) {
	f := fetcher(t)
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for location, want := range map[string]string{
		"assets/none":                            "assets/none",
		"../x":                                   "no path below",
		"file:///no/such/file":                   "name another URL",
		"file://host/path":                       "file:///path",
		"file://" + pipe:                         "expected a regular file, found a ",
		"file:///etc":                            "expected a regular file, found a ",
		"ftp://user:secret@host/x?token=secret":  `no scheme "ftp"`,
		"https://user:secret@host:x%zz/":         "does not parse",
		"http://user:secret@host\x00/x?a=secret": "does not parse",
	} {
		_, _, err := read(f, location)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("Open %q: %v; want an error with %q and no secret", location, err, want)
		}
		if graph.IsTransient(err) {
			t.Errorf("Open %q: transient: %v", location, err)
		}
	}
	if _, _, err := read(f, "file:///no/such/file"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent file: %v", err)
	}
}
