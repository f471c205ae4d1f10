package probe

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host"
)

// imds is the metadata service of an instance. It has the same address on AWS, GCE, Azure and
// OpenStack.
const imds = Probe(tcpProbe + ":169.254.169.254:80")

// clouds are the vendors, by the names in the firmware, whose machines have a metadata service. On
// other machines nothing would answer, and a cold boot would wait for the timeout.
var clouds = []string{"Amazon EC2", "Xen", "Google", "Microsoft Corporation", "OpenStack Foundation", "DigitalOcean",
	"Hetzner", "Alibaba Cloud"}

const vendorFile = "/sys/class/dmi/id/sys_vendor"

// kubeconfigs are the paths of kubelet's kubeconfig: kOps, kubeadm, EKS.
var kubeconfigs = []string{"/var/lib/kubelet/kubeconfig", "/etc/kubernetes/kubelet.conf",
	"/var/lib/kubelet/kubelet.conf"}

// candidates returns the probes to try if the user names none: the default routes and their next
// hops, the name servers, the API server and the instance's metadata.
//
// Each next hop of a multipath route (ECMP) gets the probes of a single gateway, and each that
// answered before the change must answer after it. The kernel goes on sending a part of the flows
// to a dead next hop (net.ipv4.fib_multipath_use_neigh is 0), so a node that lost one of two cannot
// reach half of its destinations.
// https://docs.kernel.org/networking/ip-sysctl.html
func candidates(ctx context.Context, h *host.Host) ([]Probe, error) {
	routes, err := h.Live.Net.DefaultRoutes(ctx)
	if err != nil {
		return nil, fmt.Errorf("find the probes of a checkpoint: %w", err)
	}
	var out []Probe
	add := func(p Probe) {
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	for _, r := range routes {
		add(Probe(routeProbe + ":" + r.Dst.String()))
		if !r.Gateway.IsValid() {
			continue
		}
		add(hopProbe(r))
		gateway := r.Gateway
		if gateway.IsLinkLocalUnicast() {
			gateway = gateway.WithZone(r.Link)
		}
		add(Probe(pingProbe + ":" + gateway.String()))
		add(neighbour(fullProbe, r.Link, r.Gateway))
	}
	for _, server := range resolvers(h.Live.Files.ReadFile) {
		add(Probe(dnsProbe + ":" + server))
	}
	for _, path := range kubeconfigs {
		if conf, err := h.Live.Files.ReadFile(path); err == nil {
			if address := apiServer(conf); address != "" {
				add(Probe(tcpProbe + ":" + address))
				add(Probe(httpsProbe + ":" + address))
				add(Probe(apiProbe + ":" + path))
			}
			break
		}
	}
	if vendor, err := h.Live.Files.ReadFile(vendorFile); err == nil &&
		slices.Contains(clouds, strings.TrimSpace(string(vendor))) {
		add(imds)
	}
	return out, nil
}

// apiServer returns the address of the first cluster in a kubeconfig, or "". A node's kubeconfig
// has one cluster.
func apiServer(conf []byte) string {
	for line := range strings.Lines(string(conf)) {
		value, ok := strings.CutPrefix(strings.TrimSpace(line), "server:")
		if !ok {
			continue
		}
		u, err := url.Parse(strings.Trim(strings.TrimSpace(value), `"'`))
		if err != nil || u.Hostname() == "" {
			continue
		}
		return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "443"))
	}
	return ""
}
