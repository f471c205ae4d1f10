package facts

import (
	"runtime"
	"testing"

	"github.com/netwright/netwright/pkg/host/kernel"
)

// An image has the architecture of its own programs, and not of the machine on which it is made.
func TestArchitectureOfAnImage(t *testing.T) {
	elf := func(data, low, high byte) string {
		return "\x7fELF\x02" + string(data) + "\x01" + "\x00\x00\x00\x00\x00\x00\x00\x00\x00" + "\x03\x00" + string([]byte{low, high}) + "rest"
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"arm64":           {map[string]string{"/usr/lib/systemd/systemd": elf(1, 183, 0)}, "arm64"},
		"amd64":           {map[string]string{"/lib/systemd/systemd": elf(1, 62, 0)}, "amd64"},
		"big-endian":      {map[string]string{"/bin/sh": elf(2, 0, 22)}, "s390x"},
		"a script before": {map[string]string{"/usr/bin/env": "#!/bin/busybox\n", "/bin/sh": elf(1, 183, 0)}, "arm64"},
		"nothing":         {nil, runtime.GOARCH},
		"cut off":         {map[string]string{"/bin/sh": "\x7fELF\x02\x01"}, runtime.GOARCH},
	} {
		if got := factsOf(t, c.files).Arch; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// The modules of an image are those of its own kernels, wherever its link /lib leads.
func TestModulesOfAnImage(t *testing.T) {
	f := factsOf(t, map[string]string{
		"/lib/modules/6.1.0-cloud/modules.dep":     "kernel/net/netfilter/nf_conntrack.ko.xz: kernel/net/ipv4/x.ko.xz\n",
		"/lib/modules/6.1.0-cloud/modules.builtin": "kernel/fs/overlayfs/overlay.ko\n",
		"/lib/modules/6.1.0/modules.dep":           "kernel/net/bridge/br_netfilter.ko: kernel/net/bridge/bridge.ko\n",
		"/lib/modules/5.10.0/empty":                "",
	}).Kernel
	if !f.Modules || f.Release != "" {
		t.Errorf("modules %v, release %q", f.Modules, f.Release)
	}
	for name, want := range map[string]kernel.ModuleState{
		"nf_conntrack": kernel.ModuleLoadable, "overlay": kernel.ModuleLoadable, "br_netfilter": kernel.ModuleLoadable, "bridge": kernel.ModuleMissing, "wireguard": kernel.ModuleMissing,
	} {
		if got := f.ModuleStates[name]; got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if f := factsOf(t, map[string]string{"/lib/modules/5.10.0/empty": ""}).Kernel; f.Modules || f.ModuleStates != nil {
		t.Errorf("an image without a kernel: %+v", f)
	}
}
