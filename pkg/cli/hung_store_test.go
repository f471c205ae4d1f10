package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/needs"
)

// A command does not wait for ever for a store whose file system does not answer: here a FUSE file
// system that no program serves. The lines that keep it: pkg/cli/settings.go, onlyCluster;
// pkg/cli/open_store.go, Documents (unlessHung).
func TestHungStore(t *testing.T) {
	needs.Root(t)
	dir, root := t.TempDir(), t.TempDir()
	conn, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		needs.Missing(t, "FUSE: "+err.Error())
	}
	defer conn.Close()
	if err := unix.Mount("hung", dir, "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40755,user_id=0,group_id=0", conn.Fd())); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Unmount(dir, unix.MNT_FORCE|unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	within := func(what string, do func() error) {
		t.Helper()
		ended := make(chan error, 1)
		go func() { ended <- do() }()
		select {
		case err := <-ended:
			if err == nil || !strings.Contains(err.Error(), "did not answer") {
				t.Errorf("%s: %v", what, err)
			} else if strings.Contains(err.Error(), "findmnt -T") {
				t.Errorf("%s: a command that looks up the path hangs too: %v", what, err)
			}
		case <-time.After(listLimit + 5*time.Second):
			t.Errorf("%s hangs", what)
		}
	}
	s := Settings{}
	s.Store = dir
	within("the list of clusters", s.onlyCluster)
	s.Cluster, s.Node, s.Host.Root = "c", "n1", root
	o, err := s.Open(zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	within("the load of documents", func() error {
		ctx, end := context.WithTimeoutCause(t.Context(), time.Second, fmt.Errorf("the user did not answer"))
		defer end()
		_, _, err := o.Documents(ctx)
		return err
	})
}
