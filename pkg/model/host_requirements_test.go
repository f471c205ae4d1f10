package model

import (
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/config"
	"github.com/netwright/netwright/pkg/config/document"
	"github.com/netwright/netwright/pkg/config/extras"
	"github.com/netwright/netwright/pkg/host"
	hostkernel "github.com/netwright/netwright/pkg/host/kernel"
	"github.com/netwright/netwright/pkg/model/network"
	"github.com/netwright/netwright/pkg/tasks"
)

// of returns a scenario's input with another network and changed facts.
func of(t *testing.T, networking string, change func(*host.Facts, *config.Node)) Input {
	t.Helper()
	text := "apiVersion: netwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: demo.example.com}\nspec:\n  kubernetesVersion: 1.33.2\n" +
		"  networking: " + networking + "\n"
	node, diags := config.Load(tasks.DriftKinds(), []document.Source{{Path: "cluster.yaml", Data: []byte(text)}}, config.Select{Node: "node-1"})
	if node == nil {
		t.Fatal(diags.Err())
	}
	in := Input{Node: node, Facts: aHost()}
	change(in.Facts, node)
	return in
}

// TestRefused: a host is refused if it is known to lack something. It is accepted if it has enough,
// or if that is not known.
func TestRefused(t *testing.T) {
	kernel := func(release string) func(*host.Facts, *config.Node) {
		return func(f *host.Facts, _ *config.Node) { f.Kernel.Release = release }
	}
	cloud := func(said, seen string) func(*host.Facts, *config.Node) {
		return func(f *host.Facts, n *config.Node) { n.CloudProvider, f.Cloud = said, seen }
	}
	module := func(name string, state hostkernel.ModuleState, loads bool) func(*host.Facts, *config.Node) {
		return func(f *host.Facts, _ *config.Node) {
			f.Kernel.Modules, f.Kernel.ModuleStates = loads, map[string]hostkernel.ModuleState{name: state}
		}
	}
	for _, c := range []struct {
		networking string
		host       func(*host.Facts, *config.Node)
		says       string // "": not refused
	}{
		{"{cilium: {version: v1.18.6}}", kernel("5.4.0-150-generic"), "version 1.18 and newer needs Linux 5.10 or newer"},
		{"{cilium: {version: v1.18.6}}", kernel("5.10.0-30-amd64"), ""},
		{"{cilium: {version: v1.18.6}}", kernel("4.18.0-553.el8_10.x86_64"), ""},
		{"{cilium: {version: v1.18.6}}", kernel("4.18.0-25-generic"), "4.18.0-25-generic"},
		{"{cilium: {version: v1.17.8}}", kernel("5.4.0-150-generic"), ""},
		{"{cilium: {version: v1.15.1}}", kernel("4.19.0-27-amd64"), "Linux 4.19.57 or newer"},
		{"{cilium: {version: v1.16.0}}", kernel("4.19.200-1"), "version 1.16 and newer needs Linux 5.4 or newer"},
		{"{cilium: {version: v1.16.0}}", kernel("4.18.0-372.9.1.el8.x86_64"), ""},
		{"{cilium: {version: v1.16.0}}", kernel("4.18.0-348.2.1.el8_5.x86_64"), "Linux 5.4 or newer"},
		{"{cilium: {version: v1.15.1}}", kernel("4.18.0-348.2.1.el8_5.x86_64"), ""},
		{"{cilium: {version: v1.20.1}}", kernel("4.18.0-372.9.1.el8.x86_64"), "(or 4.18 of RHEL 8.10)"},
		{"{cilium: {version: v1.20.1}}", kernel("4.18.0-553.el8_10.x86_64"), ""},
		{"{calico: {bpfEnabled: true}}", kernel("4.18.0-193.14.2.el8_2.x86_64"), ""},
		{"{calico: {bpfEnabled: true}}", kernel("4.18.0-147.5.1.el8_1.x86_64"), "bpfEnabled needs Linux 5.3 or newer"},
		{"{calico: {bpfEnabled: true, version: v3.32.1}}", kernel("4.18.0-240.22.1.el8_3.x86_64"), "version 3.32 and newer needs Linux 5.10 or newer"},
		{"{calico: {bpfEnabled: true, version: v3.32.1}}", kernel("4.18.0-305.el8.x86_64"), ""},
		{"{cilium: {version: v1.15.1}}", kernel("4.19.0-27-amd64"), "4.19.0-27-amd64"},
		{"{cilium: {version: v1.11.0}}", kernel("4.14.355-275.570.amzn2.x86_64"), ""},
		{"{cilium: {}}", kernel("4.14.355-275.570.amzn2.x86_64"), ""}, // kOps chooses the version of Cilium
		{"{cilium: {}}", kernel("3.10.0-1160.el7.x86_64"), "Linux 4.9.17"},
		{"{cilium: {}}", kernel(""), ""},
		{"{cilium: {version: v1.18.6}}", kernel("strange"), ""},
		{"{calico: {}}", kernel("3.10.0-1160.el7.x86_64"), ""},
		{"{calico: {bpfEnabled: true}}", kernel("4.15.0-1"), "bpfEnabled needs Linux 5.3 or newer"},
		{"{calico: {bpfEnabled: true}}", kernel("5.4.0-1"), ""},
		{"{calico: {bpfEnabled: true, version: v3.32.1}}", kernel("5.4.0-1"), "Linux 5.10 or newer"},
		{"{calico: {bpfEnabled: true, version: v3.32.1}}", kernel("4.18.0-305.el8.x86_64"), ""},
		{"{calico: {nftablesMode: Enabled}}", kernel("5.10.0-1"), "Linux 5.13"},

		{"{amazonVPC: {}}", cloud("aws", "aws"), ""},
		{"{amazonVPC: {}}", cloud("", ""), ""},
		{"{amazonVPC: {}}", cloud("aws", ""), ""},
		{"{amazonVPC: {}}", cloud("azure", ""), "the cloud is azure"},
		{"{amazonVPC: {}}", cloud("aws", "gce"), "by its firmware this machine runs in gce"},
		{"{gcp: {}}", cloud("gcp", "gce"), ""},
		{"{gcp: {}}", cloud("", "hetzner"), "runs in hetzner"},
		{"{calico: {}}", cloud("aws", "gce"), ""},
		{"{cilium: {ipam: eni, tunnel: disabled}}", cloud("", "azure"), "ipam eni works on aws only"},
		{"{cilium: {}}", cloud("azure", "azure"), ""},

		{"{flannel: {backend: vxlan}}", module("vxlan", hostkernel.ModuleMissing, true), "needs kernel module vxlan"},
		{"{flannel: {backend: vxlan}}", module("vxlan", hostkernel.ModuleLoadable, true), ""},
		{"{flannel: {backend: vxlan}}", module("tun", hostkernel.ModuleMissing, true), ""}, // the other backend's
		{"{flannel: {backend: vxlan}}", module("vxlan", hostkernel.ModuleMissing, false), ""},
		{"{calico: {encapsulationMode: vxlan}}", module("ipip", hostkernel.ModuleMissing, true), ""},
	} {
		in := of(t, c.networking, c.host)
		_, _, err := Build(in)
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%s on %s: refused: %v", c.networking, in.Facts.Kernel.Release, err)
		case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%s on %s: %v, want %q", c.networking, in.Facts.Kernel.Release, err, c.says)
		}
	}
}

func TestHugepages(t *testing.T) {
	for _, c := range []struct {
		size  string
		pages map[string]int
		set   string // vm.nr_hugepages by the user
		says  string
	}{
		{"2M", nil, "", ""}, // not known
		{"2M", map[string]int{}, "", "none of that size"},
		{"1G", map[string]int{"2M": 512}, "", "none of that size"},
		{"2M", map[string]int{"2M": 0}, "", "or set vm.nr_hugepages"},
		{"2M", map[string]int{"2M": 0}, "512", ""},
		{"2M", map[string]int{"2M": 0}, "0", "none are set aside"},
		{"1G", map[string]int{"1G": 0}, "512", "hugepagesz=1G"},
		{"1G", map[string]int{"1G": 1}, "", ""},
	} {
		in := of(t, "{cni: {}}", func(f *host.Facts, n *config.Node) {
			f.Kernel.Hugepages = c.pages
			if c.set != "" {
				n.SysctlParameters = append(n.SysctlParameters, extras.Sysctl{Key: "vm.nr_hugepages", Value: c.set})
			}
		})
		net, _ := network.Find("cni")
		net.Requires.Hugepages = c.size
		err := (&builder{in: in, net: net, view: view(in)}).requires()
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s of %v, vm.nr_hugepages=%q: %v, want %q", c.size, c.pages, c.set, err, c.says)
		}
	}
}

// TestModulesAreFacts: the facts must include every module of every network. Otherwise a needed
// module would never count as missing. An optional module would be named in modules-load.d on a
// kernel without it, and systemd-modules-load.service would fail at every boot. The list is
// facts.moduleNames.
func TestModulesAreFacts(t *testing.T) {
	live, err := host.OpenView(t.Context(), host.Options{Root: "/"})
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	for _, n := range network.All() {
		for _, m := range append(n.Modules, nodeModules()...) {
			if _, known := live.Facts.Kernel.ModuleStates[moduleFact(m.Name)]; !known {
				t.Errorf("%s has module %s: add it to moduleNames in pkg/host/facts/kernel.go", n.Name, m.Name)
			}
		}
	}
}

// TestMissingModulesAreNotNamed: a module that the kernel does not have stays out of the file for
// the next boot, also if its name has a dash. The facts do not include all modules of a declared
// network: an optional one stays out, and a needed one does not. The line that keeps it:
// modules.go, atBoot.
func TestMissingModulesAreNotNamed(t *testing.T) {
	in := of(t, "{cni: {}}", func(f *host.Facts, _ *config.Node) {
		f.Kernel.ModuleStates = map[string]hostkernel.ModuleState{"vfio_pci": hostkernel.ModuleMissing, "xt_socket": hostkernel.ModuleLoadable}
	})
	b := &builder{in: in, view: network.Input{Node: in.Node},
		net: network.Network{Modules: []network.Module{{Name: "vfio-pci", Optional: true}, {Name: "xt_socket", Optional: true},
			{Name: "declared", Optional: true}, {Name: "needed"}}}}
	if err := b.modules(); err != nil {
		t.Fatal(err)
	}
	for _, task := range b.tasks {
		if f, ok := task.(tasks.File); ok && (string(f.Content) != header+"xt_socket\nneeded\noverlay\nnf_conntrack\n") {
			t.Errorf("f.Path %s, f.Content %s", f.Path, f.Content)
		}
	}
}

func TestLinuxVersion(t *testing.T) {
	for release, want := range map[string]string{
		"6.1.0-18-amd64": "6.1.0", "4.18.0-553.el8_10.x86_64": "4.18.0", "6.18.0+": "6.18.0", "5.10.16.3-microsoft-standard-WSL2": "5.10.16", "6.9-rc1": "6.9.0", "6.6.31_1": "6.6.31",
	} {
		if v, ok := linuxVersion(release); !ok || v.String() != want {
			t.Errorf("%s: linuxVersion returns %s, %t", release, v, ok)
		}
	}
	for _, release := range []string{"", "strange", "6", "6..1"} {
		if v, ok := linuxVersion(release); ok {
			t.Errorf("%q: linuxVersion returns %s", release, v)
		}
	}
}
