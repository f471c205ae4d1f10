package undo

import (
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/test/needs"
)

// A pod that puts a link into the place of a directory that an undo brings back gets neither the
// host's directory nor a file in it, and does not keep the undo from its end. The lines that keep
// it: restore.go, restore and Files (note).
func TestUndoFollowsNoLink(t *testing.T) {
	root, h := openRoot(t)
	must := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(root+"/run/flannel/d", 0o755), os.Chmod(root+"/run/flannel/d", 0o777), os.Chown(root+"/run/flannel/d", 1000, 1000),
		os.WriteFile(root+"/run/flannel/d/zz-pwn", []byte("the pod's"), 0o755), os.WriteFile(root+"/run/flannel/rest", []byte("rest"), 0o644),
		os.MkdirAll(root+"/generators", 0o755), os.WriteFile(root+"/shadow", []byte("secret"), 0o600))
	var l Log
	c := Capture{Host: h, Log: &l, Twin: func(string) string { return "" }}
	for _, name := range []string{"", "/d", "/d/zz-pwn", "/rest"} {
		must(c.file("/run/flannel" + name))
	}
	must(h.Files.RemoveTree(t.Context(), "/run/flannel"), os.Mkdir(root+"/run/flannel", 0o700), os.Symlink("/generators", root+"/run/flannel/d"))

	r := Restore(h, &l, false)
	must(r.Files(t.Context()))
	info, err := os.Stat(root + "/generators")
	left, errList := os.ReadDir(root + "/generators")
	if err != nil || errList != nil || info.Mode().Perm() != 0o755 || len(left) > 0 {
		t.Errorf("the host's directory: %v, %v, %v, %v", info.Mode(), left, err, errList)
	}
	want := "/run/flannel/d is a symbolic link to /generators: it is not followed; state it in spec.followLinks if it is yours"
	if !slices.Equal(r.Left, []string{want}) {
		t.Errorf("left: %q, want %q", r.Left, want)
	}
	if text, err := os.ReadFile(root + "/run/flannel/rest"); err != nil || string(text) != "rest" {
		t.Errorf("what nobody was in the way of: %q, %v", text, err)
	}

	must(os.Link(root+"/shadow", root+"/run/flannel/name"))
	var link *hostfs.LinkError
	var names *hostfs.NamesError
	if err := c.file("/run/flannel/d/x"); !errors.As(err, &link) {
		t.Errorf("taken down through a link: %v", err)
	}
	if err := c.file("/run/flannel/name"); !errors.As(err, &names) {
		t.Errorf("taken down by another name: %v", err)
	}
}

// openRoot opens a host that is an empty directory.
func openRoot(t *testing.T) (root string, h *host.Host) {
	t.Helper()
	needs.Root(t)
	root = t.TempDir()
	h, err := host.Open(t.Context(), host.Options{Root: root, Facts: &host.Facts{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return root, h
}
