package cli

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/test/disk"
)

// A command does not wait for ever for a store whose file system does not answer. Here that is a
// FUSE file system without a program. The lines that keep it: pkg/cli/settings.go, onlyCluster;
// pkg/cli/open_store.go, Documents (unlessHung).
func TestHungStore(t *testing.T) {
	dir, root := disk.Hung(t), t.TempDir()
	within := func(what string, do func() error) {
		t.Helper()
		ended := make(chan error, 1)
		go func() { ended <- do() }()
		select {
		case err := <-ended:
			if err == nil || !strings.Contains(err.Error(), "did not answer") {
				t.Errorf("%s: the error is %v", what, err)
			} else if strings.Contains(err.Error(), "findmnt -T") {
				t.Errorf("%s: a command that looks up the path hangs too: %v", what, err)
			}
		case <-time.After(15 * time.Second):
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
