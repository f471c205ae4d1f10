package cleanup

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/tasks"
)

// The conf of another program gets its name back if the runtime then still takes another conf. It
// stays as it is if it would become the first one, or if its name is taken now.
func TestRenamedConfsAreGivenBack(t *testing.T) {
	const dir = "/etc/cni/net.d"
	l := Residue{Files: []string{dir + "/05-left.conflist"},
		Renamed: []RenamedSelector{{Path: dir + "/*.left_bak", Suffix: ".left_bak"}}}
	for name, c := range map[string]struct {
		files  []string // in the directory; each contains its name
		retain []graph.Key
		want   []string
	}{
		"a conf with an earlier name stays": {[]string{"10-x.conflist", "87-podman.conflist.left_bak"}, nil,
			[]string{"10-x.conflist", "87-podman.conflist"}},
		"it would be the first conf":                       {[]string{"10-x.conflist", "05-old.conflist.left_bak"}, nil, []string{"05-old.conflist.left_bak", "10-x.conflist"}},
		"it would be the only conf":                        {[]string{"87-podman.conflist.left_bak"}, nil, []string{"87-podman.conflist.left_bak"}},
		"the conf with an earlier name is removed too":     {[]string{"05-left.conflist", "87-podman.conflist.left_bak"}, nil, []string{"87-podman.conflist.left_bak"}},
		"the file with an earlier name is no conf":         {[]string{"05-x.conflist.old", "87-podman.conflist.left_bak"}, nil, []string{"05-x.conflist.old", "87-podman.conflist.left_bak"}},
		"the conf of the next network has an earlier name": {[]string{"87-podman.conflist.left_bak"}, []graph.Key{tasks.FileKey(dir + "/05-next.conflist")}, []string{"87-podman.conflist"}},
		"another file has its name":                        {[]string{"10-x.conflist", "87-podman.conflist", "87-podman.conflist.left_bak"}, nil, []string{"10-x.conflist", "87-podman.conflist", "87-podman.conflist.left_bak"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			at := filepath.Join(root, dir)
			if err := os.MkdirAll(at, 0o755); err != nil {
				t.Fatal(err)
			}
			for _, file := range c.files {
				if err := os.WriteFile(filepath.Join(at, file), []byte(file), 0o640); err != nil {
					t.Fatal(err)
				}
			}
			h, err := host.Open(t.Context(), host.Options{Root: root})
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			s := Selection{Residue: l, Scope: Scope{Retain: c.retain}}
			if err := s.Remove(t.Context(), h); err != nil {
				t.Fatal(err)
			}
			var got []string
			entries, err := os.ReadDir(at)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				got = append(got, e.Name())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("in the directory (-want +got):\n%s", diff)
			}
			if content, err := os.ReadFile(filepath.Join(at, "87-podman.conflist")); name == "a conf with an earlier name stays" &&
				(err != nil || string(content) != "87-podman.conflist.left_bak") {
				t.Errorf("it holds %q, %v", content, err)
			}
			if found, err := s.Find(t.Context(), h.Live.View()); err != nil || len(found) > 0 {
				t.Errorf("left after it: %v, %v", found, err)
			}
		})
	}
}

// A directory in which somebody keeps a file is not removed.
func TestDirectoriesWithWhatIsRetainedStay(t *testing.T) {
	s := Scope{Retain: []graph.Key{tasks.FileKey("/etc/left/tls/key")}}
	for path, want := range map[string]bool{"/etc/left/tls": true, "/etc/left/tls/key": true, "/etc/left/tl": false, "/etc/left/tls/ca": false} {
		if got := s.retains(tasks.FileKey(path)); got != want {
			t.Errorf("%s is kept: %v, want %v", path, got, want)
		}
	}
}
