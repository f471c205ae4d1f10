// Command cutoff makes a change under a checkpoint that no document can express: an nft table that
// drops packets of the node. Tests run it in a node. Without arguments the table drops packets to
// 10.79.0.0/24, and one probe is the user's. With a prefix it drops packets to this prefix, and the
// checkpoint finds its probes itself.
package main

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"time"

	"go.uber.org/zap"

	"github.com/netwright/netwright/pkg/checkpoint"
	"github.com/netwright/netwright/pkg/checkpoint/probe"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/firewall"
	"github.com/netwright/netwright/pkg/tasks"
	netprobe "github.com/netwright/netwright/pkg/verify/probe"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "cutoff:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	log, err := zap.NewDevelopment()
	if err != nil {
		return err
	}
	h, err := host.Open(ctx, host.Options{Root: "/", Log: log})
	if err != nil {
		return err
	}
	defer h.Close() // every write was checked where it was made
	settings := checkpoint.Settings{Probes: []probe.Probe{"tcp:10.79.0.20:6443"}, Window: 3 * time.Second, Log: log, Means: probe.Means{
		Ping: func(ctx context.Context, to netip.Addr) error {
			_, err := netprobe.Ping(ctx, "", to, 0)
			return err
		},
		Full: func(ctx context.Context, to netip.Addr, size int) error {
			_, err := netprobe.Ping(ctx, "", to, size)
			return err
		},
	}}
	if len(os.Args) > 2 && os.Args[1] == "undo" { // --check
		return checkpoint.CheckUndo(h.Live.Files)
	}
	if len(os.Args) > 1 && os.Args[1] == "undo" {
		_, err := checkpoint.Undo(ctx, h, settings)
		return err
	}
	drop, digest := netip.MustParsePrefix("10.79.0.0/24"), "cutoff"
	if len(os.Args) > 1 {
		if drop, err = netip.ParsePrefix(os.Args[1]); err != nil {
			return err
		}
		settings.Probes, digest = nil, "cutoff "+os.Args[1]
	}
	task := tasks.Table{Table: firewall.Table{Family: "inet", Name: "netwright-cutoff", Chains: []firewall.Chain{{
		Name: "output", Type: "filter", Hook: "output", Policy: "accept",
		Rules: []firewall.NFRule{{DstIn: []netip.Prefix{drop}, Verdict: "drop"}},
	}}}}
	change, err := task.Plan(ctx, h.Live.View())
	if err != nil || change == nil || change.Disruption != tasks.MayCutOff {
		return fmt.Errorf("plan: %+v: %w", change, err)
	}
	point, err := checkpoint.Take(ctx, h, checkpoint.Change{Generation: 7, Digest: digest, Keys: task.Owns()}, settings)
	if err != nil {
		return err
	}
	if err := point.Arm(ctx); err != nil {
		return err
	}
	if err := task.Apply(ctx, h, change); err != nil {
		return err
	}
	return point.Finish(ctx, nil)
}
