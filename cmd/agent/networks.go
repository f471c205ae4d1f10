package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/problem"
)

func networksCommand(f *cli.Flags) *cobra.Command {
	found := false
	cmd := &cobra.Command{
		Use:   "networks [NAME]",
		Short: "List the networks, or say what one needs of a node and what it left here",
		Example: `  agent networks                         all that are known
  agent networks calico                  what it needs of a node, and leaves there
  agent networks --found                 what networks left on this host`,
		Args: atMostOneArg,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return networkNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			all := network.All()
			if found {
				return networksFound(cmd.Context(), f, args)
			}
			if len(args) == 0 {
				if !f.Text() {
					return f.Data(all)
				}
				for _, n := range all {
					fmt.Fprintf(f.Out, "%-10s %s\n", n.Name, n.Title)
				}
				return nil
			}
			n, known := networkCalled(cmd.Context(), f, args[0])
			if !known {
				return unknownNetwork(args[0])
			}
			if !f.Text() {
				return f.Data(n)
			}
			describe(f.Out, n)
			return nil
		},
	}
	cmd.Flags().BoolVar(&found, "found", false,
		"say what networks left on this host, by name and mark; nothing is changed")
	return cmd
}

// networkCalled returns the network with this name. Where the documents can be read and declare
// this network, it returns it as they declare it.
func networkCalled(ctx context.Context, f *cli.Flags, name string) (network.Network, bool) {
	if _, d, err := f.Load(ctx); err == nil {
		if n, known := network.Of(d.Node); known && n.Name == name {
			return n, true
		}
	}
	if proxy := network.KubeProxy(); name == proxy.Name { // kube-proxy runs beside any network
		return proxy, true
	}
	return network.Find(name)
}

func unknownNetwork(name string) error {
	return problem.Usage.Errorf("no network is called %q: expected one of %s", name, strings.Join(networkNames(), ", "))
}

func networkNames() []string {
	var names []string
	for _, n := range network.All() {
		names = append(names, n.Name)
	}
	return names
}

// describe prints a network's data, one line each, without empty ones.
func describe(w io.Writer, n network.Network) {
	row := func(name string, parts ...string) {
		if text := strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "; "); text != "" {
			fmt.Fprintf(w, "%-13s %s\n", name, text)
		}
	}
	row(n.Name, n.Title)
	row("documented", n.Docs)
	for _, words := range n.Lifecycle.Describe() {
		row("lifecycle", words)
	}
	for _, f := range config.NetworkFields(n.Name) {
		row("field", f.Path, f.Takes, when(f.Default != "", "default "+f.Default))
	}
	row("requires", n.Requires.Describe()...)
	row("conf", n.Conf.File, "written by "+n.Conf.Writer, strings.Join(n.Conf.Chain, " → "))
	row("kubelet", n.Kubelet)
	for _, p := range n.Plugins {
		row("plugins", p.Asset+": "+strings.Join(p.Members, " "), when(p.Minimum != "", "at least "+p.Minimum), p.When)
	}
	for _, m := range n.Modules {
		row("module", m.Name, m.Why, m.When, when(m.Optional, "its absence is only a warning"))
	}
	for _, v := range n.Sysctls {
		row("sysctl", v.Key+" = "+v.Value, v.Why, v.When)
	}
	for _, m := range n.Mounts {
		row("mount", m.Where, m.Type, m.When)
	}
	for _, p := range n.Packages {
		row("package", p.Name, "on "+p.On, p.When)
	}
	for _, c := range n.Certificates {
		row("certificate", c.Keypair, "in "+c.Dir+" "+c.Mode+": "+strings.Join(c.Files, " "), c.When)
	}
	row("kubeconfig", n.Kubeconfig)
	for _, p := range n.Ports {
		row("port", fmt.Sprintf("%s %d", p.Proto, p.Port), p.Use)
	}
	row("MTU", n.MTU)
	row("IPv6", yesNo(n.IPv6), n.IPv6When)
	for _, sh := range n.SharedHost.Describe() {
		row("shared host", sh.Service, "leaves alone "+sh.Ignores)
	}
	for _, sign := range n.HealthChecks {
		row("sign of life", sign.Text, cmp.Or(sign.Path, sign.Link, sign.Table, sign.URL), sign.When)
	}
	for _, u := range n.Untestable {
		row("not judged by verify --traffic", u.Why, "use "+u.Instead, u.When)
	}
	row("gives way", n.SafeToReplace)
	row("agent", strings.Join(n.Agents, ", "))
	for _, words := range n.Residue.Describe() {
		row("leaves", words)
	}
	for _, p := range n.TestedBy {
		row("proved", p.Claim, p.Test)
	}
	row("not proved", n.Untested)
}

func when(is bool, text string) string {
	if is {
		return text
	}
	return ""
}
