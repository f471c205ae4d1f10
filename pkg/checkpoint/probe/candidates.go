package probe

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/host"
)

// imds is where instances read their metadata; AWS, GCE, Azure and OpenStack alike.
const imds = Probe(tcpProbe + ":169.254.169.254:80")

// clouds are the vendors, as the firmware names them, whose machines have a metadata service:
// elsewhere nobody would answer, and a cold boot would wait for that.
var clouds = []string{"Amazon EC2", "Xen", "Google", "Microsoft Corporation", "OpenStack Foundation", "DigitalOcean",
	"Hetzner", "Alibaba Cloud"}

const vendorFile = "/sys/class/dmi/id/sys_vendor"

// kubeconfigs are where kubelet's is: kOps, kubeadm, EKS.
var kubeconfigs = []string{"/var/lib/kubelet/kubeconfig", "/etc/kubernetes/kubelet.conf",
	"/var/lib/kubelet/kubelet.conf"}

// candidates are the probes that are worth trying where the user names none: the default routes and
// their next hops, the name servers, the API server and the instance's metadata.
//
// Of a route with several next hops (ECMP) each is probed as a single gateway is, and each that
// answered before must answer after the change: the kernel goes on sending its share of the flows
// to one that is dead (net.ipv4.fib_multipath_use_neigh is 0), so a node with one of two is cut off
// from half of the world. https://docs.kernel.org/networking/ip-sysctl.html
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

// resolvers are the name servers that the node asks. systemd-resolved answers on 127.0.0.53 from
// its cache when the network is long gone, so those are asked that it asks itself
// (systemd-resolved.service(8), /run/systemd/resolve/resolv.conf).
func resolvers(read func(string) ([]byte, error)) []string {
	conf, err := read("/etc/resolv.conf")
	if err != nil {
		return nil
	}
	servers := nameservers(conf)
	if slices.Contains(servers, "127.0.0.53") {
		if conf, err := read("/run/systemd/resolve/resolv.conf"); err == nil && len(nameservers(conf)) > 0 {
			return nameservers(conf)
		}
	}
	return servers
}

func nameservers(conf []byte) (out []string) {
	for line := range strings.Lines(string(conf)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "nameserver" {
			continue
		}
		if _, err := netip.ParseAddr(fields[1]); err == nil {
			out = append(out, fields[1])
		}
	}
	return out
}

// apiServer is the address of the first cluster of a kubeconfig, "" if it has none. A node's has
// one.
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
