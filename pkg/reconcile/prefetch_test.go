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

// opening tells when an archive is asked for first.
type opening struct {
	*oneShelf
	once   sync.Once
	opened chan struct{}
}

func (o *opening) Open(ctx context.Context, url string) (io.ReadCloser, int64, error) {
	o.once.Do(func() { close(o.opened) })
	return o.oneShelf.Open(ctx, url)
}

// An archive is asked for before the run makes its first change, and not by the archive's task. The
// lines that keep it: carry_out.go, carryOut (Prefetch).
func TestAnArchiveIsPrefetched(t *testing.T) {
	needs.Root(t)
	from := &opening{oneShelf: &oneShelf{body: tarOf(t, "tool", "one")}, opened: make(chan struct{})}
	tools := archiveOf(from.oneShelf)
	tools.Fetch = from
	pass := onRoot(t.TempDir())
	pass.Hooks.OnStart = func(key graph.Key) {
		select {
		case <-from.opened:
		case <-time.After(10 * time.Second): // far above what it takes to begin
			t.Errorf("%s begins, and nobody has asked for the archive", key)
		}
	}
	if _, err := pass.Converge(t.Context(), wanting(tools)); err != nil {
		t.Fatal(err)
	}
}
