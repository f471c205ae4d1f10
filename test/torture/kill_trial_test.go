package torture

import (
	"fmt"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/needs"
	"github.com/netwright/netwright/test/trap"
)

// containerd does not start with settings of the documents. The agent is killed while it notices
// that and restores the former settings. Whenever that is, after the next run containerd's files
// are as before, containerd runs, and the output names it. It is started twice in all, with the new
// settings and with the old ones.
//
// What keeps it: pkg/reconcile/probation/probation.go Begin (SaveTrials),
// pkg/reconcile/probation/judge.go judge (SaveTrials before restore), restore, try.
func TestKilledWhileTakingBack(t *testing.T) {
	t.Parallel()
	needs.Root(t)
	b := newBench(t)
	const dropIn = "/etc/systemd/system/containerd.service.d/fussy.conf"
	b.n.Write(dropIn, "[Service]\nRestart=no\nExecStartPre=/bin/sh -c '! grep -q /etc/cni/broken /etc/containerd/config.toml'\n", 0o644)
	b.shell(t, "systemctl daemon-reload")
	good := nodeDocuments(t, "v1", baseSpec+"  networking:\n    bridge: {}\n")
	bad := nodeDocuments(t, "v1", baseSpec+"  networking:\n    bridge: {}\n    cni: {confDir: /etc/cni/broken}\n")
	s := scenario{from: []documents{good}, store: bad}
	settings := func() string {
		return b.shell(t, "stat -c '%a %u:%g %Y' /etc/containerd/config.toml; sha256sum </etc/containerd/config.toml; systemctl is-active containerd || true")
	}

	b.prepare(t, s)
	before := settings()
	o := b.run(t, nil, pass)
	if now := settings(); o.Code != 1 || now != before {
		t.Fatalf("undisturbed: exit %d\n%s%s\nwas %s is %s", o.Code, o.Stdout, o.Stderr, before, now)
	}
	if n := b.starts(t); n != 2 {
		t.Fatalf("undisturbed: containerd was started %d times, want with the new settings and with the old ones", n)
	}
	var from int // the rename of the new settings
	for _, c := range o.Calls {
		if from == 0 && c.Target == "config.toml" && strings.HasPrefix(c.Name, "rename") {
			from = c.N
		}
	}
	tried, lost := 0, 0
	for n := from + 1; n <= len(o.Calls); n += either(1, max((len(o.Calls)-from)/4, 1)) {
		b.prepare(t, s)
		before := settings()
		killed := b.run(t, nil, func(c trap.Call) trap.Decision { return trap.Decision{Kill: c.N == n} })
		if !killed.Killed {
			continue // in this run it looked less often
		}
		tried++
		var broken []string
		for _, run := range []string{"the next run", "the third run"} {
			o := b.run(t, nil, pass)
			if o.Code != 1 || !strings.Contains(o.Stdout, "containerd.service did not come up with it (exit-code)") {
				broken = append(broken, fmt.Sprintf("%s: exit %d\n%s%s", run, o.Code, o.Stdout, o.Stderr))
			}
			if now := settings(); now != before {
				broken = append(broken, fmt.Sprintf("after %s it is\n%snot\n%s", run, now, before))
			}
		}
		if n := b.starts(t); n != 2 {
			broken = append(broken, fmt.Sprintf("containerd was started %d times, want with the new settings and with the old ones", n))
		}
		if len(broken) > 0 {
			lost++
			t.Errorf("killed at call %d of %d, %s %s:\n%s", n, len(o.Calls), killed.Calls[n-1].Name, killed.Calls[n-1].Target, strings.Join(broken, "\n"))
		}
	}
	report(t, "kill: unit does not come up", tried, lost, "of %d calls, from the new settings on", len(o.Calls))
}
