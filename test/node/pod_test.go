package node_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/node"
)

const conflist = `{"cniVersion": "1.0.0", "name": "lab", "plugins": [
	{"type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true, "ipam": {"type": "host-local",
		"ranges": [[{"subnet": "10.88.N.0/24"}], [{"subnet": "fd00:88:N::/64"}]],
		"routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}]}},
	{"type": "portmap", "capabilities": {"portMappings": true}}]}`

func TestPodsAcrossNodes(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	fabric := node.NewFabric(t)
	plugins := assets.CNIPlugins(t)
	var nodes []*node.Node
	for i, other := range []int{2, 1} {
		me := fmt.Sprint(i + 1)
		n := fabric.Node(t, node.Options{
			Name: "n" + me, Address: "10.77.0.1" + me,
			Files:  map[string]string{"/etc/cni/net.d/10-lab.conflist": strings.ReplaceAll(conflist, "N", me)},
			Copies: map[string]string{"/opt/cni/bin": plugins},
		})
		n.Shell(ctx, strings.ReplaceAll(`sysctl -q net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
			ip route add 10.88.N.0/24 via 10.77.0.1N
			ip route add fd00:88:N::/64 via fd00:77::1N`, "N", fmt.Sprint(other)))
		nodes = append(nodes, n)
	}
	one := nodes[0].AddPod(ctx, "one", node.PodOptions{})
	two := nodes[1].AddPod(ctx, "two", node.PodOptions{Ports: []node.HostPort{{HostPort: 8080, ContainerPort: 80, Protocol: "tcp"}}})
	if len(one.Addresses) != 2 || len(two.Addresses) != 2 {
		t.Fatalf("addresses are %v and %v, want one of each family", one.Addresses, two.Addresses)
	}
	for _, to := range two.Addresses {
		one.Must(ctx, "ping", "-c1", "-w20", to.String())
	}
	serve(t, two)
	for _, address := range []string{net.JoinHostPort(two.Addresses[0].String(), "80"), net.JoinHostPort(two.Addresses[1].String(), "80"),
		nodes[1].Address() + ":8080", "[" + nodes[1].Address6() + "]:8080"} {
		seen := one.Must(ctx, "curl", "-sS", "--max-time", "20", "http://"+address+"/")
		if seen != one.Addresses[0].String() && seen != one.Addresses[1].String() {
			t.Errorf("at %s the pod is seen as %s, want its own address", address, seen)
		}
	}
	if result := one.Check(ctx); result.Code != 0 {
		t.Errorf("CNI CHECK: %+v", result)
	}
	one.Delete(ctx)
	two.Delete(ctx)
}

// serve tells each client of the pod's port 80 its address.
func serve(t *testing.T, pod *node.Pod) {
	t.Helper()
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, _ := net.SplitHostPort(r.RemoteAddr)
		io.WriteString(w, host)
	})}
	t.Cleanup(func() { server.Close() })
	err := pod.Do(func() error {
		for _, network := range []string{"tcp4", "tcp6"} {
			listener, err := net.Listen(network, ":80")
			if err != nil {
				return err
			}
			go server.Serve(listener)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
