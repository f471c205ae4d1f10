package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/netwright/netwright/pkg/cli"
	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/plural"
)

func factsCommand(f *cli.Flags) *cobra.Command {
	return &cobra.Command{
		Use:   "facts",
		Short: "Print what the agent knows of this host",
		Long: `facts prints what the agent knows of this host: distribution, kernel, links and
their managers, container runtime, kubelet. On AWS it also prints the type, zone,
interfaces and tags of the instance, from its metadata (IMDSv2).

Save the facts with -o json for ` + "`agent store check --facts`" + `, which a CI job runs.`,
		Example: `  agent facts
  agent facts -o json > node.json        for: agent store check ./store --facts node.json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			view, err := host.OpenView(cmd.Context(), f.Host)
			if err != nil {
				return fmt.Errorf("look at the host: %w", err)
			}
			defer view.Close() // it is only read
			view.LearnInstance(cmd.Context(), true)
			if !f.Text() {
				return f.Data(view.Facts)
			}
			writeFacts(f.Out, view.Facts)
			return nil
		},
	}
}

// writeFacts prints the facts as text, in the order in which a person on call needs them.
func writeFacts(w io.Writer, f *host.Facts) {
	lines := [][2]string{
		{"hostname", f.Hostname},
		{"system", fmt.Sprintf("%s, %s", orNone(f.OS.Pretty), f.Arch)},
		{"kernel", fmt.Sprintf("%s, cgroup v%d, IPv6 %s", f.Kernel.Release, f.Cgroup, yesNo(f.Kernel.IPv6))},
		{"init", orNone(f.Init)},
		{"container", orNone(f.Contain)},
		{"cloud", orNone(f.Cloud)},
		{"uplink", fmt.Sprintf("%s %s", orNone(f.Uplink), addr(f))},
		{"runtime", fmt.Sprintf("%s %s", orNone(f.Runtime.Name), f.Runtime.Version)},
		{"cni conf", fmt.Sprintf("%s (%s)", orNone(f.Runtime.ConfDir), orNone(f.Runtime.From))},
		{"cni bin", fmt.Sprint(f.Runtime.BinDirs)},
		{"kubelet", fmt.Sprintf("%s %s", orNone(f.Kubelet.Unit), f.Kubelet.Version)},
	}
	for _, l := range f.Links {
		state := "down"
		if l.Up {
			state = "up"
		}
		lines = append(lines, [2]string{"link " + l.Name,
			fmt.Sprintf("%s, mtu %d, %s, managed by %s %v", cmp.Or(l.Kind, "device"), l.MTU, state,
				cmp.Or(l.Manager, "nobody"), l.Addresses)})
	}
	lines = append(lines, instanceLines(f.Instance)...)
	for _, unit := range slices.Sorted(maps.Keys(f.Services)) {
		lines = append(lines, [2]string{"network service", fmt.Sprintf("%s, %s", unit, f.Services[unit])})
	}
	for _, p := range f.Peers {
		lines = append(lines, [2]string{"also here", p})
	}
	for _, p := range f.Problems {
		lines = append(lines, [2]string{"not read", p})
	}
	for _, l := range lines {
		fmt.Fprintf(w, "%-16s %s\n", l[0], l[1])
	}
}

// instanceLines returns the lines about the EC2 instance.
func instanceLines(i *host.Instance) (lines [][2]string) {
	if i == nil {
		return nil
	}
	lines = append(lines, [2]string{"instance", fmt.Sprintf("%s, %s, %s", i.ID, i.Type, i.Zone)})
	for _, e := range i.Interfaces {
		link := "no link yet"
		if e.Link != "" {
			link = fmt.Sprintf("%s, mtu %d", e.Link, e.MTU)
		}
		lines = append(lines, [2]string{"interface " + strconv.Itoa(e.Device),
			fmt.Sprintf("%s %s, %s, %s %v, %s, %s", e.ID, e.MAC, link, e.Subnet, e.SubnetRanges,
				plural.Of(len(e.Addresses), "address", "addresses"),
				plural.Of(len(e.Delegated), "prefix", "prefixes"))})
	}
	for _, key := range slices.Sorted(maps.Keys(i.Tags)) {
		lines = append(lines, [2]string{"tag " + key, i.Tags[key]})
	}
	return lines
}

func addr(f *host.Facts) string {
	if !f.Address.IsValid() {
		return ""
	}
	return f.Address.String()
}

func orNone(s string) string { return cmp.Or(s, "none") }

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
