package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/verify"
)

// provePods adds two pods as a runtime would, by the conf and the plugins that
// are now in place, and lets each ping the other and the gateway.
func provePods(ctx context.Context, s streams, opt host.Options, n *config.Node) (err error) {
	h, err := host.Open(ctx, opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()

	var pods []*verify.Pod
	defer func() {
		// Taken back also when ctx is what ended.
		for _, p := range pods {
			err = errors.Join(err, p.Remove(context.WithoutCancel(ctx)))
		}
	}()
	confDir, binDirs := model.CNIDirs(n, h.Facts())
	for _, name := range []string{"pod-1", "pod-2"} {
		p, err := verify.AddPod(ctx, h, verify.PodOptions{Name: name, ConfDir: confDir, BinDirs: binDirs})
		if errors.Is(err, verify.ErrNoConf) {
			fmt.Fprintf(s.out, "\nNo pods: there is no CNI conf in %s yet, which is for %s to write.\n", confDir, n.Networking.Name())
			return nil
		}
		if err != nil {
			return err
		}
		pods = append(pods, p)
	}
	fmt.Fprintf(s.out, "\nTwo pods, by %s:\n", pods[0].ConfFile)
	for i, p := range pods {
		other := pods[1-i]
		for _, a := range other.Addresses {
			if err := showPing(ctx, s, p, other.Name, a.Addr()); err != nil {
				return err
			}
		}
		for _, gw := range p.Gateways {
			if err := showPing(ctx, s, p, "gateway", gw); err != nil {
				return err
			}
		}
	}
	return nil
}

func showPing(ctx context.Context, s streams, from *verify.Pod, name string, to netip.Addr) error {
	took, err := from.Ping(ctx, to)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "  ✓ %s (%s) → %s (%s)  %s\n", from.Name, sameFamily(from, to), name, to, took.Round(10*time.Microsecond))
	return nil
}

// sameFamily is the pod's address from which it talks to another.
func sameFamily(p *verify.Pod, to netip.Addr) netip.Addr {
	for _, a := range p.Addresses {
		if a.Addr().Is4() == to.Is4() {
			return a.Addr()
		}
	}
	return netip.Addr{}
}
