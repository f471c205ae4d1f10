package facts

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The list has the files that systemd-sysctl reads after ours, by its rules (sysctl.d(5)): by name
// over all directories, of equal names the one with the highest priority, and of one key the last.
func TestLateSysctls(t *testing.T) {
	root := t.TempDir()
	for file, text := range map[string]string{
		"/etc/sysctl.conf":                   "# old\n; older\nnet.ipv4.ip_forward=0\n-net/ipv4/conf/eth0.100/rp_filter = 2\nnet.ipv4.conf.*.rp_filter = 1\nno sense\n",
		"/etc/sysctl.d/98-earlier.conf":      "net.core.somaxconn = 1\n",
		"/etc/sysctl.d/99-netwright.conf":    "net.core.somaxconn = 32768\n",
		"/etc/sysctl.d/99-zz.conf.bak":       "net.core.somaxconn = 2\n",
		"/usr/lib/sysctl.d/99-tuned.conf":    "net.core.somaxconn = 128\n",
		"/run/sysctl.d/99-tuned.conf":        "net.core.somaxconn = 256\n",
		"/usr/lib/sysctl.d/99-zz.conf":       "net.core.somaxconn = 512\n",
		"/usr/lib/sysctl.d/99-ignored.conf":  "net.core.somaxconn = 3\n",
		"/usr/lib/sysctl.d/99-masked-x.conf": "vm.panic_on_oom = 1\n",
		"/usr/lib/sysctl.d/99-masked-y.conf": "vm.panic_on_oom = 1\n",
	} {
		write(t, root+file, text)
	}
	for link, target := range map[string]string{
		"/etc/sysctl.d/99-sysctl.conf":   "../sysctl.conf",
		"/etc/sysctl.d/99-masked-x.conf": "/dev/null",
		"/etc/sysctl.d/99-masked-y.conf": "../../dev/null",
		"/etc/sysctl.d/99-nowhere.conf":  "/nowhere",
	} {
		if err := os.Symlink(target, root+link); err != nil {
			t.Fatal(err)
		}
	}
	f := gathered(t, Options{Root: root})
	link := "../sysctl.conf"
	want := []SysctlLine{
		{"net.ipv4.ip_forward", "0", "/etc/sysctl.d/99-sysctl.conf", link, 3},
		{"net.ipv4.conf.eth0/100.rp_filter", "2", "/etc/sysctl.d/99-sysctl.conf", link, 4},
		{"net.core.somaxconn", "512", "/usr/lib/sysctl.d/99-zz.conf", "", 1},
	}
	if d := cmp.Diff(want, f.LateSysctls); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if p := f.Problems; len(p) > 0 {
		t.Errorf("problems: %q", p)
	}
}
