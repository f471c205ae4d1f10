package probe

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// resolvers returns the name servers of the node. systemd-resolved still answers on 127.0.0.53 from
// its cache after the network is lost. So for this address resolvers returns the servers that
// systemd-resolved asks (systemd-resolved.service(8), /run/systemd/resolve/resolv.conf).
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

// newServers returns failures if a name server answered before the change, the node no longer uses
// any that answered, and none of the present ones answers. If one of them answers, the others do
// not matter, because the resolver asks the next one (resolv.conf(5)). A name server that needs
// kubelet does not count before kubelet runs.
func (c *Comparison) newServers(ctx context.Context) Failures {
	answered := func(p Probe) bool { return strings.HasPrefix(string(p), dnsProbe+":") }
	if !slices.ContainsFunc(c.Probes, answered) {
		return nil
	}
	servers := c.servers()
	switch {
	case len(servers) == 0:
		return Failures{{dnsProbe, errors.New("no name server is configured any more")}}
	case len(without(servers, c.Probes)) < len(servers):
		return nil // a server that was probed is still used
	}
	failed := c.Node.Attempt(ctx, servers)
	if len(failed) < len(servers) ||
		slices.ContainsFunc(servers, func(p Probe) bool { return c.Node.withKubelet(ctx, p) }) {
		return nil
	}
	return failed
}

// servers returns the probes of the name servers that the node uses now.
func (c *Comparison) servers() (list []Probe) {
	for _, server := range resolvers(c.Node.Host.Live.Files.ReadFile) {
		list = append(list, Probe(dnsProbe+":"+server))
	}
	return list
}

// withKubelet reports whether a name server is one of the cluster, or has a link-local address as a
// cache on each node has, and kubelet, which starts it, does not run yet.
func (n Prober) withKubelet(ctx context.Context, p Probe) bool {
	kubelet, server := n.Host.Live.Facts.Kubelet, p.target()
	if kubelet.Unit == "" || !server.IsLinkLocalUnicast() && !slices.Contains(kubelet.ClusterDNS, server) {
		return false
	}
	u, err := n.Host.Live.Units.Unit(ctx, kubelet.Unit)
	return err != nil || u.Active != "active"
}

// Warnings returns the name servers that do not answer after the change and did not fail before it.
// They are no failures, because another one answers or kubelet does not run yet. It also warns if
// no peer could be asked.
func (c *Comparison) Warnings(ctx context.Context) (warnings []string) {
	if c.Stated {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, beforeEach, ErrNoAnswer)
	defer cancel()
	for _, f := range c.Node.Attempt(ctx, without(without(c.servers(), c.Probes), c.silent)) {
		text := fmt.Sprintf("name server %s does not answer (%v): each DNS lookup waits for its timeout; "+
			"repair or remove it",
			f.Probe.target(), f.Err)
		if c.Node.withKubelet(ctx, f.Probe) {
			text = fmt.Sprintf("name server %s does not answer yet: it starts after kubelet", f.Probe.target())
		}
		warnings = append(warnings, text)
	}
	if c.unasked != nil {
		warnings = append(warnings, fmt.Sprintf("no peer was asked to knock: %v", c.unasked))
	}
	return warnings
}
