package statestore_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/directory"
	"github.com/netwright/netwright/pkg/statestore/manifest"
)

// notes is a memory that returns what the test put into it.
type notes struct {
	sums  map[string]blob.Digest // by path and the result of stat
	blobs map[blob.Digest][]byte
	kept  [][]byte // of any store
}

func note(path string, info hostfs.FileInfo) string { return fmt.Sprintf("%s %+v", path, info) }

func (n notes) Lookup(path string, info hostfs.FileInfo) (blob.Digest, bool) {
	sum, ok := n.sums[note(path, info)]
	return sum, ok
}

func (n notes) Record(path string, info hostfs.FileInfo, sum blob.Digest) {
	n.sums[note(path, info)] = sum
}

func (n notes) Blob(sum blob.Digest) ([]byte, error) {
	if b, ok := n.blobs[sum]; ok {
		return b, nil
	}
	return nil, fs.ErrNotExist
}

func (n notes) Retained(string) [][]byte { return n.kept }

// remembering returns a plain store with one file, and a memory of it.
func remembering(t *testing.T) (dir, cluster string, m notes) {
	t.Helper()
	dir, cluster = plain(t)
	put(t, filepath.Join(cluster, "files/motd"), []byte("hello"))
	m = notes{sums: map[string]blob.Digest{}, blobs: map[blob.Digest][]byte{}}
	if f := motd(t, dir, m); f.Sum != sha256.Sum256([]byte("hello")) || len(m.sums) != 1 {
		t.Fatalf("first look: %s, remembered %v", f.Sum, m.sums)
	}
	return dir, cluster, m
}

// motd returns the store's one file, as a new process sees it.
func motd(t *testing.T, dir string, m notes) blob.Named {
	t.Helper()
	d, err := directory.New(dir, "c", nil)
	if err != nil {
		t.Fatal(err)
	}
	d.Remember(m)
	s, err := d.Fetch(t.Context(), statestore.Revision{})
	if err != nil || len(s.Files) != 1 || s.Files[0].Name != "files/motd" || s.Objects["files/motd"] != nil {
		t.Fatalf("Fetch returns %+v, %v", s, err)
	}
	return s.Files[0]
}

// A file without a change is not read, and a parsed file always is. A wrong digest in the memory
// shows it.
func TestWhatIsRememberedIsNotRead(t *testing.T) {
	dir, cluster, m := remembering(t)
	for key := range m.sums {
		m.sums[key] = blob.Digest{7}
	}
	f := motd(t, dir, m)
	if f.Sum != (blob.Digest{7}) {
		t.Errorf("it was read again: %s", f.Sum)
	}
	if b, err := f.Bytes(); err == nil {
		t.Errorf("bytes that are not what was promised: %q", b)
	}
	put(t, filepath.Join(cluster, "files/motd"), []byte("HELLO")) // another file in its place, or written in place: both have a new ctime
	if f := motd(t, dir, m); f.Sum != sha256.Sum256([]byte("HELLO")) {
		t.Errorf("a change was not seen: %s", f.Sum)
	}
}

// If the store no longer has a content, the node's own memory has it. Another content never
// replaces it.
func TestContentOfAStoreThatWentAway(t *testing.T) {
	dir, cluster, m := remembering(t)
	f := motd(t, dir, m)
	if b, err := f.Bytes(); err != nil || string(b) != "hello" {
		t.Fatalf("Bytes returns %q, %v, want %q", b, err, "hello")
	}
	put(t, filepath.Join(cluster, "files/motd"), []byte("HELLO"))
	if b, err := f.Bytes(); err == nil {
		t.Errorf("a change since: %q", b)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if b, err := f.Bytes(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a store that is gone: %q, %v", b, err)
	}
	m.blobs[f.Sum] = []byte("hello")
	if b, err := f.Bytes(); err != nil || string(b) != "hello" {
		t.Errorf("kept by the node: %q, %v", b, err)
	}
	m.blobs[f.Sum] = []byte("other")
	if b, err := f.Bytes(); err == nil {
		t.Errorf("kept, and damaged: %q", b)
	}
}

// The digest of a plain directory is the digest of the manifest that would publish it.
func TestDigestIsThatOfTheManifest(t *testing.T) {
	dir, cluster := plain(t)
	objects := map[string][]byte{"cluster.yaml": []byte("kind: Cluster\n"), "files/a-b": []byte("1"), "files/a/b": []byte("22"), "files/a.b": nil, "nodes/n.yaml": []byte("kind: Node\n")}
	for name, data := range objects {
		put(t, filepath.Join(cluster, name), data)
	}
	s, err := fetch(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%x", sha256.Sum256(manifest.New("c", 0, objects).Encode())); s.Digest != want {
		t.Errorf("digest %s, want %s", s.Digest, want)
	}
}
