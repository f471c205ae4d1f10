package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/certs"
	"github.com/netwright/netwright/pkg/certs/issue"
	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/reconcile"
	"github.com/netwright/netwright/pkg/reconcile/desired"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/tasks"
	"github.com/netwright/netwright/pkg/verify"
)

// verifyOptions are the flags of verify.
type verifyOptions struct {
	*cli.Flags
	traffic, serve  bool
	listen          string
	peers, services []string
}

func verifyCommand(f *cli.Flags) *cobra.Command {
	o := verifyOptions{Flags: f}
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Say whether this node's network works, and what to do where it does not",
		Long: `verify checks what the node's network needs: the CNI conf in force, the plugins that it
calls, what the container runtime has loaded and logged, the cluster's DNS, and the
network's own signs of life. It changes nothing. It starts each plugin once to ask which
versions of CNI it supports.

With --traffic it also adds two pods with the node's conf and plugins, as a runtime
does. It sends packets over localhost, from pod to pod, to and from the node, to a
service and back to the same pod, from and to the outside, and at the full MTU. It also
checks from which address others see the pods. It reaches pods on other nodes where
` + "`agent verify --serve`" + ` answers. It takes seconds, and removes all of it at the end.

Exit code: 0 all is right, 1 something is wrong, 3 something is still awaited.`,
		Example: `  agent verify                                  look, and change nothing
  agent verify --traffic                        send packets on this node
  agent verify --serve                          on another node, until Ctrl-C
  agent verify --traffic --peer 10.0.0.12:10790 to that node too`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	l := cmd.Flags()
	l.BoolVar(&o.traffic, "traffic", false,
		"add two pods for seconds, and send packets between them, the node, an outside and a service")
	l.StringSliceVar(&o.peers, "peer", nil,
		"with --traffic: `ADDRESS:PORT` where another node runs agent verify --serve; may be repeated")
	l.StringSliceVar(&o.services, "service", nil,
		"with --traffic: address and TCP port of a service to reach from a pod; may be repeated")
	l.BoolVar(&o.serve, "serve", false, "add a pod, and answer what --traffic on other nodes asks, until interrupted")
	l.StringVar(&o.listen, "listen", defaultListen, "with --serve: address of this node and port")
	return cmd
}

func (o *verifyOptions) run(ctx context.Context) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	l, err := o.lookAt(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.host.Close()) }()
	if o.serve {
		return o.answer(ctx, l)
	}
	v, err := o.checked(ctx, l)
	if err != nil {
		return err
	}
	if !o.Text() {
		err = o.Data(v)
	} else {
		err = v.write(o.Out)
	}
	if err != nil {
		return err
	}
	switch v.State {
	case verify.Failed:
		return cli.ExitError
	case verify.Waiting:
		return cli.ExitWaiting
	}
	return nil
}

// verifyVersion names the JSON form of what verify prints.
const verifyVersion = "netwright.dev/verify/v1"

// verified is the JSON form of what verify prints.
type verified struct {
	Version string          `json:"version"`
	Cluster string          `json:"cluster"`
	Node    string          `json:"node"`
	Network string          `json:"network"`
	State   verify.State    `json:"state"`
	Checks  []verify.Result `json:"checks"`
	obstacles
}

// looked is the host and what its documents want.
type looked struct {
	pass      reconcile.Pass
	desired   *desired.State
	host      *host.Host
	tasks     []tasks.Task
	want      verify.Expect
	obstacles obstacles
	// untestable is why packets between test pods prove nothing here; nil: they do.
	untestable *network.Untestable
}

// lookAt loads the documents and opens the host. The caller closes the host.
func (o *verifyOptions) lookAt(ctx context.Context) (*looked, error) {
	cli.SayLimits(o.Flags)
	w, d, err := o.Load(ctx)
	if err != nil {
		return nil, err
	}
	h, err := host.Open(ctx, w.Pass.Host)
	if err != nil {
		return nil, fmt.Errorf("look at the host: %w", err)
	}
	l := &looked{pass: w.Pass, desired: d, host: h, obstacles: obstaclesOf(w.Pass)}
	g, _, err := d.Graph(h.Live.Facts, d.Cached(h.Live.Files), w.Pass.Assets)
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	l.tasks = g.Order()
	name := d.Node.Networking.Name()
	net, ok := network.Of(d.Node)
	if !ok {
		return nil, errors.Join(unknownNetwork(name), h.Close())
	}
	l.want = verify.Expect{Node: h.Live.Facts.Kubelet.NodeName(d.Node.Name), Network: net,
		HealthChecks: model.HealthChecks(net, d.Node, h.Live.Facts),
		KubeProxy:    d.Node.KubeProxy, ProxyMode: d.Node.ProxyMode,
		Minimums: verify.Minimums(net)}
	l.want.MTU = network.ConfMTU(d.Node)
	l.untestable = model.Untestable(net, d.Node, h.Live.Facts)
	for _, t := range l.tasks {
		switch t := t.(type) {
		case tasks.WaitConf:
			if t.Network == name { // multus has a WaitConf of its own
				l.want.Conf = &t
			}
		case tasks.Await:
			l.want.NoPodCIDRs = l.want.NoPodCIDRs || t.Name == network.PodCIDRs
		}
	}
	return l, nil
}

// checked checks this host against the network that its documents want.
func (o *verifyOptions) checked(ctx context.Context, l *looked) (*verified, error) {
	run := l.host
	if o.Host.Root != "" && o.Host.Root != "/" {
		run = nil // this machine cannot run an image's programs
	}
	results, err := verify.Check(ctx, l.host.Live.View(), run, l.want)
	if err != nil {
		return nil, err
	}
	n := l.desired.Node
	results = append(results, certificates(l.pass, n.Name)...)
	if o.traffic {
		proved, err := o.prove(ctx, l)
		if err != nil {
			return nil, err
		}
		results = append(results, proved...)
	}
	return &verified{Version: verifyVersion, Cluster: n.Cluster, Node: n.Name, Network: l.want.Network.Name,
		State: verify.Worst(results), Checks: results, obstacles: l.obstacles}, nil
}

// certificates checks the certificates that the agent installed. One that will expire soon is OK
// while it is valid: `agent certs` reports that.
func certificates(pass reconcile.Pass, node string) (out []verify.Result) {
	all, err := issue.List(pass.Host, node, time.Now())
	if err != nil {
		return []verify.Result{{Check: "certificates", State: verify.NotApplicable, Seen: err.Error()}}
	}
	for i := range all {
		c := &all[i]
		if !c.Wanted {
			continue
		}
		name := "certificate " + c.Name
		if c.CA {
			name += " (CA)"
		}
		r := verify.Result{Check: name, State: verify.OK,
			Seen: fmt.Sprintf("%s, until %s", c.State, moment(c.NotAfter)), Next: c.Problem}
		switch c.State {
		case issue.CertRequested:
			r.State, r.Seen = verify.Waiting, "asked for"
		case certs.Expired, certs.NotYet, issue.CertMissing, issue.CertUnfit:
			r.State = verify.Failed
		}
		out = append(out, r)
	}
	return out
}

// write prints the results as text: one line for each check, and below it what to do.
func (v *verified) write(out io.Writer) error {
	var b strings.Builder
	marks := map[verify.State]string{verify.OK: "✓", verify.Failed: "✗", verify.Waiting: "…", verify.NotApplicable: "·"}
	width := 0
	for _, r := range v.Checks {
		width = max(width, len(r.Check))
	}
	fmt.Fprintf(&b, "%s: network %s\n", v.Node, v.Network)
	count := map[verify.State]int{}
	for _, r := range v.Checks {
		count[r.State]++
		fmt.Fprintf(&b, "%s %-*s  %s\n", marks[r.State], width, r.Check, report.Line(r.Seen))
		if r.Next != "" {
			fmt.Fprintf(&b, "  %-*s  → %s\n", width, "", report.Line(r.Next))
		}
	}
	fmt.Fprintf(&b, "%d ok, %d failed, %d waiting\n", count[verify.OK], count[verify.Failed], count[verify.Waiting])
	for _, line := range v.lines() {
		fmt.Fprintln(&b, "! "+line)
	}
	if _, err := fmt.Fprint(out, b.String()); err != nil {
		return fmt.Errorf("write the checks: %w", err)
	}
	return nil
}
