package verify

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/tasks"
)

// The time that an archive gave a conf does not count as the conf's age. The line that keeps it:
// check_log.go, confSince.
func TestAConfIsAsOldAsItsLastChange(t *testing.T) {
	root, began := t.TempDir(), time.Now().Add(-time.Second) // the kernel's times are coarse
	file := filepath.Join(root, "10-x.conflist")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	live, err := host.OpenBrief(host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = live.Close() })
	c := &checker{view: live.View(), confs: []tasks.CNIConf{{File: "/10-x.conflist"}}}
	for _, set := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		if err := os.Chtimes(file, time.Time{}, time.Now().Add(set)); err != nil {
			t.Fatal(err)
		}
		if at := c.confSince(); at.Before(began) || at.After(time.Now().Add(time.Second)) {
			t.Errorf("with a stamp of %s from now it is of %s", set, at)
		}
	}
}
