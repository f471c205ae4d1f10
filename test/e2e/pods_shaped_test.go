package e2e

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/test/node"
)

// The constants limit what a pod may send and receive: bits in a second, and bits in a burst.
const (
	shapedRate  = 8_000_000
	shapedBurst = 800_000
	shapedBytes = 3_000_000
)

// A pod's traffic is as slow as its annotations kubernetes.io/ingress-bandwidth and
// egress-bandwidth ask, in both directions. The traffic of the pod beside it is not shaped. The
// result does not depend on the machine's speed: shaped traffic cannot arrive sooner, and tc shows
// the shaping.
func TestPodsTrafficIsShaped(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	_, nodes := twoNodes(t, bridgeSpec)
	n := nodes[0]
	n.Shell(ctx, "sed -i 's/^    arch:/    members: [bandwidth, bridge, host-local, loopback, portmap]\\n&/' /srv/netwright/*/cluster.yaml; netwright --once")
	shaped := n.AddPod(ctx, "shaped", node.PodOptions{Bandwidth: node.Bandwidth{
		IngressRate: shapedRate, IngressBurst: shapedBurst, EgressRate: shapedRate, EgressBurst: shapedBurst}})
	free := n.AddPod(ctx, "free", node.PodOptions{})
	if shapers := n.Must(ctx, "tc", "qdisc", "show"); strings.Count(shapers, "qdisc tbf") != 2 {
		t.Errorf("two shapers are expected, for what comes and what goes:\n%s", shapers)
	}
	least := time.Duration(shapedBytes*8-shapedBurst) * time.Second / shapedRate
	for name, way := range map[string][2]*node.Pod{"to the pod": {free, shaped}, "from the pod": {shaped, free}} {
		if took := carry(t, way[0], way[1], shapedBytes); took < least {
			t.Errorf("%s: %d bytes took %s, and at %d bits a second it is %s at least", name, shapedBytes, took, shapedRate, least)
		}
	}
	shaped.Delete(ctx)
	if left := n.Must(ctx, "tc", "qdisc", "show"); strings.Contains(left, "qdisc tbf") {
		t.Errorf("shapers are left when the pod has gone:\n%s", left)
	}
}

// carry sends bytes by TCP from one pod to another, and returns the time until the last byte
// arrived.
func carry(t *testing.T, from, to *node.Pod, bytes int64) time.Duration {
	t.Helper()
	at := netip.AddrPortFrom(to.Addresses[0], 80)
	l := listen(t, to, at)
	defer l.Close()
	sent := make(chan error, 1)
	start := time.Now()
	go func() {
		sent <- from.Do(func() error {
			conn, err := net.DialTimeout(network(at), at.String(), time.Minute)
			if err != nil {
				return err
			}
			defer conn.Close()
			_, err = io.CopyN(conn, zeros{}, bytes)
			return err
		})
	}()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	got, err := io.Copy(io.Discard, conn)
	took := time.Since(start)
	if err == nil && got != bytes {
		err = fmt.Errorf("%d bytes came of %d", got, bytes)
	}
	if sendErr := <-sent; err != nil || sendErr != nil {
		t.Fatalf("carry bytes from %s to %s: %v, %v", from.Name, to.Name, err, sendErr)
	}
	return took
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
