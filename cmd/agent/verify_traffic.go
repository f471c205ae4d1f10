package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/host/ipc"
	"github.com/netwright/netwright/pkg/problem"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/pkg/verify"
	"github.com/netwright/netwright/pkg/verify/testpod"
	"github.com/netwright/netwright/pkg/verify/traffic"
)

// check refuses flags that exclude each other.
func (o *verifyOptions) check() error {
	switch {
	case (len(o.peers) > 0 || len(o.services) > 0) && !o.traffic:
		return problem.Usage.Errorf("--peer and --service need --traffic: they are reached from a pod, which it adds")
	case o.serve && o.traffic:
		return problem.Usage.Errorf("--serve and --traffic exclude each other: the one answers, on another node, what " +
			"the other asks")
	case o.listen != defaultListen && !o.serve:
		return problem.Usage.Errorf("--listen needs --serve")
	case (o.serve || o.traffic) && o.Host.Root != "" && o.Host.Root != "/":
		return problem.Usage.Errorf("--traffic and --serve are for a running node: an image has no network")
	}
	return nil
}

// defaultListen is the default of --listen. Neither Kubernetes nor a network uses this port.
const defaultListen = ":10790"

// reachedAt returns the address at which other nodes reach this one: its address in the documents,
// or else one of the link with the default route. It is an IPv6 address where pods have no IPv4.
func reachedAt(n *config.Node, f *host.Facts) netip.Addr {
	six := len(n.PodCIDR) > 0 && !slices.ContainsFunc(n.PodCIDR, func(c netip.Prefix) bool { return c.Addr().Is4() })
	candidates := slices.Clone(n.Address)
	for _, l := range f.Links {
		for _, a := range l.Addresses {
			if l.Name == f.Uplink && a.Addr().IsGlobalUnicast() {
				candidates = append(candidates, a.Addr())
			}
		}
	}
	for _, a := range append(candidates, f.Address) {
		if a.Is4() != six {
			return a
		}
	}
	return f.Address
}

func (o *verifyOptions) wanted(l *looked) (t traffic.Options, err error) {
	t = traffic.Options{ConfDir: l.want.Conf.Dir, BinDirs: l.want.Conf.BinDirs, Unmasqueraded: l.desired.Node.NonMasqueradeCIDR,
		Resolvers: l.host.Live.Facts.Kubelet.ClusterDNS}
	for _, task := range l.tasks {
		if table, ok := task.(tasks.Table); ok && masquerades(table.Table) {
			t.Masquerades = true
		}
	}
	if t.Peers, err = addresses("--peer", o.peers); err != nil {
		return t, err
	}
	t.Services, err = addresses("--service", o.services)
	return t, err
}

func masquerades(t firewall.Table) bool {
	return slices.ContainsFunc(t.Chains, func(c firewall.Chain) bool {
		return slices.ContainsFunc(c.Rules,
			func(r firewall.NFRule) bool { return strings.HasPrefix(r.Verdict, "masquerade") })
	})
}

func addresses(flag string, values []string) (out []netip.AddrPort, err error) {
	for _, v := range values {
		at, err := netip.ParseAddrPort(v)
		if err != nil {
			return nil, fmt.Errorf("%s %s: expected an address and a port, such as 10.0.0.12:10790 or [fd00::12]:10790",
				flag, v)
		}
		out = append(out, at)
	}
	return out, nil
}

// prove proves the network with packets. A lock makes sure that only one proof runs on this host at
// a time.
func (o *verifyOptions) prove(ctx context.Context, l *looked) ([]verify.Result, error) {
	if l.want.Conf == nil {
		return []verify.Result{{Check: "pods", State: verify.NotApplicable,
			Seen: "kubelet itself adds the pods of " + l.want.Network.Name + ", so the agent cannot test them"}}, nil
	}
	if u := l.untestable; u != nil {
		return []verify.Result{{Check: "pods", State: verify.NotApplicable,
			Seen: "packets between test pods cannot test this network: " + u.Why, Next: "use instead: " +
				u.Instead}}, nil
	}
	t, err := o.wanted(l)
	if err != nil {
		return nil, err
	}
	unlock, err := ipc.Lock(ctx, l.pass.Host.Files(), traffic.ProofLock,
		func(who ipc.LockOwner) { fmt.Fprintf(o.Err, "waiting for another proof to end: %s\n", who) })
	if err != nil {
		return nil, err
	}
	defer unlock()
	return traffic.Prove(ctx, l.host, t), nil
}

// answer answers the proofs of other nodes until the user interrupts it.
func (o *verifyOptions) answer(ctx context.Context, l *looked) error {
	if l.want.Conf == nil {
		return problem.Usage.Errorf("--serve: kubelet itself adds the pods of %s", l.want.Network.Name)
	}
	if u := l.untestable; u != nil {
		return problem.Usage.Errorf("--serve: its pod cannot answer other nodes: %s; use instead: %s",
			u.Why, u.Instead)
	}
	listen := o.listen
	if port, ok := strings.CutPrefix(listen, ":"); ok {
		listen = net.JoinHostPort(reachedAt(l.desired.Node, l.host.Live.Facts).String(), port)
	}
	at, err := netip.ParseAddrPort(listen)
	if err != nil {
		return problem.Usage.Errorf("--listen %s: expected an address of this node and a port, or :PORT", o.listen)
	}
	t, err := o.wanted(l)
	if err != nil {
		return err
	}
	unlock, err := ipc.Lock(ctx, l.pass.Host.Files(), traffic.EndpointLock,
		func(who ipc.LockOwner) { fmt.Fprintf(o.Err, "waiting for another endpoint to end: %s\n", who) })
	if err != nil {
		return err
	}
	defer unlock()
	return traffic.Serve(ctx, l.host, t, at, func(at netip.AddrPort, pod *testpod.Pod) {
		fmt.Fprintf(o.Out, "answering as a pod at %s; on another node: agent verify --traffic --peer %s\n",
			pod.Addresses[0].Addr(), at)
	})
}
