package tasks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/host"
)

// A conf that is larger than a runtime reads is not read here either, directly or through a link.
func TestLargeConfIsNotRead(t *testing.T) {
	root := t.TempDir()
	for _, err := range []error{
		os.WriteFile(filepath.Join(root, "a.conf"), nil, 0o600), os.Truncate(filepath.Join(root, "a.conf"), 63<<20), os.Symlink("a.conf", filepath.Join(root, "b.conf")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	v, err := host.OpenView(t.Context(), host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close() // only read from
	for _, file := range []string{"/a.conf", "/b.conf"} {
		if conf, err := (WaitConf{}).readConf(v.View(), file); err == nil || !strings.Contains(err.Error(), "more than the 2097152 bytes that containerd reads") {
			t.Errorf("%s: readConf returns %+v, %v", file, conf, err)
		}
	}
}
