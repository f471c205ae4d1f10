package e2e

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/rerun"
)

// Without an API, a peer from the agent's file connects to the node. A rule set that refuses all
// connections over IPv6 is undone, which no probe of the node itself sees. A change that leaves
// these connections alone is proved. Without the peer, or with another key, a change is not proved,
// and stays.
//
// The lines that keep it: pkg/inbound/static.go, ask; pkg/inbound/responder.go, serve;
// pkg/cli/open_store.go (Checkpoint.Inbound); cmd/agent/daemon_observers.go.
func TestStatedPeersKnock(t *testing.T) {
	t.Parallel() // the test waits for probes
	rerun.Never(t, "it cuts the node off")
	ctx := t.Context()
	fabric, nodes := twoNodes(t, bridgeSpec+atOnce)
	const key = "/etc/netwright/peers.key"
	secrets := [...]string{"of the lab alone, and long enough for a key\n", "another one that is long enough for a key\n"}
	own := func(i int) { // the node's own file
		n, other := nodes[i], nodes[1-i]
		n.Write("/etc/netwright/agent.yaml", "store: /srv/netwright\ncluster: "+cluster+"\nnode: "+n.Name()+"\ninterval: 5s\nprobeWindow: 9s\n"+
			"peers:\n  keyFile: "+key+"\n  ask: ["+other.Address()+", \""+other.Address6()+"\"]\n  answer: ["+other.Address()+"/32, \""+other.Address6()+"/128\"]\n", 0o644)
	}
	for i, n := range nodes {
		own(i)
		n.Write(key, secrets[0], 0o600)
		n.Shell(ctx, "netwright --once || netwright --once")
	}
	n, peer := nodes[0], nodes[1]
	reaches := witness(t, fabric, n)
	good := n.Read("/srv/netwright/" + cluster + "/cluster.yaml")
	once := func(extra string) node.Result {
		n.Write("/srv/netwright/"+cluster+"/cluster.yaml", strings.Replace(good, "  networking:", extra+"  networking:", 1), 0o644)
		return n.Run(ctx, "netwright", "--once")
	}
	const martians = "  sysctlParameters: [net.ipv4.conf.all.log_martians=%]\n" // takes a checkpoint; history names the proof of each
	stays := func(what, value, says string) {
		t.Helper()
		res := once(strings.Replace(martians, "%", value, 1))
		lines := strings.Split(strings.TrimSpace(n.Run(ctx, "netwright", "history").Stdout), "\n")
		if last := lines[len(lines)-1]; res.Code != 0 || !strings.Contains(last, says) {
			t.Errorf("%s: exit %d, and history does not end with %q: %s\n%s%s", what, res.Code, says, last, res.Stdout, res.Stderr)
		}
	}

	stays("nobody answers", "1", "inbound: not proved")
	peer.Write(key, secrets[1], 0o600)
	peer.Must(ctx, "systemctl", "start", "netwright-agent")
	until(t, peer, "the peer listens", "ss -Hlun sport = 19871 | grep -q .")
	stays("another key", "0", "inbound: not proved")
	peer.Write(key, secrets[0], 0o600)
	stays("the peer answers", "2", ", inbound")

	if err := reachedAgain(reaches); err != nil {
		t.Fatal(err)
	}
	n.Write("/srv/lab-does", `nft 'add table ip6 lab
add chain ip6 lab in { type filter hook input priority 0; policy drop; }
add rule ip6 lab in ct state established,related accept
add rule ip6 lab in meta l4proto ipv6-icmp accept
add rule ip6 lab in iif lo accept'
`, 0o755)
	res := once(strings.Replace(martians, "%", "2", 1) + hookThat("lab-shut"))
	if want := "inbound:tcp6:" + witnessPort + " (no connection any more from: " + peer.Address6() + ")"; res.Code != 1 || !strings.Contains(res.Stdout+res.Stderr, want) {
		t.Errorf("exit %d, and it does not say %q\n%s%s", res.Code, want, res.Stdout, res.Stderr)
	}
	if err := reachedAgain(reaches); err != nil {
		t.Errorf("after the undo: %v", err)
	}
	n.Must(ctx, "chmod", "640", key)
	if res := once(strings.Replace(martians, "%", "3", 1)); res.Code != 0 || !strings.Contains(res.Stdout+res.Stderr, "chmod 600 "+key) {
		t.Errorf("others may read the key: exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
}
