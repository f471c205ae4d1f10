package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

// A node trusts one key. Whatever an attacker puts into its store, the daemon says why it does not
// accept it, and goes on repairing. At the next boot the node comes up without any store. The lines
// that keep it: pkg/statestore/trust/policy.go, Check; pkg/reconcile/rollout/last_good.go;
// pkg/daemon/loop.go, once.
func TestNobodyElseRulesTheNode(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := bridgeStore(t)
	doc, err := os.ReadFile(s.path("cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, "cluster.yaml", string(doc)+"  drift: {contested: {after: 1000, within: 10s}}\n") // each attack changes the same keys
	n := node.NewFabric(t).Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{}))
	n.Shell(ctx, `cd /srv; netwright store keygen --out listed; netwright store keygen --out stolen
netwright store publish netwright published --key listed.key --expires 24h
cp -r netwright/`+cluster+`/assets published/`+cluster+`/assets
cp published/`+cluster+`/manifest first
netwright store publish netwright published --key listed.key --expires 720h
cat > /etc/netwright/agent.yaml <<END
store: /srv/published
cluster: `+cluster+`
node: node-1
interval: 5s
trustedKeys: [$(sed -n 2p listed.pub)]
END
systemctl enable -q --now netwright-agent`)
	checkBridgeNode(t, n)

	manifest := "published/" + cluster + "/manifest"
	for _, c := range []struct{ attack, want string }{
		{"sed -i 's/\"generation\": 2/\"generation\": 9/' " + manifest, "somebody changed it since"},
		{"cp first " + manifest, "this node has seen generation 2"},
		{"netwright store publish netwright published --key stolen.key", "only these keys are trusted"},
		{"sed -i '/^untrusted comment: /,$d' " + manifest, "is not signed"},
		{"rm " + manifest + "; cp -r netwright/" + cluster + "/* published/" + cluster, "accepts only what is signed"},
		{"for o in published/" + cluster + "/objects/sha256/*; do grep -q 'kind: Cluster' $o && echo '# and more' >> $o; done; touch " + manifest, "is not what the manifest says"},
		{"echo '  pin: 1' >> " + manifest, "manifest"},
		{"rm -r published", "there is no directory /srv/published"},
	} {
		n.Shell(ctx, "cd /srv; rm -rf good; cp -a published good; "+c.attack+"; rm /etc/cni/net.d/05-netwright-bridge.conflist; sysctl -qw net.ipv4.ip_forward=0")
		until(t, n, "drift is repaired after `"+c.attack+"`", "test -e /etc/cni/net.d/05-netwright-bridge.conflist && test $(sysctl -n net.ipv4.ip_forward) = 1")
		until(t, n, "`"+c.attack+"` is refused", "systemctl show -p StatusText netwright-agent | grep -q 'going on with generation 2' && journalctl -b -u netwright-agent -o cat | grep -q '"+c.want+"'")
		n.Shell(ctx, "cd /srv; rm -rf published; cp -a good published")
		until(t, n, "the store is followed again", "! systemctl show -p StatusText netwright-agent | grep -q 'going on'")
	}
	if state := n.Shell(ctx, "systemctl show -p NRestarts netwright-agent"); state != "NRestarts=0\n" {
		t.Errorf("the daemon died: %s", state)
	}

	n.Shell(ctx, "rm -rf /srv/published /srv/netwright /srv/good; rm /etc/cni/net.d/05-netwright-bridge.conflist; sync")
	n.Reboot(ctx)
	checkBridgeNode(t, n)
	show := n.Must(ctx, "systemctl", "show", "-p", "ActiveState,SubState,StatusText", "netwright-agent")
	for _, want := range []string{"ActiveState=active", "SubState=running", "going on with the last good configuration, generation 2, taken at 20"} {
		if !strings.Contains(show, want) {
			t.Errorf("the unit is not %s:\n%s", want, show)
		}
	}
}
