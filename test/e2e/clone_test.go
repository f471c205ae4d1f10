package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
)

// anotherMachine boots the disk of node-1 as node-2, with another name and another address, after
// the commands that docs/images.md has for such a disk.
func anotherMachine(t *testing.T, f *node.Fabric, n *node.Node) *node.Node {
	t.Helper()
	const uplink = "/etc/systemd/network/10-host0.network"
	page, err := os.ReadFile("../../docs/images.md")
	if err != nil {
		t.Fatal(err)
	}
	_, commands, _ := strings.Cut(string(page), "## A disk of a node that has run\n\n")
	commands, _, _ = strings.Cut(commands, "\n\n")
	id := n.Read("/etc/machine-id")
	n.Write("/var/lib/dbus/machine-id", id, 0o444) // as on a Debian whose systemd took its id from there
	n.Shell(t.Context(), commands)
	if n.Is(t.Context(), "test -e /var/lib/dbus/machine-id") {
		t.Fatal("the disk still has the id of the first machine") // and its boot would be that of the first
	}
	files := map[string]string{
		"/etc/lab-network": "", // networkd sets the addresses, as on the first machine
		"/etc/machine-id":  n.Read("/etc/machine-id"),
		uplink:             strings.NewReplacer("10.77.0.11", "10.77.0.12", "fd00:77::11", "fd00:77::12").Replace(n.Read(uplink)),
	}
	clone := f.Node(t, node.Options{Name: "node-2", Address: "10.77.0.12", Layers: []string{n.Layer(t.Context())}, Files: files})
	if clone.Read("/etc/machine-id") == id {
		t.Fatal("the new machine has the id of the first")
	}
	return clone
}

// firstOfTwo returns the first node of a store with a document for each of two nodes. The node is
// converged.
func firstOfTwo(t *testing.T, f *node.Fabric) (first *node.Node, good string) {
	t.Helper()
	s, good := goodStore(t)
	s.write(t, "nodes/node-1.yaml", goodNode("[10.244.1.0/24]"))
	path, text := nodeDocument("node-2", "10.77.0.12", "[10.244.2.0/24]")
	s.write(t, path, text)
	return f.Node(t, options(t, s, "node-1", "10.77.0.11", node.Options{Networkd: true, Enable: []string{"netwright-agent.service"}})), good
}

// isTheSecond checks that a node has the pods' bridge of node-2, and nothing of the bridge of
// node-1.
func isTheSecond(t *testing.T, n *node.Node) {
	t.Helper()
	if out := n.Must(t.Context(), "ip", "-o", "addr", "show", "dev", "cbr0"); !strings.Contains(out, " 10.244.2.1/24 ") || strings.Contains(out, " 10.244.1.1/24 ") {
		t.Errorf("the pods' bridge has\n%s", out)
	}
	until(t, n, "the daemon is content", "systemctl show -p StatusText netwright-agent | grep -q 'StatusText=bridge: '")
}

// The disk of a converged node boots as another machine, while the node's first configuration still
// awaits a boot. The connections of the first machine say nothing about the second one. So the
// agent undoes nothing, and the second machine becomes a node of its own. The line that keeps it:
// pkg/checkpoint/firstboot/firstboot.go, FirstBoot (IsOtherMachine).
func TestADiskOfANodeBootsAsAnother(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	f := serve(t)
	n, _ := firstOfTwo(t, f)
	if out := n.Must(ctx, "netwright", "history"); !strings.Contains(out, "awaiting boot: ") {
		t.Fatalf("nothing awaits a boot:\n%s", out)
	}
	const made = "/etc/systemd/network/05-netwright.network"
	before := n.Read(made)
	clone := anotherMachine(t, f, n)
	if now := clone.Read(made); now != before {
		t.Errorf("%s:\n%s", made, now)
	}
	isTheSecond(t, clone)
	if out := clone.Must(ctx, "netwright", "history"); strings.Contains(out, "bad ") || strings.Contains(out, "unsure ") {
		t.Errorf("history:\n%s", out)
	}
}

// A rollback holds a node, and its disk boots as another machine. Nobody held that machine: it uses
// its own documents and follows the store, also after its agent starts again. The line that keeps
// it: pkg/ledger/ledger.go, LoadWith (IsOtherMachine).
func TestADiskOfAHeldNodeBootsAsAnother(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	f := serve(t)
	n, good := firstOfTwo(t, f)
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", bootFile(good, "", "/etc/newer", "newer\n"), 0o644)
	n.Must(ctx, "netwright", "--once")
	n.Must(ctx, "netwright", "rollback")
	clone := anotherMachine(t, f, n)
	isTheSecond(t, clone)
	clone.Must(ctx, "systemctl", "restart", "netwright-agent")
	isTheSecond(t, clone)
	clone.Must(ctx, "test", "-e", "/etc/newer")
	if out := clone.Must(ctx, "netwright", "history"); strings.Contains(out, "held at") {
		t.Errorf("history:\n%s", out)
	}
}

// The disk of a node boots as another machine while a change still awaits its confirmation. The
// agent undoes the change. On the new machine nothing is held back, and its only revision is its
// own. The lines that keep it: pkg/checkpoint/take.go, Take (Machine); pkg/checkpoint/verdict.go,
// judge (Machine); pkg/ledger/revisions.go, ReadRevision.
func TestADiskWithAnUnconfirmedChangeBootsAsAnother(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	f := serve(t)
	n, good := firstOfTwo(t, f)
	n.Write("/srv/netwright/"+cluster+"/cluster.yaml", bootFile(good, "", "/etc/systemd/network/06-newer.network", "[Match]\nName=newer\n"), 0o644)
	n.Must(ctx, "systemctl", "stop", "netwright-agent")
	if out := n.Must(ctx, "netwright", "--once", "--confirm", "1h"); !strings.Contains(out, "awaits its confirmation") {
		t.Fatalf("nothing is to be confirmed:\n%s", out)
	}
	clone := anotherMachine(t, f, n)
	isTheSecond(t, clone)
	clone.Must(ctx, "test", "-e", "/etc/systemd/network/06-newer.network")
	if out := clone.Must(ctx, "netwright", "history"); strings.Contains(out, "undone") || strings.Contains(out, "\n  1 ") || strings.Contains(out, "* 1 ") {
		t.Errorf("history tells of the first machine:\n%s", out)
	}
	if res := clone.Run(ctx, "netwright", "rollback", "1"); res.Code != 1 || !strings.Contains(res.Stderr, "read revision 1: ") {
		t.Errorf("back to what the first had: exit %d\n%s%s", res.Code, res.Stdout, res.Stderr)
	}
	isTheSecond(t, clone)
}
