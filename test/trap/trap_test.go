package trap

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/needs"
)

func TestMain(m *testing.M) {
	if err := Main(); err != nil {
		fmt.Fprintln(os.Stderr, "trap:", err)
		os.Exit(126)
	}
	os.Exit(m.Run())
}

func TestCallsAreCounted(t *testing.T) {
	needs.Root(t)
	dir := t.TempDir()
	for range 2 { // the second one changes only times
		o, err := Run(t.Context(), []string{"touch", dir + "/a", dir + "/b"}, os.Environ(), func(Call) Decision { return Decision{} })
		if err != nil || o.Code != 0 {
			t.Fatalf("Run returns %+v, %v", o, err)
		}
		var opened []string
		for i, c := range o.Calls {
			if c.N != i+1 {
				t.Errorf("call %d is numbered %d", i+1, c.N)
			}
			if c.Name == "openat" {
				opened = append(opened, filepath.Base(c.Target))
			}
		}
		if !slices.Equal(opened, []string{"a", "b"}) {
			t.Errorf("opened to write: %q", opened)
		}
	}
}

// A program without a call of the list may have ended before the first look.
func TestProgramThatChangesNothing(t *testing.T) {
	needs.Root(t)
	for code, command := range []string{"true", "false"} {
		for range 20 {
			o, err := Run(t.Context(), []string{command}, os.Environ(), func(Call) Decision { return Decision{} })
			if err != nil || o.Code != code || len(o.Calls) > 0 {
				t.Fatalf("%s: Run returns %+v, %v", command, o, err)
			}
		}
	}
}

func TestErrnoAndKill(t *testing.T) {
	needs.Root(t)
	dir := t.TempDir()
	touch := []string{"touch", dir + "/f"}
	o, err := Run(t.Context(), touch, os.Environ(), func(c Call) Decision {
		if c.Target == dir+"/f" {
			return Decision{Errno: int(unix.EROFS)}
		}
		return Decision{}
	})
	if err != nil || o.Code != 1 {
		t.Fatalf("Run returns %+v, %v", o, err)
	}
	o, err = Run(t.Context(), touch, os.Environ(), func(c Call) Decision { return Decision{Kill: c.Target == dir+"/f"} })
	if err != nil || !o.Killed || len(o.Calls) == 0 {
		t.Fatalf("Run returns %+v, %v", o, err)
	}
	if _, err := os.Stat(dir + "/f"); err == nil {
		t.Error("the call at which it was killed was done")
	}
}
