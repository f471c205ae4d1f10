package kernel

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"github.com/netwright/netwright/test/needs"
)

func TestCanonicalSysctl(t *testing.T) {
	for _, c := range []struct{ in, want, path string }{
		{"net.ipv4.ip_forward", "net.ipv4.ip_forward", "net/ipv4/ip_forward"},
		{"net/ipv4/ip_forward", "net.ipv4.ip_forward", "net/ipv4/ip_forward"},
		{"net.ipv4.conf.eth0/100.rp_filter", "net.ipv4.conf.eth0/100.rp_filter", "net/ipv4/conf/eth0.100/rp_filter"},
		{"net/ipv4/conf/eth0.100/rp_filter", "net.ipv4.conf.eth0/100.rp_filter", "net/ipv4/conf/eth0.100/rp_filter"},
		{"kernel.panic", "kernel.panic", "kernel/panic"},
		{"net.bridge.bridge-nf-call-iptables", "net.bridge.bridge-nf-call-iptables", "net/bridge/bridge-nf-call-iptables"},
	} {
		got, err := CanonicalSysctl(c.in)
		if err != nil || got != c.want || SysctlPath(got) != c.path {
			t.Errorf("%s: %q at %q, %v; want %q at %q", c.in, got, SysctlPath(got), err, c.want, c.path)
		}
	}
	for _, bad := range []string{"", ".", "net..ipv4", "/etc/passwd", "net.ipv4.", "a b", "net.//.x", "../../etc/x", "net/../x", "net.ipv4.conf.*.rp_filter"} {
		if got, err := CanonicalSysctl(bad); err == nil {
			t.Errorf("%q was taken as %q", bad, got)
		}
	}
}

func TestSysctlPathStaysBelowProcSys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringOf(rapid.RuneFrom([]rune("ab./-_"))).Draw(t, "key")
		canonical, err := CanonicalSysctl(key)
		if err != nil {
			return
		}
		if p := SysctlPath(canonical); !filepath.IsLocal(p) || filepath.Clean(p) != p {
			t.Fatalf("%q leads to %q", key, p)
		}
		if again, err := CanonicalSysctl(canonical); err != nil || again != canonical {
			t.Fatalf("%q is no fixed point: %q, %v", canonical, again, err)
		}
	})
}

func TestSysctlModuleAndLink(t *testing.T) {
	for key, want := range map[string][2]string{
		"net.bridge.bridge-nf-call-iptables": {"br_netfilter", ""},
		"net.netfilter.nf_conntrack_max":     {"nf_conntrack", ""},
		"net.ipv4.conf.cbr0.rp_filter":       {"", "cbr0"},
		"net.ipv6.conf.eth0/100.accept_ra":   {"", "eth0.100"},
		"net.ipv4.neigh.eth0.gc_stale_time":  {"", "eth0"},
		"net.ipv4.conf.all.rp_filter":        {"", ""},
		"net.ipv4.conf.default.rp_filter":    {"", ""},
		"net.ipv4.ip_forward":                {"", ""},
	} {
		if got := [2]string{SysctlModule(key), SysctlLink(key)}; got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}

// TestScopeFitsTheKernel compares the list with what this kernel shows in its
// initial and in a new network namespace.
func TestScopeFitsTheKernel(t *testing.T) {
	needs.Root(t)
	here := sysctlModes(t)
	if here["net.core.rmem_max"]&0o200 == 0 {
		needs.Missing(t, "needs the machine's initial network namespace")
	}
	var child map[string]fs.FileMode
	inNewNetns(t, func() { child = sysctlModes(t) })
	// Older kernels have some of these keys only for the whole machine. One key is writable in each
	// namespace and acts on the machine.
	others := []string{"net.core.optmem_max", "net.ipv4.icmp_msgs_per_sec", "net.ipv4.icmp_msgs_burst", "net.core.rps_default_mask", "net.netfilter.nf_hooks_lwtunnel"}
	for key, mode := range here {
		if mode&0o200 == 0 || SysctlLink(key) != "" || slices.Contains(others, key) {
			continue
		}
		own := child[key]&0o200 != 0
		if scope := ScopeOf(key); own != (scope == ScopeNetns) {
			t.Errorf("%s: scope %s, but a network namespace of its own has it writable: %v", key, scope, own)
		}
	}
}

// sysctlModes lists the keys of the calling thread's network namespace.
func sysctlModes(t *testing.T) map[string]fs.FileMode {
	t.Helper()
	modes := map[string]fs.FileMode{}
	err := filepath.WalkDir("/proc/sys/net", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return nil // a link was removed meanwhile
		}
		modes[swapSeparators(strings.TrimPrefix(path, "/proc/sys/"))] = info.Mode()
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return modes
}

// inNewNetns calls do on a thread of its own in a new network namespace; the
// thread ends with it.
func inNewNetns(t *testing.T, do func()) {
	t.Helper()
	needs.Root(t)
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: no other goroutine may run on this thread
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			defer close(done)
			do()
			return
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatalf("make a network namespace: %v", err)
	}
}

func TestSetSysctl(t *testing.T) {
	inNewNetns(t, func() {
		h := NewWriter(Open(true), Options{})
		ctx := t.Context()
		for _, c := range []struct{ key, value, want string }{
			{"net.ipv4.ip_forward", "1", "1"},
			{"net.ipv4.tcp_rmem", "4096 87380 16777216", "4096\t87380\t16777216"},
			{"net.ipv4.ip_local_reserved_ports", "30000-32767,8080", "8080,30000-32767"},
			{"net/ipv4/conf/lo/rp_filter", "2", "2"},
			{"net.core.somaxconn", "0x8000", "32768"},
		} {
			if err := h.SetSysctl(ctx, c.key, c.value); err != nil {
				t.Errorf("set %s: %v", c.key, err)
			}
			// A program that is not ours reads it, in this thread's namespace.
			out, err := exec.Command("cat", filepath.Join("/proc/sys", strings.ReplaceAll(c.key, ".", "/"))).Output()
			if got := strings.TrimSpace(string(out)); err != nil || got != c.want {
				t.Errorf("%s is %q, want %q (%v)", c.key, got, c.want, err)
			}
		}
	})
}

func TestSetSysctlErrors(t *testing.T) {
	inNewNetns(t, func() {
		h := NewWriter(Open(true), Options{})
		for _, c := range []struct {
			key, value string
			is         error
			says       string
		}{
			{"net.ipv4.no_such_key", "1", fs.ErrNotExist, "no such key: remove it"},
			{"net.ipv4.conf.nolink.rp_filter", "1", fs.ErrNotExist, "before link nolink exists"},
			{"net.ipv4.ip_forward", "maybe", unix.EINVAL, "refuses this value"},
			{"net.ipv4.ip_default_ttl", "256", unix.EINVAL, "the key takes 1 to 255 (https://docs.kernel.org/networking/ip-sysctl.html)"},
			{"net.ipv4.conf.all.forwarding", "yes", unix.EINVAL, "refuses this value: correct it (https://docs.kernel.org/networking/ip-sysctl.html)"},
			{"net.ipv6.conf.lo.hop_limit", "0", unix.EINVAL, "the key takes 1 to 255"},
			{"net.ipv6.conf.lo.stable_secret", "1.2.3.4", unix.EIO, "refuses this value"},
			{"net.core.rps_default_mask", strings.Repeat("f,", 512) + "f", unix.EOVERFLOW, "refuses this value"},
			{"net.ipv6.conf.all.mc_forwarding", "1", unix.EACCES, "not permitted"},
			{"kernel.panic", "10", nil, "belongs to the whole machine"},
			{"net.core.rmem_max", "1", nil, "belongs to the whole machine"},
		} {
			err := h.SetSysctl(t.Context(), c.key, c.value)
			if err == nil || !strings.Contains(err.Error(), c.says) || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("set %s to %s: %v; want %q", c.key, c.value, err, c.says)
			}
		}
	})
}

// The ranges of values in the table are the ranges of the running kernel.
func TestSysctlRanges(t *testing.T) {
	inNewNetns(t, func() {
		h := NewWriter(Open(true), Options{})
		for key, r := range ranges {
			if _, err := h.kernel.Sysctl(key); errors.Is(err, fs.ErrNotExist) && SysctlModule(key) != "" {
				continue // the module of this key is not loaded here
			}
			for value, good := range map[int]bool{r[0]: true, r[1]: true, r[0] - 1: false, r[1] + 1: false} {
				text := strconv.Itoa(value)
				if err := h.SetSysctl(t.Context(), key, text); (err == nil) != good || !good && !errors.Is(err, unix.EINVAL) {
					t.Errorf("%s takes %d to %d, and to %s the kernel says %v", key, r[0], r[1], text, err)
				}
			}
		}
	})
}

// A key without read access is a command to the kernel, and the error says so. The line that keeps
// it: sysctl_read.go, Sysctl (onlyWritten).
func TestASysctlWithoutAValueToKeep(t *testing.T) {
	inNewNetns(t, func() {
		_, err := NewWriter(Open(true), Options{}).kernel.Sysctl("net.ipv4.route.flush")
		if !strings.Contains(err.Error(), "keeps no value") {
			t.Errorf("a key that is only written: %v", err)
		}
	})
}

func TestSetSysctlReadsBack(t *testing.T) {
	// A tree that keeps another value acts as a kernel that limits values.
	h := &Writer{}
	proc := t.TempDir()
	h.kernel = &Reader{Live: true, Proc: proc}
	if err := os.MkdirAll(proc+"/sys/net/ipv4", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", proc+"/sys/net/ipv4/zero"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/null", proc+"/sys/net/ipv4/x"); err != nil {
		t.Fatal(err)
	}
	err := h.SetSysctl(t.Context(), "net.ipv4.x", "7")
	if err == nil || !strings.Contains(err.Error(), `"7"`) || !strings.Contains(err.Error(), `""`) {
		t.Errorf("a value that was not kept: %v", err)
	}
}

func TestSetSysctlReadOnly(t *testing.T) {
	inNewNetns(t, func() {
		if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
			t.Fatal(err)
		}
		for _, m := range []struct {
			from, to string
			flags    uintptr
		}{
			{"", "/", unix.MS_REC | unix.MS_PRIVATE},
			{"/proc/sys", "/proc/sys", unix.MS_BIND},
			{"", "/proc/sys", unix.MS_BIND | unix.MS_REMOUNT | unix.MS_RDONLY},
		} {
			if err := unix.Mount(m.from, m.to, "", m.flags, ""); err != nil {
				t.Fatal(err)
			}
		}
		h := NewWriter(Open(true), Options{})
		err := h.SetSysctl(t.Context(), "net.ipv4.ip_forward", "1")
		if !errors.Is(err, unix.EROFS) || !strings.Contains(err.Error(), "read-only here") {
			t.Errorf("a read-only /proc/sys: %v", err)
		}
		if h.kernel.OwnsSysctls() {
			t.Error("host-wide keys are called writable")
		}
	})
}

func TestSourcePorts(t *testing.T) {
	for _, c := range []struct {
		within, reserved string
		want             int
		ok               bool
	}{
		{"", "", 28232, true},
		{"", "30000-32767", 28232, true},
		{"", "1-65535", 0, true},
		{"1024\t65535", "30000-32767,8080", 64512 - 2769, true},
		{"40000 40001", "40001-50000,39000", 1, true},
		{"60999 32768", "", 0, false},
		{"", "1-65536", 0, false},
		{"5", "x", 0, false},
	} {
		if n, ok := SourcePorts(c.within, c.reserved); n != c.want || ok != c.ok {
			t.Errorf("%q without %q: %d, %v; want %d, %v", c.within, c.reserved, n, ok, c.want, c.ok)
		}
	}
}
