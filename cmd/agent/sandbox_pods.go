package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"time"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/verify/testpod"
)

// provePods adds two pods as a container runtime does, with the CNI conf and the plugins that are
// installed now. Each pod pings the other pod, its gateway and the node's address on the uplink. It
// removes the pods before it returns.
func (o *runOptions) provePods(ctx context.Context, opt host.Options, n *config.Node) (err error) {
	if net, ok := network.Of(n); ok && net.Conf.Writer != network.WriterNetwright {
		fmt.Fprintf(o.f.Out, "\nNo pods are tried: the CNI conf of %s comes from elsewhere (%s), and nobody writes it "+
			"in a sandbox.\n", net.Name, net.Conf.Writer)
		return nil
	}
	h, err := host.Open(ctx, opt)
	if err != nil {
		return fmt.Errorf("look at the host: %w", err)
	}
	defer func() { err = errors.Join(err, h.Close()) }()

	var pods []*testpod.Pod
	defer func() {
		// removed also where ctx has ended
		for _, p := range slices.Backward(pods) {
			err = errors.Join(err, p.Remove(context.WithoutCancel(ctx)))
		}
	}()
	confDir, binDirs := model.CNIDirs(n, h.Live.Facts)
	for _, pod := range []string{"pod-1", "pod-2"} {
		p, err := testpod.Add(ctx, h, testpod.Options{Name: pod, ConfDir: confDir, BinDirs: binDirs})
		if errors.Is(err, testpod.ErrNoConf) {
			fmt.Fprintf(o.f.Out, "\nNo pods are tried: there is no CNI conf in %s yet, since something that it needs is "+
				"waiting or has failed.\n", confDir)
			return nil
		}
		if err != nil {
			return err
		}
		pods = append(pods, p)
	}
	fmt.Fprintf(o.f.Out, "\nTwo pods, added as a runtime does by %s:\n", pods[0].ConfFile)
	for i, p := range pods {
		if err := pingAll(ctx, o.f.Out, p, pods[1-i], h.Live.Facts); err != nil {
			return err
		}
	}
	return nil
}

// pingAll makes a pod ping the other pod, its gateways and the node's addresses on the uplink, in
// each address family that the pod has.
func pingAll(ctx context.Context, out io.Writer, p, other *testpod.Pod, facts *host.Facts) error {
	type target struct {
		what string
		addr netip.Addr
	}
	var targets []target
	for _, a := range other.Addresses {
		targets = append(targets, target{other.Name, a.Addr()})
	}
	for _, gw := range p.Gateways {
		targets = append(targets, target{"gateway", gw})
	}
	for _, link := range facts.Links {
		for _, a := range link.Addresses {
			if link.Name == facts.Uplink && !a.Addr().IsLinkLocalUnicast() {
				targets = append(targets, target{"node's " + link.Name, a.Addr()})
			}
		}
	}
	for _, to := range targets {
		from := p.Address(to.addr)
		if !from.IsValid() {
			continue
		}
		took, err := p.Ping(ctx, to.addr)
		if err != nil {
			return fmt.Errorf("ping the %s: %w", to.what, err)
		}
		fmt.Fprintf(out, "  ✓ %s  %-15s → %-11s %-15s %8s\n", p.Name, from, to.what, to.addr,
			took.Round(10*time.Microsecond))
	}
	return nil
}
