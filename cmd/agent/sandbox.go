package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/host/sandbox"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/statestore"
)

// runSandbox converges in throw-away namespaces: outside it starts itself
// there, inside it sets them up, converges, proves and converges again.
func runSandbox(ctx context.Context, f *flags, s streams) error {
	if os.Getenv(sandbox.Env) != "" {
		if err := sandbox.Enter(); err != nil {
			return err
		}
		return insideSandbox(ctx, f, s)
	}
	w, d, err := f.load(ctx)
	if err != nil {
		return err
	}
	if f.dryRun {
		return runDryRun(ctx, f, s)
	}
	box := sandbox.Config{Hostname: d.Node.Name, Addresses: uplink(d.Node)}
	args := os.Args[1:]
	// Inside, the working directory is another: paths become absolute, the last flag counts.
	if dir, ok := strings.CutPrefix(f.store, "file://"); ok || !strings.Contains(f.store, "://") {
		if dir, err = filepath.Abs(dir); err != nil {
			return fmt.Errorf("find the store: %w", err)
		}
		box.ReadOnly, args = append(box.ReadOnly, dir), append(args, "--store", dir, "--cluster", f.cluster)
	}
	if f.conf != "" {
		conf, err := filepath.Abs(f.conf)
		if err != nil {
			return fmt.Errorf("find the agent's file: %w", err)
		}
		box.ReadOnly, args = append(box.ReadOnly, filepath.Dir(conf)), append(args, "--conf", conf)
	}
	code, err := sandbox.Run(ctx, box, args, s.in, s.out, s.err)
	switch {
	case errors.Is(err, sandbox.ErrUnavailable):
		return stopAtPlan(ctx, f, s, w, d, err)
	case err != nil:
		return err
	case code != exitOK:
		return exit(code)
	}
	return nil
}

// stopAtPlan shows what can be shown where no sandbox can be made. It is an
// error: what was asked for is not proved.
func stopAtPlan(ctx context.Context, f *flags, s streams, w *wired, d *desired.State, why error) error {
	plan, planErr := w.pass.DryRun(ctx, d)
	if plan != nil {
		if err := f.printPlan(s, plan); err != nil {
			return err
		}
	}
	fmt.Fprintf(s.err, "\nThis is the plan for this host, and the run stops here: %v. Nothing was changed.\n", why)
	if plan == nil {
		return planErr
	}
	return exit(exitError)
}

// insideSandbox is a whole life of an agent: converge, pods, converge again.
func insideSandbox(ctx context.Context, f *flags, s streams) error {
	w, err := f.wire(zap.NewNop())
	if err != nil {
		return err
	}
	w.pass.Host.Sandbox = true
	if err := w.converge(ctx, f, s); err != nil || !f.text() {
		return err
	}
	d, err := desired.Load(ctx, w.store, w.sel, statestore.Revision{})
	if err != nil {
		return err
	}
	if err := provePods(ctx, s, w.pass.Host, d.Node); err != nil {
		return fmt.Errorf("prove that pods can talk: %w", err)
	}
	fmt.Fprintln(s.out, "\nOnce more, on the node as it is now:")
	w.again = true
	if err := w.converge(ctx, f, s); err != nil {
		return err
	}
	fmt.Fprintln(s.out, "\nAll of this was in namespaces that are gone now: this host is as it was.")
	return nil
}

// converge makes passes in the sandbox, where no daemon is asked.
func (w *wired) converge(ctx context.Context, f *flags, s streams) error {
	p, pass := newProgress(f, s, w.again), w.passes(s)
	return f.converge(ctx, p, func(ctx context.Context) ending { return pass(ctx, p.hooks()) })
}

// uplink is where the node stands in the sandbox: its address, in a subnet
// that holds the peers it routes to.
func uplink(n *config.Node) []netip.Prefix {
	var out []netip.Prefix
	for _, addr := range n.Address {
		bits := 24
		if addr.Is6() {
			bits = 64
		}
		prefix := netip.PrefixFrom(addr, bits)
		for _, peer := range n.Peers {
			for _, a := range peer.Address {
				for a.BitLen() == addr.BitLen() && !prefix.Masked().Contains(a) && prefix.Bits() > 1 {
					prefix = netip.PrefixFrom(addr, prefix.Bits()-1)
				}
			}
		}
		out = append(out, prefix)
	}
	if len(out) == 0 {
		out = append(out, netip.MustParsePrefix("192.0.2.10/24")) // RFC 5737: for documentation
	}
	return out
}
