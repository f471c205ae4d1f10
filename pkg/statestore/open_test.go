package statestore_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/pkg/statestore"
	"github.com/netwright/netwright/pkg/statestore/stores"
)

func TestOpenLocations(t *testing.T) {
	dir, _ := plain(t)
	t.Chdir(filepath.Dir(dir))
	for _, location := range []string{dir, "./" + filepath.Base(dir), filepath.Base(dir), "file://" + dir, "file://localhost" + dir, "FILE://" + dir} {
		s, err := stores.Open(location, "c", stores.Options{})
		if err != nil {
			t.Errorf("Open %q: %v", location, err)
			continue
		}
		if _, err := s.Fetch(context.Background(), statestore.Revision{}); err != nil {
			t.Errorf("Fetch from %q: %v", location, err)
		}
		if want := filepath.Join(dir, "c"); s.String() != want {
			t.Errorf("%q names itself %q, want %q", location, s, want)
		}
	}
}

func TestOpenRefusals(t *testing.T) {
	for _, c := range []struct{ location, cluster, want string }{
		{"", "c", "--store"},
		{"/x", "", "--cluster"},
		{"/x", "../y", "no directory name"},
		{"/x", "a/b", "without slashes"},
		{"/x", ".git", "no directory name"},
		{"s3://key:secret@bucket/prefix", "c", "give the machine a role"},
		{"https://user:secret@host/x", "c", "put a bearer token into a file"},
		{"k8s://kube-system/x", "c", "write k8s://NAMESPACE"},
		{"k8s://Kube_system", "c", "no name of a Kubernetes namespace"},
		{"k8s://kube-system", "Upper.example.com", "lower-case letters"},
		{"gopher://host", "c", `no scheme "gopher" is known`},
		{"file://host/x", "c", "file:///path"},
		{"file://x", "c", "file:///path"},
		{"https://user:secret@host:x%zz/", "c", "does not parse"},
		{"https://fd00::1:8443/x", "c", "an IPv6 address in brackets, as in https://[fd00::1]:8443/path"},
	} {
		s, err := stores.Open(c.location, c.cluster, stores.Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Open(%q, %q): %v, %v; want an error with %q", c.location, c.cluster, s, err, c.want)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("Open(%q) tells the password: %v", c.location, err)
		}
	}
}

// asNobody takes root's rights to files from this thread, and lets everybody search the directories
// down to dir. The returned function restores the rights.
func asNobody(t *testing.T, dir string) func() {
	t.Helper()
	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	runtime.LockOSThread()
	if err := unix.Setfsuid(65534); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := unix.Setfsuid(0); err != nil {
			t.Fatal(err)
		}
		runtime.UnlockOSThread()
	}
}
