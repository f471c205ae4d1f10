package kernel

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// fakeTree is a kernel in a directory, with the files that the real one shows.
func fakeTree(t *testing.T, files map[string]string) *Reader {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{"/proc", "/sys/module", "/lib/6.1.0"} {
		if err := os.MkdirAll(dir+d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for path, content := range files {
		if err := os.MkdirAll(filepath.Dir(dir+path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return &Reader{Live: true, Proc: dir + "/proc", Sys: dir + "/sys", Lib: dir + "/lib", Release: "6.1.0"}
}

func TestModule(t *testing.T) {
	k := fakeTree(t, map[string]string{
		"/proc/modules":                      "br_netfilter 32768 0 - Live 0x0\n",
		"/proc/filesystems":                  "nodev\tsysfs\n\text4\nnodev\toverlay\n",
		"/sys/module/br_netfilter/initstate": "live\n",
		"/sys/module/dying/initstate":        "going\n",
		"/sys/module/ipv6/parameters/x":      "0\n",
		"/lib/6.1.0/modules.builtin":         "kernel/net/core/failover.ko\nkernel/net/802/stp.ko",
		"/lib/6.1.0/modules.dep": "kernel/net/netfilter/xt_nat.ko.xz: kernel/net/netfilter/nf_nat.ko.xz\n" +
			"kernel/needs/much.ko:" + strings.Repeat(" kernel/net/netfilter/nf_tables.ko", 2000) + "\n" +
			"kernel/drivers/net/snd-dummy.ko.zst:\nkernel/net/bridge/bridge.ko:\n",
	})
	wants := map[string]ModuleState{
		"br_netfilter": ModuleLoaded,
		"br-netfilter": ModuleLoaded,
		"dying":        ModuleLoadable,
		"ipv6":         ModuleBuiltin, // has parameters
		"failover":     ModuleBuiltin, // is listed
		"stp":          ModuleBuiltin, // is listed last, without a line end
		"overlay":      ModuleBuiltin, // the kernel lists it
		"xt_nat":       ModuleLoadable,
		"snd_dummy":    ModuleLoadable, // its file has a hyphen
		"bridge":       ModuleLoadable,
		"much":         ModuleLoadable, // its line is longer than one read
		"nf_nat":       ModuleMissing,  // only named as a dependency
		"nf_tables":    ModuleMissing,
		"xt_na":        ModuleMissing,
		"nat":          ModuleMissing,
	}
	for name, want := range wants {
		if got, err := k.Module(name); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
	delete(wants, "br-netfilter")
	if got := k.Modules(slices.Collect(maps.Keys(wants))); !maps.Equal(got, wants) {
		t.Errorf("all at once: %v, want %v", got, wants)
	}
	for _, bad := range []string{"", "../x", "a b", "x.ko"} {
		if got, err := k.Module(bad); err == nil {
			t.Errorf("%q is called %s", bad, got)
		}
	}
}

func TestModuleWithoutSysfs(t *testing.T) {
	k := fakeTree(t, map[string]string{"/proc/modules": "overlay 1 0 - Live 0x0\nbr_netfilter 32768 0 - Live 0x0\n"})
	if err := os.Remove(k.Sys + "/module"); err != nil {
		t.Fatal(err)
	}
	if got, err := k.Module("br_netfilter"); err != nil || got != ModuleLoaded {
		t.Errorf("Module returns %q, %v, want %q", got, err, ModuleLoaded)
	}
	if got, err := k.Module("bridge"); err != nil || got != ModuleMissing {
		t.Errorf("Module returns %q, %v, want %q", got, err, ModuleMissing)
	}
}

func TestLoadModuleErrors(t *testing.T) {
	open := func(files map[string]string) *Writer {
		return NewWriter(fakeTree(t, files), Options{Modules: true, ModuleSource: "install kernel-modules-extra-6.1.0"})
	}
	absent := open(map[string]string{"/proc/modules": ""})
	gone := open(map[string]string{"/proc/modules": ""})
	if err := os.Remove(gone.kernel.Lib + "/6.1.0"); err != nil {
		t.Fatal(err)
	}
	contained := open(map[string]string{"/proc/modules": "", "/lib/6.1.0/modules.dep": "kernel/x.ko:\n"})
	contained.opt.Modules = false
	for _, c := range []struct {
		name string
		host *Writer
		says []string
		is   error
	}{
		{"absent", absent, []string{"6.1.0", "kernel-modules-extra-6.1.0"}, fs.ErrNotExist},
		{"updated kernel", gone, []string{"6.1.0", "reboot"}, fs.ErrNotExist},
		{"kernel without modules", open(nil), []string{"built without it"}, fs.ErrNotExist},
		{"container", contained, []string{"belong to the host"}, nil},
	} {
		err := c.host.LoadModule(t.Context(), "x")
		if err == nil || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: LoadModule returns %v", c.name, err)
			continue
		}
		for _, s := range c.says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%s: %v does not say %q", c.name, err, s)
			}
		}
	}
}

func TestLoadModuleThatIsThere(t *testing.T) {
	h := NewWriter(fakeTree(t, map[string]string{"/sys/module/x/initstate": "live\n", "/lib/6.1.0/modules.builtin": "kernel/y.ko\n"}), Options{})
	for _, name := range []string{"x", "y"} {
		if err := h.LoadModule(t.Context(), name); err != nil {
			t.Errorf("%s: LoadModule returns %v", name, err)
		}
	}
}

// Facts ask for thirty modules at each look, so that must be cheap. The lines that keep it:
// depmod_lists.go, showsModule and readLists.
func TestModulesCost(t *testing.T) {
	var names []string
	for i := range 30 {
		names = append(names, fmt.Sprintf("absent_%d", i))
	}
	files := map[string]string{"/proc/filesystems": strings.Repeat("nodev\tsysfs\n", 30), "/lib/6.1.0/modules.builtin": "kernel/a.ko\n", "/lib/6.1.0/modules.dep": "kernel/b.ko:\n"}
	k := fakeTree(t, files)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	k.Modules(names)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 140<<10 {
		t.Errorf("to look for 30 modules takes %d bytes of memory", took)
	}
}
