package statestore_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/manifest"
	"github.com/netwright/netwright/pkg/statestore/stores"
	"github.com/netwright/netwright/pkg/statestore/trust"
	"github.com/netwright/netwright/test/needs"
)

// trusting fetches with a policy.
func trusting(t *testing.T, dir string, policy trust.Policy) error {
	t.Helper()
	s, err := stores.Open(dir, "c", stores.Options{Trust: &policy})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Fetch(t.Context(), statestore.Revision{})
	return err
}

// A directory is trusted only while nobody except root and the caller can change what is in it.
func TestDirectoryOfTheHost(t *testing.T) {
	const stranger = 4242
	chmod := func(mode os.FileMode) func(string) error {
		return func(path string) error { return os.Chmod(path, mode) }
	}
	chown := func(uid, gid int) func(string) error {
		return func(path string) error { return os.Chown(path, uid, gid) }
	}
	for name, c := range map[string]struct {
		path string
		do   []func(string) error
		want string // "" if it is the host's own
	}{
		"as it is":                   {"c", nil, ""},
		"all may write a document":   {"c/cluster.yaml", []func(string) error{chmod(0o666)}, "cluster.yaml can be written by everybody (0666)"},
		"all may write a directory":  {"c/nodes", []func(string) error{chmod(0o777)}, "c/nodes can be written by everybody"},
		"all may write the cluster":  {"c", []func(string) error{chmod(0o777)}, "can be written by everybody"},
		"all may write the store":    {".", []func(string) error{chmod(0o777)}, "can be written by everybody"},
		"all may add to the store":   {".", []func(string) error{chmod(0o777 | os.ModeSticky)}, ""},
		"all may add to the cluster": {"c", []func(string) error{chmod(0o777 | os.ModeSticky)}, "can be written by everybody"},
		"what is no document":        {"c/notes.txt", []func(string) error{chmod(0o666)}, ""},
		"a group of its own":         {"c/nodes/n.yaml", []func(string) error{chown(0, stranger), chmod(0o664)}, "n.yaml can be written by group 4242"},
		"root's group":               {"c/nodes/n.yaml", []func(string) error{chmod(0o664)}, ""},
		"somebody's document":        {"c/nodes/n.yaml", []func(string) error{chown(stranger, 0)}, "n.yaml belongs to user 4242"},
		"somebody's store":           {".", []func(string) error{chown(stranger, 0)}, "belongs to user 4242"},
	} {
		t.Run(name, func(t *testing.T) {
			if len(c.do) > 1 || strings.Contains(c.want, "4242") {
				needs.Root(t)
			}
			dir, cluster := plain(t)
			put(t, filepath.Join(cluster, "nodes/n.yaml"), []byte("kind: Node\n"))
			put(t, filepath.Join(cluster, "notes.txt"), nil)
			for _, do := range c.do {
				if err := do(filepath.Join(dir, c.path)); err != nil {
					t.Fatal(err)
				}
			}
			err := trusting(t, dir, trust.Policy{})
			if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "--insecure-unsigned")) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if err := trusting(t, dir, trust.Policy{Unsigned: true}); err != nil {
				t.Errorf("taken as it is: %v", err)
			}
			m := manifest.New("c", 1, map[string][]byte{"cluster.yaml": []byte("kind: Cluster\n")})
			put(t, filepath.Join(cluster, "objects/sha256", m.Objects["cluster.yaml"].SHA256), []byte("kind: Cluster\n"))
			put(t, filepath.Join(cluster, "manifest"), m.Encode())
			if strings.HasPrefix(c.path, "c/") { // a published cluster reads no file there
				c.want = ""
			}
			if err := trusting(t, dir, trust.Policy{}); (err == nil) != (c.want == "") {
				t.Errorf("published: %v", err)
			}
		})
	}
}

// A link counts by the place of the link and by its target. With sudo the person behind it is the
// caller.
func TestDirectoryBehindALink(t *testing.T) {
	needs.Root(t)
	dir, cluster := plain(t)
	elsewhere := t.TempDir()
	link(t, dir, filepath.Join(elsewhere, "current"))
	if err := os.Chown(elsewhere, 4242, 4242); err != nil {
		t.Fatal(err)
	}
	if err := trusting(t, filepath.Join(elsewhere, "current"), trust.Policy{}); err == nil || !strings.Contains(err.Error(), elsewhere+" belongs to user 4242") {
		t.Errorf("got %v, want that %s belongs to user 4242", err, elsewhere)
	}
	t.Setenv("SUDO_UID", "4242")
	if err := trusting(t, filepath.Join(elsewhere, "current"), trust.Policy{}); err != nil {
		t.Error(err)
	}
	if err := os.Chown(cluster, 4243, 0); err != nil {
		t.Fatal(err)
	}
	if err := trusting(t, filepath.Join(elsewhere, "current"), trust.Policy{}); err == nil || !strings.Contains(err.Error(), "belongs to user 4243") {
		t.Errorf("got %v, want that it belongs to user 4243", err)
	}
}

// Each link of a chain counts, also those in the middle: a person who can change one of them can
// redirect the store.
func TestDirectoryBehindAChainOfLinks(t *testing.T) {
	needs.Root(t)
	dir, _ := plain(t)
	theirs, hosts := t.TempDir(), t.TempDir()
	link(t, dir, filepath.Join(theirs, "cur"))
	link(t, filepath.Join(theirs, "cur"), filepath.Join(hosts, "store"))
	store := filepath.Join(hosts, "store")
	if err := trusting(t, store, trust.Policy{}); err != nil {
		t.Errorf("all of it is the host's own: %v", err)
	}
	for _, at := range []string{theirs, filepath.Join(theirs, "cur")} {
		if err := os.Lchown(at, 4242, 4242); err != nil {
			t.Fatal(err)
		}
		if err := trusting(t, store, trust.Policy{}); err == nil || !strings.Contains(err.Error(), at+" belongs to user 4242") {
			t.Errorf("%s of somebody's: %v", at, err)
		}
		if err := os.Lchown(at, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// A link within a cluster counts by the way to its target: whoever can change a directory on it
// chooses which file of the host the documents are. Kubelet mounts a ConfigMap as such links. The
// lines that keep it: pkg/statestore/directory/scan.go, walk and scanManifest (links);
// pkg/statestore/directory/root_owned.go, untrustedOwner.
func TestLinksWithinACluster(t *testing.T) {
	needs.Root(t)
	dir, cluster := plain(t)
	target := filepath.Join(cluster, "..2026_01/cluster.yaml")
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(cluster, "cluster.yaml"), target); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "shared/nodes/n.yaml"), []byte("kind: Node\n"))
	link(t, "..2026_01", filepath.Join(cluster, "..data"))
	link(t, "..data/cluster.yaml", filepath.Join(cluster, "cluster.yaml"))
	link(t, "../shared/nodes", filepath.Join(cluster, "nodes"))
	link(t, "../shared", filepath.Join(cluster, "notes"))
	theirs := func(published bool, places ...string) {
		t.Helper()
		if err := trusting(t, dir, trust.Policy{}); err != nil {
			t.Errorf("published %v: all of it is the host's own: %v", published, err)
		}
		for _, place := range places {
			at := filepath.Join(dir, place)
			if err := os.Chown(at, 4242, 4242); err != nil {
				t.Fatal(err)
			}
			if err := trusting(t, dir, trust.Policy{}); err == nil || !published && !strings.Contains(err.Error(), "belongs to user 4242") {
				t.Errorf("published %v: %s of somebody's: %v", published, place, err)
			}
			if err := os.Chown(at, 0, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	theirs(false, "shared", "shared/nodes", "c/..2026_01")
	m := manifest.New("c", 1, map[string][]byte{"cluster.yaml": []byte("kind: Cluster\n")})
	put(t, filepath.Join(cluster, "objects/sha256", m.Objects["cluster.yaml"].SHA256), []byte("kind: Cluster\n"))
	put(t, filepath.Join(dir, "shared/manifest"), m.Encode())
	link(t, "../shared/manifest", filepath.Join(cluster, "manifest"))
	theirs(true, "shared", "shared/manifest")
}
