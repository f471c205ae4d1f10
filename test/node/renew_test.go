package node

import (
	"os"
	"strings"
	"testing"
)

// A renewed node has nothing of its former life, and all of its layers. The lines that keep it:
// renew.go, renew (RemoveAll) and Layer (Upper).
func TestRenew(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	f := NewFabric(t)
	first := f.Node(t, Options{Name: "first", Address: "10.77.0.11"})
	first.Write("/srv/kept", "of the layer", 0o644)
	layer := first.Layer(ctx)

	n := f.Prepare(t, Options{Name: "second", Address: "10.77.0.12", Layers: []string{layer}})
	for _, address := range []string{"10.77.0.12", "10.77.0.13"} {
		if err := n.TryBoot(ctx); err != nil {
			t.Fatal(err)
		}
		if got := n.Read("/srv/kept"); got != "of the layer" {
			t.Errorf("the layer's file says %q", got)
		}
		n.Write("/srv/kept", "overwritten", 0o644)
		n.Write("/srv/more", "", 0o644)
		n.Renew(Options{Address: address, Layers: []string{layer}})
	}
	if _, err := os.Stat(n.Path("/srv/more")); err == nil {
		t.Error("a file of the former life is there")
	}
	n.Boot(ctx)
	out := n.Must(ctx, "ip", "address", "show", "host0")
	if n.Name() != "second" || !strings.Contains(out, " 10.77.0.13/24 ") {
		t.Errorf("%s has\n%s", n.Name(), out)
	}
}
