package witness

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/netwright/netwright/test/node"
)

const (
	window = 3 * time.Second         // of the probes after a change
	bound  = window + 30*time.Second // the longest time for which a node may be lost
	// After a boot the agent looks, undoes what awaited the boot, looks again, and may boot once
	// more. This is far more than that takes on a busy machine.
	bootBound = 2 * time.Minute
)

// verdict is what happened to a document.
type verdict string

const (
	applied verdict = "applied"
	taken   verdict = "undone"
	refused verdict = "refused"
)

// outcome is what one document did to a node.
type outcome struct {
	Document
	verdict verdict
	atBoot  bool          // it was applied, and a boot undid it
	gap     time.Duration // the longest loss of a capability, while the node was on
	missed  string        // that capability
	lost    string        // why the witness lost the node for too long; "": it did not
	said    string        // the agent's last output
}

// bench is a fabric with one node, which is new for every document.
type bench struct {
	t      *testing.T
	layers layers
	agent  string // the program, "" for the one of the layers
	clock  *Clock
	fabric *node.Fabric
	leases *leases
	n      *node.Node
}

func newBench(t *testing.T, l layers, agent string, clock *Clock) *bench {
	t.Helper()
	b := &bench{t: t, layers: l, agent: agent, clock: clock, fabric: newFabric(t)}
	b.leases = serveLeases(t, b.fabric)
	b.n = b.fabric.Prepare(t, node.Options{Name: nodeName})
	return b
}

// meet gives a document to a node that is right, and returns the outcome.
func (b *bench) meet(d Document) outcome {
	b.t.Helper()
	ctx, n, begun := b.t.Context(), b.n, time.Now()
	o := ground(d.Ground)
	o.Layers, o.Networkd = []string{b.layers.dirs[d.Ground.Networkd]}, false // the layer has networkd
	if b.agent != "" {
		o.Binds = map[string]string{"/usr/bin/netwright": b.agent}
	}
	n.Renew(o)
	b.forget()
	n.Boot(ctx)
	converge(b.t, n)
	var without []string
	if d.Ground.OnLink6 {
		without = append(without, beyondIPv6)
	}
	names := Names(without...)
	w := b.watch(ctx)
	if lost := w.Await(ctx, names, time.Minute); len(lost) > 0 {
		b.t.Fatalf("before %s\nthe node lacks %s", d, strings.Join(lost, ", "))
	}
	out := outcome{Document: d}
	out.verdict, out.said = b.apply(ctx, d)
	if n.Is(ctx, "ip -4 address show dev host0 | grep -qw dynamic") {
		b.leases.Await(bound) // without a renewal the witness sees the loss
	}
	lost := w.Await(ctx, names, bound)
	out.gap, out.missed = w.Gap(names)
	w.Stop()
	switch {
	case len(lost) > 0:
		out.lost = "lost: " + strings.Join(lost, ", ")
	case out.gap > bound:
		out.lost = fmt.Sprintf("lost for %s: %s", out.gap.Round(time.Second), out.missed)
	case d.Reboots && out.verdict != refused:
		if out.lost = b.reboot(ctx, names); out.lost == "" {
			_, out.atBoot = undone(b.t, n)
		}
	}
	if out.lost != "" {
		out.said += "\nits units said:\n" + b.journal(ctx)
	}
	b.t.Logf("document %d, %s: %s, %s, in %s", d.Number, d.Stratum, out.verdict,
		cmp.Or(out.lost, fmt.Sprintf("kept, longest gap %s", out.gap.Round(time.Millisecond))),
		time.Since(begun).Round(time.Second))
	return out
}

// journal returns the last lines of the agent's units, in every life of the node.
func (b *bench) journal(ctx context.Context) string {
	select {
	case <-b.n.Ended():
		return "the node is off"
	default:
	}
	return tail(b.n.Run(ctx, "journalctl", "--no-pager", "--output=short-iso", "--lines=60",
		"--unit=netwright*", "--unit=document").Stdout)
}

// forget makes the fabric forget what it learned of the node's former life.
func (b *bench) forget() {
	b.t.Helper()
	for _, what := range []string{"neigh flush dev br0", "-6 neigh flush dev br0", "route flush cache",
		"-6 route flush cache", "tcp_metrics flush"} {
		args := append([]string{"-n", strings.TrimPrefix(b.fabric.Netns(), "/run/netns/")}, strings.Fields(what)...)
		for try := 1; ; try++ {
			out, err := exec.Command("ip", args...).CombinedOutput()
			if err == nil {
				break
			}
			// ip lists the entries and then removes each. An entry may go by itself in between.
			if try == 10 || !strings.Contains(string(out), "No such file or directory") {
				b.t.Fatalf("ip %s: %v\n%s", what, err, out)
			}
		}
	}
}

// watch starts a watch of the bench's node.
func (b *bench) watch(ctx context.Context) *Watch {
	root := b.n.Path("/")
	read := func(path string) ([]byte, error) { return os.ReadFile(root + path) }
	return NewWatch(ctx, b.fabric.Netns(), b.n.Netns(), read, b.clock.Now)
}

// apply gives the node the document, and waits until all is decided.
func (b *bench) apply(ctx context.Context, d Document) (v verdict, said string) {
	n := b.n
	if d.Ground.NoExec {
		n.Shell(ctx,
			"cd /var/lib/netwright; mount --bind . .; mount -o remount,bind,noexec \"$PWD\"")
	}
	for path, text := range d.Texts(b.layers.assets) {
		n.Write(store+"/"+path, text, 0o644)
	}
	if d.Ground.Kill > 0 {
		n.Start(ctx, "killer", "/bin/sh", "-c",
			fmt.Sprintf("until test -e %s; do sleep 0.02; done; sleep %.3f; "+
				"systemctl kill --signal=KILL document", journal, float64(d.Ground.Kill)/1000))
	}
	res := n.Run(ctx, "systemd-run", "--wait", "--pipe", "--quiet", "--collect",
		"--unit=document", "netwright", "--once")
	said = tail(res.Stdout + res.Stderr)
	if res.Code == 0 {
		return applied, said
	}
	// If the agent was killed, the timer undoes the change.
	for end := time.Now().Add(bound); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if _, err := os.Stat(n.Path(journal)); err != nil {
			break
		}
	}
	if change, _ := undone(b.t, n); change {
		return taken, said
	}
	return refused, said
}

func tail(text string) string { return text[max(0, len(text)-2000):] }

// reboot cuts the node's power, boots it, and returns what does not come back. The documents allow
// the agent one more boot.
func (b *bench) reboot(ctx context.Context, names []string) (lost string) {
	b.n.Kill()
	lost, ended := b.bootAgain(ctx, names)
	if ended {
		b.n.Kill() // the rest of that life
		if lost, ended = b.bootAgain(ctx, names); ended {
			lost = "it boots again and again"
		}
	}
	if lost != "" {
		lost = "after a reboot: " + lost
	}
	return lost
}

// bootAgain boots the node, runs the daemon as the boot would, and returns what does not come back.
// ended is true if the node ended itself.
func (b *bench) bootAgain(ctx context.Context, names []string) (lost string, ended bool) {
	limited, cancel := context.WithTimeoutCause(ctx, 2*time.Minute,
		fmt.Errorf("not up after two minutes"))
	defer cancel()
	if err := b.n.TryBoot(limited); err != nil {
		return err.Error(), false
	}
	b.n.Run(ctx, "systemctl", "start", "--no-block", "netwright-agent")
	watched, stop := context.WithCancel(ctx)
	defer stop()
	over := b.n.Ended()
	go func() {
		select {
		case <-over:
			stop()
		case <-watched.Done():
		}
	}()
	w := b.watch(watched)
	defer w.Stop()
	missed := w.Await(watched, names, bootBound)
	select {
	case <-over:
		return "", true
	default:
		return strings.Join(missed, ", "), false
	}
}
