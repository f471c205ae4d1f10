package e2e

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/vm"
)

// firstBoots has the tests of a first boot.
var firstBoots = []struct {
	name  string
	prove func(*testing.T, way, vm.Disk)
}{
	{"alone", alone},
	{"reboot", rebooted},
	{"pods", pods},
	{"cut", powerCuts},
}

// A machine that boots its own kernel and has no file of ours becomes a node at its first boot.
// This holds for each of the ways, whatever happens to the machine meanwhile. With all tests, two
// ways run at once on two processors: use -parallel 1 to measure times.
func TestImages(t *testing.T) {
	t.Parallel()
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			if w.name != "http" {
				images(t)
			}
			if wanted() {
				t.Parallel()
			}
			disk := w.image(t)
			for _, proof := range firstBoots {
				t.Run(proof.name, func(t *testing.T) {
					if proof.name != "alone" {
						images(t)
					}
					proof.prove(t, w, disk)
				})
			}
		})
	}
}

// wanted says whether the tests may take the minutes of whole machines.
func wanted() bool { return os.Getenv("NETWRIGHT_IMAGES") != "" }

// images skips a test unless the tests of first boots were requested, since each boots a machine of
// its own at least once.
func images(t testing.TB) {
	t.Helper()
	if !wanted() {
		t.Skip("boots whole machines, minutes each: make test-images")
	}
}

// A machine without disturbance becomes a node by what its cloud-init ran, and requests no more
// than it needs.
func alone(t *testing.T, w way, disk vm.Disk) {
	first := w.outside(t, disk, freshStore(t, freshSpec))
	first.Every = installed + w.knows + freshCheck + whole
	boot := vm.Run(t, first.Options)[0]
	first.asked(t)
	up(t, "left alone", boot)
}

// A machine reboots during its first converge. It goes on after the reboot, and ends like a machine
// without disturbance.
func rebooted(t *testing.T, w way, disk vm.Disk) {
	// The documents have one module more than an image would have, and at the first boot its load
	// does not end.
	first := w.outside(t, disk, freshStore(t, strings.Replace(freshSpec, "      modules:\n", "      modules:\n      - {name: ipvlan, why: it holds the converge up}\n", 1)))
	first.Cloud.Early = `
[ ! -e /var/lib/rebooted ] || exit 0
mkdir -p /run/systemd/system/modprobe@ipvlan.service.d
printf '[Service]\nExecStartPre=/bin/sh -c "touch /run/held; sleep infinity"\n' >/run/systemd/system/modprobe@ipvlan.service.d/held.conf
until [ -e /run/held ]; do sleep 0.1; done
systemctl show -P ActiveState netwright-agent >/var/lib/rebooted
sync
systemctl reboot`
	first.Every = "echo \"rebooted while the agent was $(cat /var/lib/rebooted)\"\n" + untilReady + "grep -q '^ipvlan ' /proc/modules\n" + freshCheck + whole
	boot := vm.Run(t, first.Options)[0]
	if !strings.HasPrefix(boot.Output, "rebooted while the agent was activating") {
		t.Errorf("the reboot was not in the middle of the converge:\n%s", boot.Output)
	}
	up(t, "the boot after a reboot in the middle", boot)
}

// The machine's containerd makes a pod. That pod and a pod of a node that boots beside the machine
// reach each other.
func pods(t *testing.T, w way, disk vm.Disk) {
	ctx, s := context.WithoutCancel(t.Context()), freshStore(t, bridgeSpec)
	first := w.outside(t, disk, s)
	n := first.Fabric.Node(t, options(t, s, "node-2", "10.77.0.12", node.Options{}))
	n.Must(ctx, "netwright", "--once")
	pod := n.AddPod(ctx, "pod", node.PodOptions{})
	first.Payload = map[string]string{"pause.tar": pauseImage(t), "run-pod": sandboxRequest(t)}
	first.Every = untilReady + `
ctr -n k8s.io images import pause.tar
for name in $(containerd config dump | sed -n 's/.*sandbox_image = "\(.*\)"/\1/p'); do ctr -n k8s.io images tag localhost/pause:1 $name || test $name = localhost/pause:1; done
until curl -sS --http2-prior-knowledge --unix-socket /run/containerd/containerd.sock -H 'content-type: application/grpc' -H 'te: trailers' \
	--data-binary @run-pod -D /tmp/answer -o /tmp/made http://localhost/runtime.v1.RuntimeService/RunPodSandbox && test -s /tmp/made; do
	grep -i grpc-message /tmp/answer || true
	sleep 5
done
pod=$(ls /run/netns | head -1)
ip netns exec $pod ip -br address show eth0
ip netns exec $pod ping -c3 -w60 ` + pod.Addresses[0].String() + `
ip route get ` + pod.Addresses[0].String()
	boot := vm.Run(t, first.Options)[0]
	if !strings.Contains(boot.Output, "3 received") || !strings.Contains(boot.Output, "10.244.1.") {
		t.Errorf("the pods do not reach each other:\n%s", boot.Output)
	}
	t.Log(boot.Output)
}
