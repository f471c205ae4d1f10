package torture

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/trap"
)

// A daemon repairs a file and a sysctl that somebody changed, each without a pass. It is killed at
// each system call of these repairs and of the pass after them. At the kill the file is either
// theirs or ours, as a whole. After the next run both are right, no other file of ours is left, and
// nothing is left to do. The lines that keep it: pkg/reconcile/repair.go, plan (Noted) and repair;
// pkg/host/hostfs/batch.go, open.
func TestKilledInARepair(t *testing.T) {
	t.Parallel()
	needs.Root(t)
	b := newBench(t)
	s := scenario{store: nodeDocuments(t, "v1", baseSpec+"  networking:\n    bridge: {}\n"+harmlessExtras("one", "128"))}
	b.prepare(t, s)
	if o := b.run(t, nil, pass); o.Code != 0 {
		t.Fatalf("converge to the start: exit %d\n%s%s", o.Code, o.Stdout, o.Stderr)
	}
	const motd = "/etc/motd.d/cluster"
	ours := b.n.Read(motd)

	calls := b.repair(t, 0)
	if len(calls) < 10 {
		t.Fatalf("a repair makes %d calls", len(calls))
	}
	tried, lost := 0, 0
	for n := 1; n <= len(calls); n += either(1, max(len(calls)/6, 1)) {
		killed := b.repair(t, n)
		if len(killed) < n {
			continue // in this run it made fewer calls
		}
		tried++
		var broken []string
		if now := b.n.Read(motd); now != ours && now != "theirs\n" {
			broken = append(broken, fmt.Sprintf("the file is neither old nor new: %.80q", now))
		}
		for _, args := range [][]string{{"--once"}, {"--dry-run"}} { // exit code 0: nothing is left to do
			o := b.run(t, args, pass)
			if now := b.n.Read(motd); o.Code != 0 || now != ours || strings.TrimSpace(b.shell(t, "cat /proc/sys/net/core/somaxconn")) != "128" {
				broken = append(broken, fmt.Sprintf("%s then: exit %d, the file is %.80q\n%s%s", args[0], o.Code, now, o.Stdout, o.Stderr))
			}
			if left := b.shell(t, "find /etc /srv/kubernetes -name '.netwright-*'"); left != "" {
				broken = append(broken, args[0]+" leaves "+left)
			}
		}
		if len(broken) > 0 {
			lost++
			t.Errorf("killed at call %d of %d, %s %s:\n%s", n, len(calls), killed[n-1].Name, killed[n-1].Target, strings.Join(broken, "\n"))
		}
	}
	report(t, "kill: repair without a pass", tried, lost, "of %d calls", len(calls))
}

// repair has a daemon repair a file and a sysctl, and kills the daemon at its n-th call from then
// on, or long after. It returns the calls from then on.
func (b *bench) repair(t *testing.T, n int) []trap.Call {
	t.Helper()
	var armed, over atomic.Bool
	var calls []trap.Call // of the goroutine that decides, until that ends
	ended := make(chan trap.Outcome, 1)
	go func() {
		o, err := trap.Run(t.Context(), b.command([]string{}), nodeEnv, func(c trap.Call) trap.Decision {
			if armed.Load() && !over.Load() {
				calls = append(calls, c)
			}
			return trap.Decision{Kill: over.Load() || n > 0 && len(calls) == n}
		})
		if err != nil {
			o.Stderr += err.Error()
		}
		ended <- o
	}()
	if !b.n.Await(t.Context(), "netwright status >/dev/null") {
		t.Fatalf("the daemon does not come to rest: %s", b.n.Shell(t.Context(), "netwright status || true"))
	}
	time.Sleep(time.Second) // what it has begun has ended by then
	armed.Store(true)
	b.shell(t, "echo theirs >/etc/motd.d/cluster; echo 64 >/proc/sys/net/core/somaxconn")
	select {
	case <-ended:
		return calls
	case <-time.After(either(3*time.Second, 2*time.Second)):
	}
	over.Store(true)
	b.shell(t, "echo 65 >/proc/sys/net/core/somaxconn")
	<-ended
	return calls
}
