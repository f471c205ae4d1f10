package statestore_test

import (
	"bytes"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/manifest"
	"github.com/netwright/netwright/pkg/statestore/stores"
	"github.com/netwright/netwright/test/storetest"
)

func put(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func putFilled(t *testing.T, path string, size int64, fill byte) {
	t.Helper()
	put(t, path, nil)
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.Copy(f, io.LimitReader(endless(fill), size)); err != nil {
		t.Fatal(err)
	}
}

// endless reads as the same byte without an end.
type endless byte

func (e endless) Read(p []byte) (int, error) {
	copy(p, bytes.Repeat([]byte{byte(e)}, len(p)))
	return len(p), nil
}

func openIn(dir string) func(*testing.T, string) statestore.Store {
	return func(t *testing.T, cluster string) statestore.Store {
		t.Helper()
		s, err := stores.Open(dir, cluster, stores.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// git-sync publishes a plain directory at once: it makes a new tree, and renames a symbolic link
// over the old one.
func TestPlainConforms(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		dir, n := t.TempDir(), 0
		stage := func(t *testing.T, objects map[string][]byte) (link string) {
			n++
			tree := ".tree-" + strconv.Itoa(n)
			for name, data := range objects {
				put(t, filepath.Join(dir, tree, name), data)
			}
			link = filepath.Join(dir, ".link")
			if err := os.RemoveAll(link); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(tree, link); err != nil {
				t.Fatal(err)
			}
			return link
		}
		return storetest.Harness{
			Open: openIn(dir),
			Publish: func(t *testing.T, objects map[string][]byte) {
				rename(t, stage(t, objects), filepath.Join(dir, storetest.Cluster))
			},
			Tear: func(t *testing.T, objects map[string][]byte) { stage(t, objects) },
			PutAsset: func(t *testing.T, name string, size int64, fill byte) {
				putFilled(t, filepath.Join(dir, storetest.Cluster, name), size, fill)
			},
		}
	})
}

func TestPublishedConforms(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		dir, generation := t.TempDir(), int64(0)
		cluster := filepath.Join(dir, storetest.Cluster)
		last := map[string][]byte{}
		stage := func(t *testing.T, objects map[string][]byte) (at string) {
			generation++
			m := manifest.New(storetest.Cluster, generation, objects)
			for name, data := range objects {
				aside := filepath.Join(cluster, "objects", "aside")
				put(t, aside, data)
				put(t, filepath.Join(cluster, "objects/sha256/keep"), nil)
				rename(t, aside, filepath.Join(cluster, "objects/sha256", m.Objects[name].SHA256))
			}
			at = filepath.Join(cluster, "manifest.new")
			put(t, at, m.Encode())
			last = maps.Clone(objects)
			return at
		}
		return storetest.Harness{
			Open: openIn(dir),
			Publish: func(t *testing.T, objects map[string][]byte) {
				rename(t, stage(t, objects), filepath.Join(cluster, "manifest"))
			},
			Tear: func(t *testing.T, objects map[string][]byte) { stage(t, objects) },
			PutAsset: func(t *testing.T, name string, size int64, fill byte) {
				putFilled(t, filepath.Join(cluster, name), size, fill)
			},
			Tamper: func(t *testing.T, name string) {
				data := bytes.Clone(last[name])
				sha := manifest.New(storetest.Cluster, 1, map[string][]byte{name: data}).Objects[name].SHA256
				data[0] ^= 1
				put(t, filepath.Join(cluster, "objects/sha256", sha), data)
			},
		}
	})
}
