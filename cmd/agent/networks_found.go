package main

import (
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/netwright/netwright/pkg/cleanup"
	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/graph"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/ledger"
	"github.com/netwright/netwright/pkg/model"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/plural"
	"github.com/netwright/netwright/pkg/report"
	"github.com/netwright/netwright/pkg/verify"
)

// networksFound prints what all known networks, or the named one, left on this host.
func networksFound(ctx context.Context, f *cli.Flags, args []string) error {
	all := network.All()
	if len(args) == 1 {
		one, known := networkCalled(ctx, f, args[0])
		if !known {
			return unknownNetwork(args[0])
		}
		all = []network.Network{one}
	}
	view, err := host.OpenView(ctx, f.Host)
	if err != nil {
		return fmt.Errorf("look at the host: %w", err)
	}
	defer view.Close() // it is only read
	// Some links and routes have names that many networks use. They belong to a network only where
	// a pod's address shows it.
	var scope cleanup.Scope
	if _, d, err := f.Load(ctx); err == nil {
		scope.PodCIDRs = d.Node.PodCIDR
		if declared, known := network.Of(d.Node); known && len(args) == 0 {
			i := slices.IndexFunc(all, func(n network.Network) bool { return n.Name == declared.Name })
			all[i] = declared
		}
	} else {
		fmt.Fprintf(f.Err, "note: things that only pods' addresses identify (veth*, routes to other nodes) are not "+
			"looked for, because the configuration cannot be read: %v\n", err)
	}
	confDir, _ := model.CNIDirs(&config.Node{}, view.Facts)
	var claims []verify.Claim
	for _, n := range all {
		found, err := (cleanup.Selection{Residue: n.Residue, Scope: scope}).Find(ctx, view.View())
		if err != nil {
			return fmt.Errorf("look for what %s left: %w", n.Name, err)
		}
		_, absent := view.Files.Lstat(path.Join(confDir, n.Conf.File))
		claims = append(claims, verify.Claim{Network: n.Name, Conf: n.Conf.File != "" && absent == nil, Found: found})
	}
	led, inForce := ledger.Load(view.Files), ""
	// without a revision nothing was ever right on this node
	if last, err := ledger.ReadRevision(view.Files, led.Head().Current); err == nil {
		inForce = last.Network
	}
	entries := led.Entries()
	found := verify.Judge(claims, inForce,
		func(key graph.Key) bool { _, known := entries[key]; return known })
	if !f.Text() {
		return f.Data(found)
	}
	writeFound(f.Out, found, len(args) == 0)
	return nil
}

// writeFound prints one line for the verdict, and one for each thing that was found.
func writeFound(w io.Writer, found verify.Found, verdict bool) {
	if len(found.Things) == 0 {
		fmt.Fprintln(w, "nothing here has the name or the mark of a network")
		return
	}
	if verdict {
		fmt.Fprintln(w, verdictOf(found))
	}
	for _, t := range found.Things {
		of, what := oneOf(t.Of), t.Detail
		switch {
		case t.Current:
			what += "; in force"
		case t.Ours:
			of, what = "netwright", what+"; ours"
		}
		fmt.Fprintf(w, "%-10s %s  (%s)\n", of, report.Line(string(t.Key)), what)
	}
}

// verdictOf returns in one line which networks are and were on this host.
func verdictOf(found verify.Found) string {
	var parts []string
	if found.Current != "" {
		parts = append(parts, "in force: "+found.Current)
	}
	left := "left by"
	if n, known := network.Find(found.Current); known && n.Conf.Writer == network.WriterUser {
		left = "brought, or left, by" // it is not known which of the two
	}
	for i, v := range found.LooksLike {
		things := plural.Of(v.Things, "thing")
		switch {
		case len(v.Networks) > 1:
			parts = append(parts, things+" of "+strings.Join(v.Networks, " or ")+", which nothing here tells apart")
		case i == 0 && found.Current == "":
			parts = append(parts, "this looks like "+v.Networks[0]+": "+things)
		default:
			parts = append(parts, things+" "+left+" "+v.Networks[0])
		}
	}
	if len(found.LooksLike) == 0 {
		parts = append(parts, "nothing here is left by another network")
	}
	return strings.Join(parts, "; ")
}

// oneOf returns the names of the networks that a thing may belong to, or their number.
func oneOf(networks []string) string {
	if len(networks) > 2 {
		return fmt.Sprintf("one of %d", len(networks))
	}
	return strings.Join(networks, "|")
}
