package statestore_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/blob"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/manifest"
	"github.com/netwright/netwright/test/needs"
)

// plain makes a plain directory store with cluster "c".
func plain(t *testing.T) (dir, cluster string) {
	dir = t.TempDir()
	cluster = filepath.Join(dir, "c")
	put(t, filepath.Join(cluster, "cluster.yaml"), []byte("kind: Cluster\n"))
	return dir, cluster
}

func fetch(t *testing.T, location string) (*statestore.Snapshot, error) {
	t.Helper()
	return openIn(location)(t, "c").Fetch(context.Background(), statestore.Revision{})
}

// Each case breaks a good store. The error must have one line, name the place and say what to do.
func TestFetchSaysWhatToDo(t *testing.T) {
	for name, c := range map[string]struct {
		break_ func(t *testing.T, dir, cluster string)
		want   []string
	}{
		"no directory": {func(t *testing.T, dir, _ string) { remove(t, dir) }, []string{"no directory", "set store"}},
		"a file":       {func(t *testing.T, dir, _ string) { remove(t, dir); put(t, dir, nil) }, []string{"is no directory"}},
		"another cluster": {func(t *testing.T, dir, cluster string) {
			rename(t, cluster, filepath.Join(dir, "prod.example.com"))
			put(t, filepath.Join(dir, "README"), nil)
			put(t, filepath.Join(dir, ".git/HEAD"), nil)
		}, []string{`no cluster "c"`, "it has prod.example.com; set cluster"}},
		"no cluster at all": {func(t *testing.T, _, cluster string) { remove(t, cluster) }, []string{"nor any other", "put the cluster's documents"}},
		"one level too deep": {func(t *testing.T, dir, cluster string) {
			rename(t, filepath.Join(cluster, "cluster.yaml"), filepath.Join(dir, "cluster.yaml"))
			remove(t, cluster)
		}, []string{"itself a cluster's directory", "set store to"}},
		"cluster is a file":     {func(t *testing.T, _, cluster string) { remove(t, cluster); put(t, cluster, nil) }, []string{"a directory with cluster.yaml is expected"}},
		"no cluster.yaml":       {func(t *testing.T, _, cluster string) { remove(t, filepath.Join(cluster, "cluster.yaml")) }, []string{"c/cluster.yaml is missing", "kind Cluster"}},
		"directory as document": {func(t *testing.T, _, cluster string) { put(t, filepath.Join(cluster, "nodes/n.yaml/x"), nil) }, []string{`"nodes/n.yaml" is a directory`}},
		"pipe as document": {func(t *testing.T, _, cluster string) {
			if err := syscall.Mkfifo(filepath.Join(cluster, "nodegroups.yaml"), 0o600); err != nil {
				t.Fatal(err)
			}
			link(t, "../nodegroups.yaml", filepath.Join(cluster, "nodes/n.yaml"))
		}, []string{`"nodes/n.yaml" is a pipe`, "remove it"}},
		"link out":      {func(t *testing.T, _, cluster string) { link(t, "/etc/passwd", filepath.Join(cluster, "nodes/n.yaml")) }, []string{`"nodes/n.yaml"`, "leads out of the store", "copy the file"}},
		"link out, ..":  {func(t *testing.T, _, cluster string) { link(t, "../../../x", filepath.Join(cluster, "nodes/n.yaml")) }, []string{`"nodes/n.yaml"`, "leads out of the store"}},
		"directory out": {func(t *testing.T, _, cluster string) { link(t, "/etc", filepath.Join(cluster, "nodes")) }, []string{`"nodes"`, "leads out of the store"}},
		"dangling link": {func(t *testing.T, _, cluster string) { link(t, "none", filepath.Join(cluster, "nodes/n.yaml")) }, []string{`"nodes/n.yaml"`, "repair the link"}},
		"link loop":     {func(t *testing.T, _, cluster string) { link(t, "n.yaml", filepath.Join(cluster, "nodes/n.yaml")) }, []string{`"nodes/n.yaml"`, "repair the symbolic link"}},
		"big document": {func(t *testing.T, _, cluster string) {
			putFilled(t, filepath.Join(cluster, "nodes/n.yaml"), manifest.MaxObjectSize+1, 'x')
		}, []string{`"nodes/n.yaml" has 2097153 bytes`, "at most 2097152", "under assets/"}},
		"big store": {func(t *testing.T, _, cluster string) {
			putFilled(t, filepath.Join(cluster, "nodes/0.yaml"), manifest.MaxObjectSize, 'x')
			for i := 1; i < 33; i++ {
				link(t, "0.yaml", filepath.Join(cluster, fmt.Sprintf("nodes/%d.yaml", i)))
			}
		}, []string{"all objects have", "at most 67108864"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, cluster := plain(t)
			c.break_(t, dir, cluster)
			got, err := fetch(t, dir)
			if err == nil {
				t.Fatalf("fetched %q", got.Objects)
			}
			for _, want := range append(c.want, dir) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in: %v", want, err)
				}
			}
			if strings.Contains(err.Error(), "\n") || graph.IsTransient(err) {
				t.Errorf("transient, or more than a line: %v", err)
			}
		})
	}
}

func TestFetchUnreadable(t *testing.T) {
	dir, cluster := plain(t)
	put(t, filepath.Join(cluster, "nodes/n.yaml"), nil)
	if err := os.Chmod(filepath.Join(cluster, "nodes/n.yaml"), 0); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 { // no mode stops root, except on a thread of its own without root's rights
		t.Cleanup(asNobody(t, dir))
	}
	_, err := fetch(t, dir)
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), `"nodes/n.yaml"`) || !strings.Contains(err.Error(), "let the agent's user read it") {
		t.Errorf("unreadable document: %v", err)
	}
}

// If the server of a store's file system is gone, the store does not answer, as a store behind a
// URL: it may come back.
func TestFetchFromADeadFileServer(t *testing.T) {
	needs.Root(t)
	dir, _ := plain(t)
	server, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=40755,user_id=0,group_id=0,allow_other", server.Fd())
	if err := syscall.Mount("gone", dir, "fuse", syscall.MS_NOSUID|syscall.MS_NODEV, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	server.Close()
	_, err = fetch(t, dir)
	if !graph.IsTransient(err) || !errors.Is(err, syscall.ENOTCONN) || !strings.Contains(err.Error(), "look at the disk or the file server") {
		t.Errorf("transient %v: %v", graph.IsTransient(err), err)
	}
}

func TestFetchFollowsLinksWithin(t *testing.T) {
	dir, cluster := plain(t)
	put(t, filepath.Join(dir, "shared/group.yaml"), []byte("shared"))
	link(t, "../../shared/group.yaml", filepath.Join(cluster, "nodegroups/nodes.yaml"))
	// Kubernetes mounts a ConfigMap so: each name is a link through ..data.
	rename(t, filepath.Join(cluster, "cluster.yaml"), filepath.Join(cluster, "cluster.old"))
	put(t, filepath.Join(cluster, "..2026_01/cluster.yaml"), []byte("mounted"))
	link(t, "..2026_01", filepath.Join(cluster, "..data"))
	link(t, "..data/cluster.yaml", filepath.Join(cluster, "cluster.yaml"))

	got, err := fetch(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Objects["nodegroups/nodes.yaml"]) != "shared" || string(got.Objects["cluster.yaml"]) != "mounted" {
		t.Errorf("links within the store: %q", got.Objects)
	}
	if len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "cluster.old") {
		t.Errorf("notes %q, want one, of cluster.old", got.Notes)
	}
}

func TestOpenDoesNotLeaveTheStore(t *testing.T) {
	dir, cluster := plain(t)
	link(t, "/etc/passwd", filepath.Join(cluster, "assets/a"))
	_, _, err := openIn(dir)(t, "c").Open(context.Background(), "assets/a")
	if err == nil || !strings.Contains(err.Error(), "leads out of the store") {
		t.Errorf("asset behind a link that leads out: %v", err)
	}
	put(t, filepath.Join(cluster, "assets/dir/x"), nil)
	if _, _, err := openIn(dir)(t, "c").Open(context.Background(), "assets/dir"); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("directory as asset: %v", err)
	}
}

// A change may keep size, inode and mtime. It is noticed while the files are young, and by its
// ctime when they are old.
func TestFetchSeesChangeUnderOneMtime(t *testing.T) {
	dir, cluster := plain(t)
	s, path := openIn(dir)(t, "c"), filepath.Join(cluster, "cluster.yaml")
	day := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	var last statestore.Revision
	for _, content := range []string{"one", "two", "six"} {
		put(t, path, []byte(content))
		if err := os.Chtimes(path, day, day); err != nil {
			t.Fatal(err)
		}
		got, err := s.Fetch(context.Background(), last)
		if err != nil || string(got.Objects["cluster.yaml"]) != content {
			t.Fatalf("after writing %q: %v, %v", content, got, err)
		}
		last = got.Revision
	}
}

func TestPublishedRefusals(t *testing.T) {
	good := func() *manifest.Manifest {
		return manifest.New("c", 1, map[string][]byte{"cluster.yaml": []byte("x")})
	}
	entry := good().Objects["cluster.yaml"]
	for name, c := range map[string]struct {
		change func(m *manifest.Manifest)
		want   string
	}{
		"version":        {func(m *manifest.Manifest) { m.APIVersion = "netwright.dev/v9" }, "update the agent"},
		"kind":           {func(m *manifest.Manifest) { m.Kind = "Cluster" }, `is a "Cluster"`},
		"cluster":        {func(m *manifest.Manifest) { m.Cluster = "d" }, `of cluster "d", not "c"`},
		"generation":     {func(m *manifest.Manifest) { m.Generation = 0 }, "generation 0"},
		"path up":        {func(m *manifest.Manifest) { m.Objects["../x"] = entry }, `"../x"`},
		"absolute":       {func(m *manifest.Manifest) { m.Objects["/etc/passwd"] = entry }, `"/etc/passwd"`},
		"hash is a path": {func(m *manifest.Manifest) { m.Objects["cluster.yaml"] = manifest.Object{SHA256: "../../x"} }, "sha256"},
		"hash upper case": {func(m *manifest.Manifest) {
			m.Objects["cluster.yaml"] = manifest.Object{SHA256: strings.ToUpper(entry.SHA256)}
		}, "lower-case"},
		"too big": {func(m *manifest.Manifest) {
			m.Objects["cluster.yaml"] = manifest.Object{SHA256: entry.SHA256, Size: 1 << 40}
		}, "at most"},
		"negative size": {func(m *manifest.Manifest) {
			m.Objects["cluster.yaml"] = manifest.Object{SHA256: entry.SHA256, Size: -1}
		}, "-1 bytes"},
		"too many": {func(m *manifest.Manifest) {
			for i := range manifest.MaxObjects {
				m.Objects[strconv.Itoa(i)] = entry
			}
		}, "more than 20000 objects"},
		"object missing": {func(*manifest.Manifest) {}, "the manifest last"},
	} {
		t.Run(name, func(t *testing.T) {
			m := good()
			c.change(m)
			dir := t.TempDir()
			put(t, filepath.Join(dir, "c/manifest"), m.Encode())
			if got, err := fetch(t, dir); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, %v; want an error with %q", got, err, c.want)
			}
		})
	}
	for name, text := range map[string]string{
		"empty": "", "no JSON": "generation: 1", "unknown field": `{"future": 1}`, "two": string(good().Encode()) + "{}",
	} {
		if _, err := manifest.Parse([]byte(text), "c"); err == nil || !strings.Contains(err.Error(), "publish again") {
			t.Errorf("%s: Parse returns %v", name, err)
		}
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

// Each file below files/ is part of the snapshot, whatever its name is. A link may lead to a file
// or a directory within the store.
func TestFilesBelongToTheSnapshot(t *testing.T) {
	dir, cluster := plain(t)
	put(t, filepath.Join(cluster, "files/motd"), []byte("hello"))
	put(t, filepath.Join(cluster, "files/app/conf.d/cluster.yaml"), []byte("1"))
	link(t, "app/conf.d", filepath.Join(cluster, "files/same"))
	got, err := fetch(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"files/motd": "hello", "files/app/conf.d/cluster.yaml": "1", "files/same/cluster.yaml": "1"} {
		i := slices.IndexFunc(got.Files, func(f blob.Named) bool { return f.Name == name })
		if i < 0 {
			t.Fatalf("%s is not among %v", name, got.Files)
		}
		f := got.Files[i]
		if data, err := f.Bytes(); err != nil || string(data) != want || f.Size != int64(len(want)) || f.Sum != sha256.Sum256(data) {
			t.Errorf("%s is %q, %d bytes of %s (%v), want %q", name, data, f.Size, f.Sum, err, want)
		}
	}
	if len(got.Objects) != 1 || len(got.Files) != 3 || len(got.Notes) != 0 {
		t.Errorf("%d objects, notes %q", len(got.Objects), got.Notes)
	}
}
