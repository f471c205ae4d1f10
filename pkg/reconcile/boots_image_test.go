package reconcile

import (
	"os"
	"os/exec"
	"testing"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/checkpoint/firstboot"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/reconcile/session"
	"github.com/netwright/netwright/test/hostroot"
	"github.com/netwright/netwright/test/netns"
)

// At the first boot of an image with baked changes, the agent asks the gateways once, and reports.
// It undoes nothing. The lines that keep it: pkg/reconcile/session/first_boot.go, FirstOfImage;
// pkg/checkpoint/probe/reach.go, Gateways.
func TestTheFirstBootOfAnImageOnlyReports(t *testing.T) {
	if !netns.Alone(t, "/etc", "/run", "/var/lib") {
		return
	}
	root := t.TempDir()
	mustConverge(t, root, file("/etc/motd", "baked"))
	sh := func(script string) {
		t.Helper()
		if out, err := exec.Command("/bin/sh", "-ec", script).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s\n%s", err, out, script)
		}
	}
	sh(`ip netns add out; ip link add up0 type veth peer name up1 netns out
ip -n out addr add 10.0.0.1/24 dev up1; ip -n out link set up1 up
ip link set up0 up; ip addr add 10.0.0.2/24 dev up0; ip route add default via 10.0.0.1`)
	h, err := host.Open(t.Context(), host.Options{Root: "/", Sandbox: true, Facts: &host.Facts{}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	boot := func(id string) []ledger.Boot {
		t.Helper()
		hostroot.Put(t, root, "/proc/sys/kernel/random/boot_id", id+"\n")
		led, err := onRoot(root).Session().LoadLedger()
		if err != nil {
			t.Fatal(err)
		}
		session.FirstOfImage(t.Context(), h, led, zap.NewNop())
		list, err := ledger.ReadBoots(h.Live.Files)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	for range 2 {
		if list := boot("one"); len(list) != 1 || list[0].ID != "one" || list[0].Outcome != string(firstboot.Confirmed) || list[0].Why != "" {
			t.Errorf("with a gateway that answers: %+v", list)
		}
	}
	sh("ip -n out addr flush dev up1; ip neigh flush dev up0")
	list := boot("another")
	if last := list[len(list)-1]; len(list) != 2 || last.ID != "another" || last.Outcome != string(firstboot.Unsure) || last.Why == "" {
		t.Errorf("with one that does not: %+v", list)
	}
	if _, err := os.Stat(firstboot.Dir); err == nil || hostroot.Read(t, root, "/etc/motd") != "baked" {
		t.Errorf("it did more than report: %v", err)
	}
}

// An image is made of a node, and is baked anew before any machine boots from it. It still belongs
// to that node: what the ledger says of this node says nothing of the machines that boot from the
// image. systemd's text for an absent machine-id is no id either. The lines that keep it:
// pkg/reconcile/ownership/commit.go, Commit (Machine); pkg/host/machine_id.go,
// MachineID.
func TestAnImageOfANodeStaysThatNodes(t *testing.T) {
	root := t.TempDir()
	for content, id := range map[string]string{"empty": "", "not yet": "uninitialized\n"} {
		hostroot.Put(t, root, "/etc/machine-id", "one\n")
		mustConverge(t, root, file("/etc/motd", "node "+content))
		hostroot.Put(t, root, "/etc/machine-id", id)
		mustConverge(t, root, file("/etc/motd", "baked "+content))
		led, err := onRoot(root).Session().LoadLedger()
		if err != nil || led.Head().Machine != "one" {
			t.Errorf("%s: the ledger is of %q (%v)", content, led.Head().Machine, err)
		}
	}
}
