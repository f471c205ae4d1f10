package e2e

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

// The journal has the daemon's log with fields: one line for each change, which its key finds, and
// no line when nothing happened.
func TestJournalHasTheKey(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	const key = "NETWRIGHT_KEY=sysctl:net.ipv4.ip_forward"
	s, _ := goodStore(t)
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{}))
	journal := func(args string) string {
		return n.Shell(ctx, "journalctl --sync; journalctl -b -q --no-pager -t netwright "+args)
	}
	n.Must(ctx, "systemctl", "start", "netwright-agent")
	if got := journal("-o cat " + key); strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, "changed ") {
		t.Errorf("of one change the journal has:\n%s", got)
	}
	verbose := journal("-o verbose " + key)
	for _, field := range []string{key, "NETWRIGHT_GENERATION=0", "NETWRIGHT_REASON=value differs", "PRIORITY=6", "_SYSTEMD_UNIT=netwright-agent.service"} {
		if !strings.Contains(verbose, field+"\n") {
			t.Errorf("no %s in\n%s", field, verbose)
		}
	}
	if got := journal("-o cat -p warning"); got != "" {
		t.Errorf("of a node that is right the journal has warnings:\n%s", got)
	}

	before := journal("-o cat")
	n.Must(ctx, "netwright", "--once")
	if got := strings.TrimPrefix(journal("-o cat"), before); strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, "asked ") {
		t.Errorf("of a pass in which nothing changed the journal has:\n%s", got)
	}
	n.Shell(ctx, "sysctl -qw net.ipv4.ip_forward=0")
	n.Must(ctx, "netwright", "--once")
	if got := journal("-o cat " + key); strings.Count(got, "\n") != 2 || !strings.Contains(got, "\nrepaired ") {
		t.Errorf("of a change and its repair the journal has:\n%s", got)
	}

	// The end of journald breaks the daemon's stderr, and nothing else.
	pid := n.Must(ctx, "systemctl", "show", "-P", "MainPID", "netwright-agent")
	n.Shell(ctx, "systemctl stop systemd-journald.socket systemd-journald-dev-log.socket systemd-journald-audit.socket systemd-journald.service || true; sysctl -qw net.ipv4.ip_forward=0")
	n.Must(ctx, "netwright", "--once")
	n.Shell(ctx, "systemctl start systemd-journald.socket systemd-journald.service")
	if now := n.Must(ctx, "systemctl", "show", "-P", "MainPID", "netwright-agent"); now != pid {
		t.Errorf("without a journal the daemon %s became %s", pid, now)
	}
}
