package node

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"github.com/netwright/netwright/test/assets"
	"github.com/netwright/netwright/test/netns"
)

// PodOptions are the properties of a pod. The zero value is a pod as kubelet's runtime makes it.
type PodOptions struct {
	ConfDir string     // where the network's configuration lies; default /etc/cni/net.d
	BinDir  string     // where its plugins lie; default /opt/cni/bin
	Ports   []HostPort // what portmap is asked for

	Bandwidth Bandwidth // what plugin bandwidth is asked for
}

// Bandwidth is what a runtime passes on of a pod's annotations kubernetes.io/ingress-bandwidth and
// egress-bandwidth: bits a second, and bits at once.
type Bandwidth struct {
	IngressRate  uint64 `json:"ingressRate"`
	IngressBurst uint64 `json:"ingressBurst"`
	EgressRate   uint64 `json:"egressRate"`
	EgressBurst  uint64 `json:"egressBurst"`
}

// HostPort is a port of the node that leads to a port of the pod.
type HostPort struct {
	HostPort      int    `json:"hostPort"`
	ContainerPort int    `json:"containerPort"`
	Protocol      string `json:"protocol"` // "tcp" or "udp"
}

// Pod is a network namespace of a node that the node's CNI plugins attached, as they do for a
// container runtime. No program runs in it yet.
type Pod struct {
	Name      string
	Addresses []netip.Addr // as the plugins answered, in their order
	Result    string       // what they answered, JSON

	node    *Node
	network string
	options PodOptions
}

// AddPod makes a namespace and attaches it by CNI ADD (cnitool) to the network that a runtime would
// choose: the first conf by name.
func (n *Node) AddPod(ctx context.Context, name string, options PodOptions) *Pod {
	n.t.Helper()
	if options.ConfDir == "" {
		options.ConfDir = "/etc/cni/net.d"
	}
	if options.BinDir == "" {
		options.BinDir = "/opt/cni/bin"
	}
	network, err := n.cniNetwork(options.ConfDir)
	if err != nil {
		n.t.Fatalf("node %s: adding pod %s: %v", n.name, name, err)
	}
	p := &Pod{Name: name, node: n, network: network, options: options}
	n.Copy(assets.Cnitool(n.t), "/run/lab/cnitool", 0o755)
	n.Must(ctx, "ip", "netns", "add", name)
	result := p.cnitool(ctx, "add")
	if result.Code != 0 {
		n.t.Fatalf("node %s: adding pod %s: %s%s", n.name, name, result.Stdout, result.Stderr)
	}
	var answer struct {
		IPs []struct{ Address netip.Prefix }
	}
	if err := json.Unmarshal([]byte(result.Stdout), &answer); err != nil {
		n.t.Fatalf("node %s: pod %s: reading the plugins' answer: %v\n%s", n.name, name, err, result.Stdout)
	}
	p.Result = result.Stdout
	for _, ip := range answer.IPs {
		p.Addresses = append(p.Addresses, ip.Address.Addr())
	}
	return p
}

// cniNetwork is the name of the network whose configuration comes first.
func (n *Node) cniNetwork(confDir string) (string, error) {
	entries, err := os.ReadDir(n.Path(confDir))
	if err != nil {
		return "", fmt.Errorf("reading the CNI configurations: %w", err)
	}
	for _, entry := range entries { // sorted by name
		if !slices.Contains([]string{".conflist", ".conf", ".json"}, filepath.Ext(entry.Name())) {
			continue
		}
		content, err := os.ReadFile(filepath.Join(n.Path(confDir), entry.Name()))
		if err != nil {
			return "", fmt.Errorf("reading a CNI configuration: %w", err)
		}
		var conf struct{ Name string }
		if err := json.Unmarshal(content, &conf); err != nil {
			return "", fmt.Errorf("reading %s: %w", entry.Name(), err)
		}
		return conf.Name, nil
	}
	return "", fmt.Errorf("no CNI configuration in %s", confDir)
}

func (p *Pod) cnitool(ctx context.Context, verb string) Result {
	p.node.t.Helper()
	env := []string{"CNI_PATH=" + p.options.BinDir, "NETCONFPATH=" + p.options.ConfDir,
		"CNI_ARGS=IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=" + p.Name} // as kubelet's runtime says who it is
	capabilities := map[string]any{}
	if len(p.options.Ports) > 0 {
		capabilities["portMappings"] = p.options.Ports
	}
	if p.options.Bandwidth != (Bandwidth{}) {
		capabilities["bandwidth"] = p.options.Bandwidth
	}
	if len(capabilities) > 0 {
		text, err := json.Marshal(capabilities)
		if err != nil {
			p.node.t.Fatalf("writing what pod %s asks for: %v", p.Name, err)
		}
		env = append(env, "CAP_ARGS="+string(text))
	}
	return p.node.Run(ctx, "env", append(env, "/run/lab/cnitool", verb, p.network, "/run/netns/"+p.Name)...)
}

// Check is CNI CHECK: it fails if the plugins find the pod changed.
func (p *Pod) Check(ctx context.Context) Result {
	p.node.t.Helper()
	return p.cnitool(ctx, "check")
}

// Delete is CNI DEL. Then it removes the namespace.
func (p *Pod) Delete(ctx context.Context) {
	p.node.t.Helper()
	if result := p.cnitool(ctx, "del"); result.Code != 0 {
		p.node.t.Fatalf("node %s: deleting pod %s: %s%s", p.node.name, p.Name, result.Stdout, result.Stderr)
	}
	p.node.Must(ctx, "ip", "netns", "del", p.Name)
}

// Run runs a program of the node in the pod's network namespace, as Node.Run does.
func (p *Pod) Run(ctx context.Context, command string, args ...string) Result {
	p.node.t.Helper()
	return p.node.Run(ctx, "ip", append([]string{"netns", "exec", p.Name, command}, args...)...)
}

// Must runs a program in the pod that must succeed, and returns its standard output.
func (p *Pod) Must(ctx context.Context, command string, args ...string) string {
	p.node.t.Helper()
	return p.node.Must(ctx, "ip", append([]string{"netns", "exec", p.Name, command}, args...)...)
}

// Ping sends pings until an answer comes, for a minute at most. The program ping ends when the
// kernel reports that nobody is reached. A busy machine reports that while a neighbour is slow to
// answer, so Ping repeats it.
func (p *Pod) Ping(ctx context.Context, args ...string) {
	p.node.t.Helper()
	const until = `for i in $(seq 60); do said=$(ping -c1 -W1 "$@" 2>&1) && exit; sleep 1; done; echo "$said"; exit 1`
	p.Must(ctx, "sh", append([]string{"-c", until, "ping"}, args...)...)
}

// Netns is the path of the pod's network namespace, as this machine sees it.
func (p *Pod) Netns() string { return p.node.Path("/run/netns/" + p.Name) }

// Do calls do in the pod's network namespace. A test listens or dials there with Go's own sockets,
// and sees the address of the other side.
func (p *Pod) Do(do func() error) error { return netns.In(p.Netns(), do) }
