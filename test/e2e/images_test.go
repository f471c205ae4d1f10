package e2e

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/test/node"
	"github.com/netwright/netwright/test/vm"
)

// images skips a test of images and first boots where they were not asked for: each boots a machine of its own, once or more.
func images(t testing.TB) {
	t.Helper()
	if os.Getenv("NETWRIGHT_IMAGES") == "" {
		t.Skip("boots whole machines, minutes each: make test-images")
	}
}

// A fresh machine that is told to reboot while its first converge runs goes on after it, and is as one that was left alone.
func TestImagesRebootInTheMiddle(t *testing.T) {
	images(t)
	f := serveFresh(t, freshStore(t, freshSpec))
	cloud := f.cloud(t)
	cloud.Early = `
[ ! -e /var/lib/rebooted ] || exit 0
until [ -e /etc/sysctl.d/99-netwright.conf ]; do sleep 0.05; done
date >/var/lib/rebooted
sync
systemctl reboot`
	boots := vm.Run(t, vm.Options{Fabric: f.fabric, Address: freshAddress, Cloud: cloud, Every: "test -s /var/lib/rebooted\n" + untilReady + freshCheck})
	if !strings.Contains(boots[0].Output, "containerd has the conf") {
		t.Errorf("after the reboot:\n%s", boots[0].Output)
	}
}

// untilReady waits for the agent, which a boot that goes on with another's work starts after the boot itself is done.
const untilReady = "until systemctl -q is-active netwright-agent; do sleep 1; done\n"

// whole says that every file of ours is whole: programs run, and nothing is empty.
const whole = `
netwright version
for plugin in bridge host-local loopback; do CNI_COMMAND=VERSION /usr/lib/cni/$plugin </dev/null | jq -e .cniVersion >/dev/null; done
test -z "$(find /etc/netwright /etc/cni /etc/systemd/system/netwright* /etc/sysctl.d/99-netwright.conf /etc/modules-load.d /var/lib/netwright /usr/lib/cni -type f -empty)"
for unit in agent recover undo; do systemctl is-enabled netwright-$unit.service >/dev/null; done
until [ ! -e /etc/systemd/system/netwright-bootstrap.service ]; do sleep 1; done
test ! -e /var/lib/netwright/bootstrap
`

// A machine that loses power at any moment of its first boot becomes a node at its second all the same. NETWRIGHT_CUTS is how many moments are drawn
// (default 10), NETWRIGHT_SEED what draws them.
func TestImagesPowerCut(t *testing.T) {
	images(t)
	f := serveFresh(t, freshStore(t, freshSpec))
	boot := vm.Run(t, vm.Options{Fabric: f.fabric, Address: freshAddress, Cloud: f.cloud(t), Every: freshCheck + whole})[0]
	timed(t, "left alone", boot)
	seed, cuts := setting(t, "NETWRIGHT_SEED", int(time.Now().Unix())), setting(t, "NETWRIGHT_CUTS", 10)
	t.Logf("NETWRIGHT_SEED=%d draws %d moments of the %s until all is up", seed, cuts, boot.Begun.Round(time.Second))
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	for range cuts {
		cut := time.Duration(random.Float64() * float64(boot.Begun))
		t.Run("after "+cut.Round(time.Second/10).String(), func(t *testing.T) {
			boot := vm.Run(t, vm.Options{Fabric: f.fabric, Address: freshAddress, Cloud: f.cloud(t), Cut: cut, Every: untilReady + freshCheck + whole})[0]
			timed(t, "the boot after", boot)
		})
	}
}

func setting(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s=%q is no number", name, text)
	}
	return n
}

// As on EC2: the firmware says so, the agent comes from a mirror, the documents from a bucket, and the credentials for it from the instance's metadata.
// The user-data itself comes on cloud-init's own disk: its data source for EC2 wants the DHCP of EC2.
func TestImagesFromS3(t *testing.T) {
	images(t)
	fabric := node.NewFabric(t)
	f := serveFromS3(t, fabric, freshStore(t, freshSpec))
	cloud := &vm.Cloud{Disk: vm.Stock(t), Hostname: "node-1", UserData: f.userData}
	boot := vm.Run(t, vm.Options{Fabric: fabric, Address: freshAddress, Vendor: "Amazon EC2", Product: "m5.large", Cloud: cloud, Every: `
netwright facts -o json | jq -er .instance.id
netwright facts -o json | jq -er .cloud` + freshCheck})[0]
	for _, want := range []string{"i-0123456789abcdef0\n", "aws\n"} {
		if !strings.Contains(boot.Output, want) {
			t.Errorf("the machine does not know that it is %s:\n%s", strings.TrimSpace(want), boot.Output)
		}
	}
	f.check(t)
	timed(t, "stock machine, S3 and instance metadata", boot)
}

// A pod of the fresh machine, made by its containerd, and a pod of a node that boots beside it reach each other.
func TestImagesPods(t *testing.T) {
	images(t)
	ctx := context.WithoutCancel(t.Context())
	s := freshStore(t, bridgeSpec)
	f := serveFresh(t, s)
	n := f.fabric.Node(t, options(t, s, "node-2", "10.77.0.12", node.Options{}))
	n.Must(ctx, "netwright", "--once")
	pod := n.AddPod(ctx, "pod", node.PodOptions{})
	boots := vm.Run(t, vm.Options{Fabric: f.fabric, Address: freshAddress, Cloud: f.cloud(t),
		Payload: map[string]string{"pause.tar": pauseImage(t), "run-pod": sandboxRequest(t)},
		Every: untilReady + `
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
ip route get ` + pod.Addresses[0].String()})
	if !strings.Contains(boots[0].Output, "3 received") || !strings.Contains(boots[0].Output, "10.244.1.") {
		t.Errorf("the pods do not reach each other:\n%s", boots[0].Output)
	}
	t.Log(boots[0].Output)
}
