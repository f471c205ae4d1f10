package drift

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/netwright/netwright/pkg/host"
)

func TestTunedIsNamedByTheProfileThatSetsTheKey(t *testing.T) {
	root := t.TempDir()
	files, err := host.OpenFiles(host.Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close() // only read from
	const key = "net.ipv4.ip_forward"
	if got := tunedSets(files, key); got != "" {
		t.Errorf("without tuned: %q", got)
	}
	write(t, root, "/etc/tuned/active_profile", "mine\n")
	write(t, root, "/etc/tuned/mine/tuned.conf", "[main]\nsummary=net.ipv4.ip_forward=1\ninclude = mine, network-latency\n[net]\nnet.ipv4.ip_forward=7\n")
	write(t, root, "/usr/lib/tuned/profiles/network-latency/tuned.conf", "[sysctl]\n# "+key+"=2\nvm.swappiness=1\nnet/ipv4/ip_forward = 0\n")
	if got := tunedSets(files, key); got != "/usr/lib/tuned/profiles/network-latency/tuned.conf" {
		t.Errorf("of a profile that is included: %q", got)
	}
	if got := tunedSets(files, "net.ipv4.tcp_sack"); got != "" {
		t.Errorf("of a key that it does not set: %q", got)
	}
	write(t, root, "/etc/tuned/mine/tuned.conf", "[sysctl]\n"+key+"=0\n")
	if got := tunedSets(files, key); got != "/etc/tuned/mine/tuned.conf" {
		t.Errorf("of the active one: %q", got)
	}
}

func write(t *testing.T, root, name, content string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
		t.Fatal(err)
	}
}
