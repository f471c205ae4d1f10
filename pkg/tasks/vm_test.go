package tasks

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/pkg/host"
	"github.com/netwright/netwright/pkg/host/hostfs"
	"github.com/netwright/netwright/pkg/host/kernel"
	"github.com/netwright/netwright/test/vm"
)

// inVM is set for this test program when it runs inside of a virtual machine.
const inVM = "NETWRIGHT_TEST_IN_VM"

// TestKernelInAVM boots a machine with a kernel and modules of its own, and runs itself there,
// since only there it may load modules and set keys of the whole host.
func TestKernelInAVM(t *testing.T) {
	if os.Getenv(inVM) == "" {
		self, err := os.Executable()
		ok(t, err)
		boots := vm.Run(t, vm.Options{
			Payload: map[string]string{"tasks.test": self},
			Boots:   []string{inVM + "=1 ./tasks.test -test.run='^TestKernelInAVM$' -test.v -test.timeout=10m"},
		})
		t.Log(boots[0].Output)
		if boots[0].Code != 0 {
			t.Errorf("exit %d", boots[0].Code)
		}
		return
	}
	h := onNode(t)
	if k := h.Live.Facts.Kernel; !k.HostSysctls || !k.Modules || h.Live.Facts.Contain != "" || h.Live.Facts.Cgroup != 2 ||
		k.ModuleStates["br_netfilter"] != kernel.ModuleLoadable || k.ModuleStates["ip_vs"] != kernel.ModuleLoadable {
		t.Errorf("facts: %+v", h.Live.Facts)
	}
	t.Run("module, then its sysctl", func(t *testing.T) { testModuleLoads(t, h) })
	t.Run("host-wide sysctls", func(t *testing.T) { testHostSysctls(t, h) })
	t.Run("module by modprobe", testModprobe)
	t.Run("no such module", func(t *testing.T) { testNoModule(t, h) })
	t.Run("bpffs", func(t *testing.T) { testBPFFS(t, h) })
	t.Run("project quotas", func(t *testing.T) { testProjects(t, h) })
}

// A file has another project than its directory. It is replaced on ext4, which refuses to exchange
// the two. The line that keeps it: pkg/host/hostfs/batch_staged.go, rename (EXDEV).
func testProjects(t *testing.T, h *host.Host) {
	script := `cd "$(mktemp -d)"; truncate -s 64M disk; mkfs.ext4 -q -O quota,project disk
mkdir /mnt/projects; mount -o loop,prjquota disk /mnt/projects
cd /mnt/projects; mkdir d; echo old >d/a; echo old >d/b; chattr -p 7 +P d`
	if out, err := exec.Command("sh", "-ec", script).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b := h.Files.Batch()
	defer b.Discard()
	for _, name := range []string{"/mnt/projects/d/a", "/mnt/projects/d/b"} {
		ok(t, b.Put(name, []byte("new\n"), hostfs.FileSpec{Mode: 0o644}))
	}
	ok(t, b.Commit(t.Context()))
	if out, err := exec.Command("cat", "/mnt/projects/d/a", "/mnt/projects/d/b").Output(); err != nil || string(out) != "new\nnew\n" {
		t.Errorf("out %q, error %v", out, err)
	}
}

func testModuleLoads(t *testing.T, h *host.Host) {
	key := Sysctl{Key: "net.bridge.bridge-nf-call-iptables", Value: "0"}
	wantError(t, key, h.Live.View(), "br_netfilter", "not loaded")
	module := Module{Name: "br_netfilter"}
	pending := host.NewPending(nil)
	pending.Add(plan(t, module, h.Live.View()).Pending...)
	if c := plan(t, key, pending.Over(h.Live.View())); c.Reason != "absent until module br_netfilter is loaded" {
		t.Errorf("planned %+v", c)
	}
	converge(t, h, module)
	if out, err := exec.Command("lsmod").Output(); err != nil || !strings.Contains(string(out), "br_netfilter") {
		t.Errorf("lsmod: %s (%v)", out, err)
	}
	if got := systemctl(t, "show", "--value", "-p", "Result", "modprobe@br_netfilter.service"); got != "success" {
		t.Errorf("modprobe@br_netfilter.service: %s", got)
	}
	converge(t, h, key)
	if out, err := os.ReadFile("/proc/sys/net/bridge/bridge-nf-call-iptables"); err != nil || string(out) != "0\n" {
		t.Errorf("ReadFile returns %q, %v, want %q", out, err, "0\n")
	}
}

func testHostSysctls(t *testing.T, h *host.Host) {
	for key, value := range map[string]string{"kernel.panic": "9", "vm.max_map_count": "1048576", "fs.inotify.max_user_watches": "524288", "net.core.rmem_max": "16777216",
		"net.ipv4.neigh.default.gc_thresh1": "0"} {
		converge(t, h, Sysctl{Key: key, Value: value})
		if out, err := exec.Command("sysctl", "-n", key).Output(); err != nil || strings.TrimSpace(string(out)) != value {
			t.Errorf("%s is %s (%v)", key, out, err)
		}
	}
	// The kernel rounds the number of buckets up to whole pages.
	ok(t, h.Kernel.LoadModule(t.Context(), "nf_conntrack"))
	err := Sysctl{Key: "net.netfilter.nf_conntrack_buckets", Value: "1025"}.Apply(t.Context(), h, nil)
	if err == nil || !strings.Contains(err.Error(), `"1025"`) || !strings.Contains(err.Error(), `"1536"`) {
		t.Errorf("a value that the kernel does not hold: %v", err)
	}
}

// testModprobe runs without systemd, as in a container runtime's rescue shell.
func testModprobe(t *testing.T) {
	ok(t, os.Rename("/run/systemd/system", "/run/systemd/system.away"))
	h := onNode(t)
	ok(t, os.Rename("/run/systemd/system.away", "/run/systemd/system"))
	if h.Live.Facts.Init != "" {
		t.Fatalf("facts: %+v", h.Live.Facts)
	}
	converge(t, h, Module{Name: "ip-vs"})
	if _, err := os.Stat("/sys/module/ip_vs"); err != nil {
		t.Error(err)
	}
}

func testNoModule(t *testing.T, h *host.Host) {
	wantError(t, Module{Name: "no_such_module"}, h.Live.View(), "no_such_module", h.Live.Facts.Kernel.Release, "linux-image")
	c := plan(t, Module{Name: "no_such_module", Optional: true}, h.Live.View())
	if c == nil || c.NotApplicable == "" || len(c.Items[0].Fields) != 1 || c.Items[0].Fields[0].Name != "warning" {
		t.Errorf("an optional one: %+v", c)
	}
	ok(t, os.WriteFile("/etc/modprobe.d/no.conf", []byte("blacklist dummy\n"), 0o644))
	err := Module{Name: "dummy"}.Apply(t.Context(), h, nil)
	if err == nil || !strings.Contains(err.Error(), "still not loaded") || !strings.Contains(err.Error(), "blacklist") {
		t.Errorf("a blacklisted module: %v", err)
	}
}

func testBPFFS(t *testing.T, h *host.Host) {
	task := Mount{What: "bpffs", Where: "/sys/fs/bpf", Type: "bpf"}
	if c := plan(t, task, h.Live.View()); c != nil { // systemd mounts it
		t.Errorf("planned %v", lines(c))
	}
	if out, err := exec.Command("umount", "/sys/fs/bpf").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	err := task.Apply(t.Context(), h, plan(t, task, h.Live.View()))
	if err == nil || !strings.Contains(err.Error(), "mounts such file systems itself") {
		t.Errorf("a mount that systemd keeps for itself: %v", err)
	}
	if left, err := filepath.Glob(unitDir + "/*bpf*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q (%v)", left, err)
	}
}
