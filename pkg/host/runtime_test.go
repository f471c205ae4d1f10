package host

import (
	"errors"
	"testing"

	"github.com/netwright/netwright/pkg/host/internal/sys"
)

// Where there is no runtime to ask, the answer says so: an image, a sandbox, a node without a
// runtime.
func TestNoPodsWhereNoRuntimeIsAsked(t *testing.T) {
	for name, l := range map[string]*Live{
		"image":    {opt: Options{Root: "/srv/image"}, Facts: &Facts{Runtime: RuntimeFacts{Socket: "/run/x.sock"}}},
		"sandbox":  {opt: Options{Root: "/", Sandbox: true}, Facts: &Facts{Runtime: RuntimeFacts{Socket: "/run/x.sock"}}},
		"none":     {opt: Options{Root: "/"}, Facts: &Facts{}},
		"disabled": {opt: Options{Root: "/"}, Facts: &Facts{Runtime: RuntimeFacts{Socket: "/run/x.sock", CRIDisabled: true}}},
	} {
		if _, err := l.Pods(t.Context()); !errors.Is(err, sys.ErrNoLiveState) {
			t.Errorf("%s: %v, want ErrNoLiveState", name, err)
		}
	}
	l := &Live{opt: Options{Root: "/"}, Facts: &Facts{Runtime: RuntimeFacts{Socket: t.TempDir() + "/none.sock"}}}
	if _, err := l.Pods(t.Context()); err == nil || errors.Is(err, sys.ErrNoLiveState) {
		t.Errorf("a runtime that does not answer: %v, want an error of its own", err)
	}
}
