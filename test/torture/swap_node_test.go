package torture

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/trap"
)

// A booted node leaves flannel, and undoes that. Meanwhile root in a pod that has /run/flannel as
// its hostPath replaces what the agent is about to remove, to capture or to restore by links to a
// tree of root: at each call that names it. That tree does not change. No part of its content comes
// to a place where the pod can read it, into the checkpoint, or into the output.
//
// What keeps it: as for TestSwappedPaths, and pkg/checkpoint/undo/restore.go,
// pkg/checkpoint/undo/capture.go.
func TestSwappedSwitch(t *testing.T) {
	t.Parallel()
	needs.Root(t)
	b := newBench(t)
	flannel := nodeDocuments(t, "v1", baseSpec+"  networking:\n    flannel: {backend: vxlan}\n")
	left := nodeDocuments(t, "v1", baseSpec+"  networking:\n    bridge: {}\n    switch: {allow: true}\n")
	for _, f := range []struct {
		name  string
		begin func(*bench, testing.TB)
		args  []string
	}{
		{"switch", func(*bench, testing.TB) {}, nil},
		{"undo", (*bench).unconfirmed, []string{"undo"}},
	} {
		t.Run(f.name, func(t *testing.T) {
			s := scenario{from: []documents{flannel}, store: left, args: f.args, begin: func(b *bench, t testing.TB) {
				b.shell(t, hostPath)
				f.begin(b, t)
			}}
			all := b.swapAt(t, s, 0, "", false)
			if all < 10 {
				t.Fatalf("%d calls name what the pod has: this is no test", all)
			}
			tried, lost := 0, 0
			for i, place := range []string{"d", "d/e", "d/file"} {
				for j, exchange := range []bool{false, true} {
					for at := 1 + (5*i+3*j)%either(1, all); at <= all; at += either(1, all) {
						tried++
						if b.swapAt(t, s, at, place, exchange) < 0 {
							lost++
						}
					}
				}
			}
			report(t, "paths swapped: "+f.name, tried, lost, "of %d calls that name what a pod has", all)
		})
	}
}

// hostPath makes the pod's directory, and the tree that the pod must not reach.
const hostPath = `rm -rf /run/flannel /srv/outside; mkdir -p /run/flannel/d/e /srv/outside/d/e; : >/run/flannel/subnet.env
	for file in file e/deep e/zz; do echo pod >/run/flannel/d/$file; printf SECRET >/srv/outside/d/$file; done; chown -R 33:33 /srv/outside/d; chmod -R go-w,o-rx /srv/outside/d; chmod 0777 /run/flannel/d`

// swapAt runs the agent, and the pod makes its swap at one of the calls that name a path of the
// pod. It returns the number of such calls, below 0 if the pod got what it wanted. At 0 it makes no
// swap.
func (b *bench) swapAt(t *testing.T, s scenario, at int, place string, exchange bool) int {
	t.Helper()
	b.prepare(t, s)
	outside := b.shell(t, "find /srv/outside -printf '%p %y %m %U:%G %s %T@\\n' | sort")
	named := 0
	o := b.look(t, s.args, func(c trap.Call) trap.Decision {
		if !strings.Contains(c.Target, "/run/flannel") && !slices.Contains([]string{"flannel", "d", "e", "file", "deep", "zz"}, c.Target) {
			return trap.Decision{}
		}
		if named++; named == at {
			b.swap(t, place, exchange)
		}
		return trap.Decision{}
	})
	var wrong []string
	if now := b.shell(t, "find /srv/outside -printf '%p %y %m %U:%G %s %T@\\n' | sort"); now != outside {
		wrong = append(wrong, fmt.Sprintf("what is outside is\n%swas\n%s", now, outside))
	}
	if got := b.shell(t, "grep -rls SECRET /run/flannel /var/lib/netwright /run/netwright || true"); got != "" || strings.Contains(o.Stdout+o.Stderr, "SECRET") {
		wrong = append(wrong, "what is outside is in "+got+", or printed")
	}
	if len(wrong) > 0 {
		t.Errorf("%s swapped (exchange: %t) at call %d of those that name it:\n%s\n%s%s", place, exchange, at, strings.Join(wrong, "\n"), o.Stdout, o.Stderr)
		return -1
	}
	if at == 0 && o.Code != 0 {
		t.Fatalf("undisturbed: exit %d\n%s%s", o.Code, o.Stdout, o.Stderr)
	}
	return named
}

// look is run, but also stops at calls that only read.
func (b *bench) look(t testing.TB, args []string, decide func(trap.Call) trap.Decision) trap.Outcome {
	t.Helper()
	o, err := trap.Look(t.Context(), b.command(args), nodeEnv, decide)
	if err != nil {
		t.Fatalf("run the agent: %v\n%s", err, o.Stderr)
	}
	return o
}

// swap makes the pod's swap. The pod needs only its hostPath, which belongs to the node's own file
// system.
func (b *bench) swap(t testing.TB, place string, exchange bool) {
	t.Helper()
	dir := "/proc/" + b.leader + "/root/run/flannel/"
	away, target := dir+".away", "/srv/outside/"+place
	if exchange {
		if err := os.Symlink(target, away); err == nil { // the directory may be gone already
			_ = unix.Renameat2(unix.AT_FDCWD, away, unix.AT_FDCWD, dir+place, unix.RENAME_EXCHANGE)
		}
		return
	}
	_ = os.Rename(dir+place, away)
	_ = os.Symlink(target, dir+place)
}
