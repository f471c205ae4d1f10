package host

import (
	"os/exec"
	"testing"
	"time"
)

// testLinkManagers compares what the agent says of a link with what networkd was told to do with
// it.
func testLinkManagers(t *testing.T) {
	h := openNode(t)
	sh := func(script string) {
		t.Helper()
		if out, err := exec.Command("sh", "-ec", script).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", script, err, out)
		}
	}
	becomes := func(want Setup) {
		t.Helper()
		end := time.Now().Add(time.Minute) // only so that a test that hangs ends
		for {
			got, err := h.Live.LinkSetup(t.Context(), networkd, "host0")
			noError(t, err)
			if got == want {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("host0 is %q, want %q", got, want)
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	becomes(SetupDone)
	sh("printf '[Match]\\nName=host0\\n[Link]\\nUnmanaged=yes\\n' >/etc/systemd/network/05-off.network")
	sh("networkctl reload")
	becomes(SetupNone)
	sh("rm /etc/systemd/network/05-off.network")
	noError(t, h.SetUpLink(t.Context(), networkd, "host0"))
	becomes(SetupDone)
	sh(`d=/run/systemd/system/systemd-networkd.service.d; mkdir -p $d
printf '[Service]\nExecStart=\nExecStart=false\n' >$d/x.conf
systemctl daemon-reload; systemctl restart systemd-networkd || true`)
	becomes(SetupFailed)
	sh("rm -r /run/systemd/system/systemd-networkd.service.d; systemctl daemon-reload")
	sh("systemctl stop systemd-networkd; systemctl reset-failed systemd-networkd")
	becomes(SetupNone)
	sh("systemctl start systemd-networkd")
	becomes(SetupDone)
}
