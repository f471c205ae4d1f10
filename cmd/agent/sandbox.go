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

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/host/sandbox"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
)

// runSandbox converges in temporary namespaces. The process outside starts itself again in them.
// The process inside sets them up, converges, proves the pods' network and converges again.
func (o *runOptions) runSandbox(ctx context.Context) error {
	inside := os.Getenv(sandbox.Env) != ""
	if inside {
		switch err := sandbox.Enter(); {
		case errors.Is(err, sandbox.ErrUnavailable):
			return cli.ExitError // the process outside reports why
		case err != nil:
			return err
		}
	}
	w, err := o.open(zap.NewNop())
	if err != nil {
		return err
	}
	if inside {
		return o.insideSandbox(ctx, w)
	}
	d, _, err := w.Documents(ctx)
	if err != nil {
		return err
	}
	if o.dryRun {
		return o.runDryRun(ctx)
	}
	box := sandbox.Config{Hostname: d.Node.Name, Addresses: uplink(d.Node)}
	args := os.Args[1:]
	// The working directory inside is another one, so paths are made absolute. If a flag is
	// repeated, the last one counts.
	if dir, ok := strings.CutPrefix(o.f.Store, "file://"); ok || !strings.Contains(o.f.Store, "://") {
		if dir, err = filepath.Abs(dir); err != nil {
			return fmt.Errorf("find the store: %w", err)
		}
		box.ReadOnly, args = append(box.ReadOnly, dir), append(args, "--store", dir, "--cluster", o.f.Cluster)
	}
	if o.f.Conf != "" {
		conf, err := filepath.Abs(o.f.Conf)
		if err != nil {
			return fmt.Errorf("find the agent's file: %w", err)
		}
		box.ReadOnly, args = append(box.ReadOnly, filepath.Dir(conf)), append(args, "--conf", conf)
	}
	code, err := sandbox.Run(ctx, box, args, o.f.In, o.f.Out, cli.Exact(o.f.Err))
	switch {
	case errors.Is(err, sandbox.ErrUnavailable):
		return o.stopAtPlan(ctx, w, d, err)
	case err != nil:
		return err
	case code != 0:
		return cli.Exit(code)
	}
	return nil
}

// stopAtPlan shows the plan where no sandbox can be made. It returns an error, because nothing is
// proved.
func (o *runOptions) stopAtPlan(ctx context.Context, w *cli.Opened, d *desired.State, why error) error {
	plan, planErr := w.Pass.DryRun(ctx, d)
	if plan != nil {
		if err := o.f.Plan(plan, report.TextOptions{Diffs: true}); err != nil {
			return err
		}
	}
	fmt.Fprintf(o.f.Err, "\nThis is the plan for this host, and the run stops here: %v. Nothing was changed.\n", why)
	if plan == nil {
		return planErr
	}
	return cli.ExitError
}

// insideSandbox converges, proves that pods can talk, and converges again. It does not ask a
// daemon.
func (o *runOptions) insideSandbox(ctx context.Context, w *cli.Opened) error {
	w.Pass.Host.Sandbox = true
	converge := func(again bool) error {
		shown, pass := cli.NewDisplay(o.f), o.passes(w)
		shown.Shown = again
		return o.converge(ctx, shown, func(ctx context.Context) cli.Ended { return pass(ctx, shown.Hooks()) })
	}
	if err := converge(false); err != nil || !o.f.Text() {
		return err
	}
	d, _, err := w.Documents(ctx)
	if err != nil {
		return err
	}
	if err := o.provePods(ctx, w.Pass.Host, d.Node); err != nil {
		return fmt.Errorf("prove that pods can talk: %w", err)
	}
	fmt.Fprintln(o.f.Out, "\nOnce more, on the node as it is now:")
	if err := converge(true); err != nil {
		return err
	}
	fmt.Fprintln(o.f.Out, "\nAll of this was in namespaces that are gone now: this host is as it was.")
	return nil
}

// uplink returns the node's addresses in the sandbox, each in a subnet that contains the peers that
// it routes to.
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
		out = append(out, netip.MustParsePrefix("192.0.2.10/24")) // RFC 5737: an address for documentation
	}
	return out
}
