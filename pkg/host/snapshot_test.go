package host

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/netwright/netwright/pkg/host/rtnl"
)

// countedNet counts the requests. It has one link, which is removed later.
type countedNet struct {
	Net
	routes, links, link int
	gone                bool
}

func (n *countedNet) Routes(context.Context, int) ([]rtnl.Route, error) {
	n.routes++
	return make([]rtnl.Route, 1, 8), nil
}

func (n *countedNet) Links(context.Context) ([]rtnl.Link, error) {
	n.links++
	return []rtnl.Link{{Name: "pod"}}, nil
}

func (n *countedNet) Link(_ context.Context, name string) (rtnl.Link, error) {
	n.link++
	if n.gone {
		return rtnl.Link{}, ErrNotExist
	}
	return rtnl.Link{Name: name}, nil
}

// A plan reads each list once, whichever task asks, and again when the network has changed. A task
// that appends to a list changes it for no other task.
func TestASnapshotReadsEachListOnce(t *testing.T) {
	n, ctx := &countedNet{}, t.Context()
	v := View{Net: n}.Snapshot()
	ask := func() {
		t.Helper()
		for range 3 {
			mine, err := v.Net.Routes(ctx, rtnl.MainTable)
			if err != nil {
				t.Fatal(err)
			}
			_ = append(mine, rtnl.Route{MTU: 1})
			yours, err := v.Net.Routes(ctx, rtnl.MainTable)
			if err != nil || cap(yours) != len(yours) {
				t.Fatalf("%v; room for %d after %d routes", err, cap(yours), len(yours))
			}
			if _, err := v.Net.Links(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	ask()
	if _, err := v.Net.Routes(ctx, rtnl.AllTables); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if l, err := v.Net.Link(ctx, "pod"); err != nil || l.Name != "pod" {
			t.Fatalf("the link pod: %+v, %v", l, err)
		}
	}
	if diff := cmp.Diff([]int{2, 1, 1}, []int{n.routes, n.links, n.link}); diff != "" {
		t.Errorf("routes, links and a link were read so often: %s", diff)
	}
	n.gone = true
	if _, err := v.Net.Link(ctx, "other"); err == nil {
		t.Fatal("a link that is gone was found")
	}
	ask()
	if diff := cmp.Diff([]int{3, 2, 2}, []int{n.routes, n.links, n.link}); diff != "" {
		t.Errorf("after a link was gone, routes, links and a link were read so often: %s", diff)
	}
}
