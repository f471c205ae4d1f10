package reconcile

import (
	"context"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/test/needs"
)

// opening reports the first request for an archive.
type opening struct {
	*oneShelf
	once   sync.Once
	opened chan struct{}
}

func (o *opening) Open(ctx context.Context, url string) (io.ReadCloser, int64, error) {
	o.once.Do(func() { close(o.opened) })
	return o.oneShelf.Open(ctx, url)
}

// The run requests an archive before its first change, and not in the archive's task. The lines
// that keep it: carry_out.go, carryOut (Prefetch).
func TestAnArchiveIsPrefetched(t *testing.T) {
	needs.Root(t)
	from := &opening{oneShelf: &oneShelf{body: tarOf(t, "tool", "one")}, opened: make(chan struct{})}
	tools := archiveOf(from.oneShelf)
	tools.Fetch = from
	pass := onRoot(t.TempDir())
	pass.Hooks.OnStart = func(key graph.Key) {
		select {
		case <-from.opened:
		case <-time.After(10 * time.Second): // far more than the start needs
			t.Errorf("%s begins, and nobody has asked for the archive", key)
		}
	}
	if _, err := pass.Converge(t.Context(), wanting(tools)); err != nil {
		t.Fatal(err)
	}
}
