package systemd

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/netwright/netwright/test/needs"
)

// others has units of a machine whose network is a usual service. A directory of a server is
// mounted when the network is up.
var others = map[string]string{
	"srv.mount": "[Unit]\nBefore=remote-fs.target\n[Mount]\nWhat=10.0.0.1:/srv\nWhere=/srv\nType=nfs\n",
	"NetworkManager.service": "[Unit]\nWants=network.target\nAfter=network-pre.target\nBefore=network.target\n" +
		"[Service]\nExecStart=/bin/true\n",
	"NetworkManager-wait-online.service": "[Unit]\nRequires=NetworkManager.service\nAfter=NetworkManager.service\n" +
		"Before=network-online.target\n[Service]\nType=oneshot\nExecStart=/bin/true\n",
}

// wanted says for each unit which unit wants it.
var wanted = map[string]string{
	"netwright-agent.service": "multi-user.target", "netwright-recover.service": "sysinit.target",
	"netwright-undo.service": "sysinit.target", "srv.mount": "remote-fs.target",
	"NetworkManager.service": "multi-user.target", "NetworkManager-wait-online.service": "network-online.target",
}

// systemd breaks a cycle in the order of units: it leaves one of the units out of the boot, and
// that may be the network's.
func TestUnitsAreInNoCycle(t *testing.T) {
	t.Parallel()
	needs.Tool(t, "systemd-analyze")
	dir := t.TempDir()
	units := map[string]string{
		"netwright-agent.service": Agent, "netwright-recover.service": Recover, "netwright-undo.service": Undo,
	}
	for name, text := range others {
		units[name] = text
	}
	for name, text := range units {
		wants := filepath.Join(dir, wanted[name]+".wants")
		if err := os.MkdirAll(wants, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("../"+name, filepath.Join(wants, name)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("systemd-analyze", "verify", "--man=no", "multi-user.target")
	cmd.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+dir+":") // and the units of this machine
	out, _ := cmd.CombinedOutput()                               // it fails for any finding
	if !strings.Contains(string(out), "netwright-agent.service") {
		t.Errorf("it did not look: %s", out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "cycle") || strings.Contains(line, "Found dependency") {
			t.Error(strings.TrimSpace(line))
		}
	}
}
